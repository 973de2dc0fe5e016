"""Describes a skill to an agent that only reads: its texts, and the MCP servers of its tools, for its calls. Pure.

If a platform has no place for texts and tools, its agents get them as text, and connect to the servers themselves.
Secrets must not be shown: values from the environment appear as `${NAME}`, which the agent's side fills in.
"""

from collections.abc import Iterable, Mapping

from dcf.skills.manifest import Manifest
from dcf.skills.policy import SkillPlan
from dcf.values.json_text import Json


def connections_of(skills: Iterable[SkillPlan]) -> list[dict[str, Json]]:
    """Return the MCP servers of these skills, each once, with the names of the tools that are wanted there.

    A server is `{"name", "transport", "url" (or "command" and "args"), "headers", "tools"}`; `headers` may be missing.
    """
    connections: dict[str, dict[str, Json]] = {}
    for skill in skills:
        for _, wish in skill.tools:
            if wish.server is None:
                continue  # a tool of a platform, which an agent that only reads cannot get
            server = connections.setdefault(str(wish.server["name"]), connection_of(wish.server) | {"tools": []})
            name = str(wish.definition.get("toolName") or wish.definition.get("operationId") or wish.name)
            if name not in server["tools"]:
                server["tools"].append(name)
    return list(connections.values())


def connection_of(server: Mapping[str, Json]) -> dict[str, Json]:
    """Return how a server of the registry is reached, as it may be shown."""
    shown: dict[str, Json] = {"name": server["name"], "transport": server["transport"]}
    if "command" in server:
        args = server.get("shown_args", server.get("args", ()))
        return shown | {"command": server.get("shown_command", server["command"]), "args": list(args)}
    shown["url"] = server.get("shown_url", server.get("url"))
    headers = server.get("shown_headers")
    return shown | ({"headers": dict(headers)} if headers else {})


def as_instructions(manifest: Manifest, skill: SkillPlan) -> dict[str, Json]:
    """Return a skill as an agent reads it: directives, the texts of its data, and where its tools are."""
    servers = connections_of((skill,))
    shown: dict[str, Json] = {"directives": manifest.directives}
    shown |= {"texts": [need.text for need in manifest.data]} if manifest.data else {}
    return shown | ({"mcp_servers": servers} if servers else {})
