"""The skills of a piece of work, for agents without a platform: directives as texts, tools through the host.

Manifests and the registry of servers are those of this process's settings. What a skill may ask for is decided by the
same policy as where skills are loaded on a platform.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dcf.data import find_directory, find_file
from dcf.errors import ToolUnavailable
from dcf.hosting.tool_servers import ToolServer
from dcf.skills.library import Library
from dcf.skills.manifest import SCHEMA_NAME, Manifest
from dcf.skills.policy import Policy, plan
from dcf.skills.servers import Registry
from dcf.validation.schema import configured_schema, read_schema

if TYPE_CHECKING:
    from dcf.settings import Settings
    from dcf.values.json_text import Json

_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTexts:
    """What skills say, and where their tools are."""

    texts: tuple[str, ...]
    servers: tuple[ToolServer, ...]


class SkillShelf:
    """Finds skills by reference."""

    def __init__(self, library: Library, policy: Policy, registry: Registry) -> None:
        self._library = library
        self._policy = policy
        self._registry = registry

    def take(self, references: Iterable[str]) -> SkillTexts:
        """Return the directives, data and tools of skills; raise DcfError if one cannot be used."""
        texts = list[str]()
        names: dict[str, list[str]] = {}
        places: dict[str, Mapping[str, Json]] = {}
        for manifest in self._manifests(references):
            found = plan(manifest, self._policy, self._registry, max_chars=_LONGEST, max_pieces=_LONGEST)
            texts += [f"Skill {manifest.name}:\n{found.directives.value}", *(piece.value for piece in found.data)]
            for need, wish in found.tools:
                if wish.server is None:
                    raise ToolUnavailable(
                        f"The tool '{need.name}' of the skill '{manifest.name}' is not on an MCP server.",
                        "Agents of a host get tools of MCP servers only.",
                    )
                places[wish.server["name"]] = wish.server
                names.setdefault(wish.server["name"], []).append(str(wish.definition.get("toolName", need.name)))
        servers = tuple(_server(places[name], tuple(dict.fromkeys(tools))) for name, tools in names.items())
        return SkillTexts(texts=tuple(texts), servers=servers)

    def _manifests(self, references: Iterable[str]) -> Sequence[Manifest]:
        found = (self._library.resolve(reference) for reference in references)
        return list({manifest.manifest_id: manifest for manifest in found}.values())


def shelf_of(settings: "Settings") -> SkillShelf:
    """Return the shelf that this process's settings describe."""
    schema = configured_schema(settings.skill_schema, settings.schemas_dir, SCHEMA_NAME)
    directory = find_directory(settings.manifests_dir)
    policy = Policy(
        egress=settings.skill_egress,
        secrets=frozenset(settings.skill_secrets),
        risk=settings.skill_risk,
        mcp=settings.allow_mcp_skills,
        endpoints=settings.skill_endpoints,
    )
    return SkillShelf(
        Library(directory=directory, schema=None if schema is None else read_schema(schema)),
        policy,
        Registry(path=find_file(settings.skill_registry) or settings.skill_registry),
    )


def _server(described: Mapping[str, Any], allowed: tuple[str, ...]) -> ToolServer:
    command = (described["command"], *described.get("args", ())) if "command" in described else ()
    return ToolServer(
        name=described["name"],
        url=described.get("url", ""),
        headers=described.get("headers", {}),
        command=tuple(command),
        allowed=allowed,
    )
