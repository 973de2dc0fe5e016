"""The skills of a piece of work, as the server tells them to agents that read: texts for the model, tools for the host.

Decides only. `${NAME}` in the description of a server is filled in from the agent's environment, except secrets of dcf.
A server that is a command is started only if the agents file says so itself: what runs on the host's machine is for its
operator to say.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dcf.errors import ToolUnavailable
from dcf.hosting.agents_file import without_secrets
from dcf.hosting.protocol import Json
from dcf.hosting.tool_servers import ToolServer
from dcf.values.records import record

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@record(frozen=True, slots=True, kw_only=True)
class SkillTexts:
    """The instructions of skills, and the servers of the agent together with those of its skills."""

    texts: tuple[str, ...]
    servers: tuple[ToolServer, ...]


def taken(
    skills: Iterable[Mapping[str, Json]], own: Sequence[ToolServer], environment: Mapping[str, str]
) -> SkillTexts:
    """Return what an agent with servers of its own gets of skills; raise ToolUnavailable if one cannot be used."""
    texts, environment = list[str](), without_secrets(environment)
    servers = {server.name: server for server in own}
    for skill in skills:
        if "problem" in skill:
            raise ToolUnavailable(f"The skill '{skill['manifestId']}' cannot be used: {skill['problem']}")
        texts += [f"Skill {skill['name']}:\n{skill.get('directives', '')}", *skill.get("texts", ())]
        for details in skill.get("mcp_servers", ()):
            servers[details["name"]] = _with(servers.get(details["name"]), details, environment)
    return SkillTexts(texts=tuple(texts), servers=tuple(servers.values()))


def _with(known: ToolServer | None, server: Mapping[str, Any], environment: Mapping[str, str]) -> ToolServer:
    """Return a server with the tools that a skill needs there. A description in the agents file comes first."""
    tools = tuple(server.get("tools", ()))
    if known is not None:
        more = tuple(dict.fromkeys((*known.allowed, *tools)))
        return replace(known, allowed=more) if known.allowed else known  # without names it has all tools
    if "url" not in server:
        raise ToolUnavailable(
            f"The server '{server['name']}' of a skill is a command, which only the agents file can start.",
            f"Describe it in the agents file, under servers.{server['name']}.",
        )
    return ToolServer(
        name=server["name"],
        url=_filled(server["url"], server["name"], environment),
        over_sse=server.get("transport") == "sse",
        headers={key: _filled(value, server["name"], environment) for key, value in server.get("headers", {}).items()},
        allowed=tools,
    )


def _filled(text: str, server: str, environment: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        known = environment.get(match[1])
        if known is None:
            raise ToolUnavailable(
                f"The server '{server}' needs the environment variable {match[1]}.",
                "Name it in the agents file, in environment of the agent.",
            )
        return known

    return _VARIABLE.sub(value, text)
