"""The agents that a workflow itself assigns: a Task whose AgentBinding names an existing agent by its id. Pure.

`agents_map_json` of a call comes first. A reference that may mean the template of an agent assigns no agent:
create_worker_agents looks for the template, and for the agent on its platform.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.core.documents.stored_values import object_of
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json

_EXISTING: Final = "existing"
_BUNDLES: Final = ("af_imports", "af_v2_entities")


def bound_agents(document: Mapping[str, Json], bindings: Iterable[tuple[str, Mapping[str, Json]]]) -> dict[str, str]:
    """Return the agent of each Task that names one; `bindings` are the Tasks by name, with their AgentBinding."""
    declared = _declared(document)
    has_bundles = any(document.get(name) for name in _BUNDLES)
    bound_agents: dict[str, str] = {}
    for state, binding in bindings:
        reference = object_of(binding.get("agent_ref"))
        known = declared.get(str(reference.get("name"))) or declared.get(str(reference.get("id")))
        mode = object_of(binding.get("lifecycle")).get("mode")
        may_be_template = mode != _EXISTING and ("agent_template_ref" in binding or (has_bundles and known is None))
        agent = known or reference.get("id")
        if not may_be_template and isinstance(agent, str) and is_id(agent):
            bound_agents[state] = agent
    return bound_agents


def reference_ids(binding: Mapping[str, Json]) -> tuple[str | None, str | None]:
    """Return the id and the name in the `agent_ref` of a binding."""
    reference = object_of(binding.get("agent_ref"))
    ident, name = (value if isinstance(value := reference.get(key), str) else None for key in ("id", "name"))
    return ident, name


def _declared(document: Mapping[str, Json]) -> dict[str, str]:
    """Return the ids of the agents that the document lists in `agents`, by id and by each of their names."""
    listed = document.get("agents")
    declared: dict[str, str] = {}
    for skill in listed if isinstance(listed, list) else ():
        entry = object_of(skill)
        ident, name = reference_ids(entry)
        if ident is not None:
            for key in (ident, name, entry.get("agent_name")):
                if isinstance(key, str):
                    declared.setdefault(key, ident)
    return declared
