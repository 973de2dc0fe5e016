"""Reads an agent in the first form of Letta's agent files (.af v1) as one of the second form, with a bundle. Pure.

The first form has one agent, with its blocks and tools inside; tags and variables are lists of objects. Workflow
documents carry it as `agent_config`. An agent in the second form stays unchanged.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.stored_values import objects_of
from dcf.values.json_text import Json

_VARIABLES: Final = ("tool_exec_environment_variables", "secrets")


def read_legacy(agent: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the agent and the bundle that has its blocks and tools."""
    values = {name: value for name, value in agent.items() if name not in {"core_memory", "metadata_"}}
    blocks = [_block(block, at) for at, block in enumerate(objects_of(agent.get("core_memory")))]
    tools = [{**tool, "id": f"tool-{at}"} for at, tool in enumerate(objects_of(agent.get("tools")))]
    if blocks:
        values["block_ids"] = [block["id"] for block in blocks]
    if tools:
        values["tool_ids"] = [tool["id"] for tool in tools]
        values["tools"] = [name for name in agent["tools"] if not isinstance(name, dict)]
    if isinstance(agent.get("tags"), list):
        values["tags"] = [tag["tag"] if isinstance(tag, dict) and "tag" in tag else tag for tag in agent["tags"]]
    values |= {name: _pairs(agent[name]) for name in _VARIABLES if isinstance(agent.get(name), list)}
    if "metadata_" in agent:
        values.setdefault("metadata", agent["metadata_"])
    return values, {"blocks": blocks, "tools": tools}


def _block(block: Mapping[str, Json], at: int) -> dict[str, Json]:
    metadata = {"metadata": block["metadata_"]} if "metadata_" in block else {}
    return metadata | dict(block) | {"id": f"block-{at}"}


def _pairs(variables: Json) -> dict[str, Json]:
    return {
        variable["key"]: variable.get("value", "")
        for variable in objects_of(variables)
        if isinstance(variable.get("key"), str)
    }
