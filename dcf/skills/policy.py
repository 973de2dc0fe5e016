"""Decides what this server allows skills to do, and which tools and texts a manifest asks a platform for.

It must not attach them.
"""

from collections.abc import Mapping
from typing import Final, get_args

from dcf.errors import DcfError, Forbidden, ToolUnavailable
from dcf.ports import ToolWish
from dcf.skills.endpoints import check_endpoint
from dcf.skills.manifest import DataNeed, Egress, Manifest, Risk, ToolNeed
from dcf.skills.servers import Registry
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

_EGRESS: Final[tuple[str, ...]] = get_args(Egress)
_RISK: Final[tuple[str, ...]] = get_args(Risk)


@record(frozen=True, slots=True, kw_only=True)
class Policy:
    """The server's limits for skills. `endpoints` are the URLs that manifests may contain."""

    egress: Egress = "intranet"
    secrets: frozenset[str] = frozenset()
    risk: Risk = "high"
    mcp: bool = True
    python_source: bool = False
    endpoints: tuple[str, ...] = ()

    def check(self, manifest: Manifest) -> None:
        """Raise Forbidden if the manifest asks for more than this server grants."""
        if _EGRESS.index(manifest.egress) > _EGRESS.index(self.egress):
            raise _forbidden(manifest, f"egress '{manifest.egress}'", "DCF_SKILL_EGRESS")
        refused = sorted(set(manifest.secrets) - self.secrets)
        if refused:
            raise _forbidden(manifest, f"the secret {clip(refused[0])}", "DCF_SKILL_SECRETS")
        if _RISK.index(manifest.risk) > _RISK.index(self.risk):
            raise _forbidden(manifest, f"risk level '{manifest.risk}'", "DCF_SKILL_RISK")

    def wish(self, skill: str, tool: ToolNeed, registry: Registry) -> ToolWish:
        """Return what the platform is to attach for a tool; raise Forbidden or ToolUnavailable."""
        definition, server = tool.definition, None
        kind = definition["type"]
        if kind == "python_source" and not self.python_source:
            raise Forbidden(f"The tool '{clip(tool.name)}' is Python source, which is not allowed.", _ALLOW_PYTHON)
        if kind == "python_source" and tool.schema is not None:
            definition = {**definition, "json_schema": tool.schema}
        if kind == "mcp_server":
            if not self.mcp:
                raise Forbidden(f"The tool '{clip(tool.name)}' is on an MCP server, which is not allowed.", _ALLOW_MCP)
            server = self._server(skill, tool, registry)
        return ToolWish(name=tool.name, definition=definition, server=server, description=tool.description)

    def _server(self, skill: str, tool: ToolNeed, registry: Registry) -> Mapping[str, Json]:
        definition = tool.definition
        if "serverId" in definition:
            return registry.server(definition["serverId"])
        url = check_endpoint(definition["endpointUrl"], self.endpoints)
        name = definition.get("serverName") or f"skill_{skill}_{tool.name}"
        return {"name": name, "transport": "streamable_http", "url": url}


@record(frozen=True, slots=True, kw_only=True)
class Piece:
    """A text for the agent's context: the skill's directives, or a part of a data source."""

    label: str
    value: str


@record(frozen=True, slots=True, kw_only=True)
class SkillPlan:
    """The texts and tools that loading a skill attaches, and warnings about omitted optional tools."""

    directives: Piece
    data: tuple[Piece, ...]
    tools: tuple[tuple[ToolNeed, ToolWish], ...]
    warnings: tuple[str, ...]


def plan(manifest: Manifest, policy: Policy, registry: Registry, *, max_chars: int, max_pieces: int) -> SkillPlan:
    """Return the plan to load a skill; raise Forbidden, ToolUnavailable or InvalidArgument."""
    policy.check(manifest)
    tools, warnings = list[tuple[ToolNeed, ToolWish]](), list[str]()
    for tool in manifest.tools:
        try:
            tools.append((tool, policy.wish(manifest.name, tool, registry)))
        except (Forbidden, ToolUnavailable) as error:
            if tool.required:
                raise
            warnings.append(left_out(tool.name, error))
    data = tuple(piece for need in manifest.data for piece in _pieces(manifest.name, need, max_chars))
    if len(data) > max_pieces:
        raise Forbidden(
            f"The skill's data comes to {len(data)} pieces of {max_chars} characters, more than {max_pieces}.",
            "Shorten its data sources, or ask an operator to raise DCF_SKILL_MAX_PIECES.",
        )
    directives = Piece(label=f"skill_directives_{manifest.name}_{manifest.manifest_id}", value=manifest.directives)
    return SkillPlan(directives=directives, data=data, tools=tuple(tools), warnings=tuple(warnings))


def left_out(name: str, error: DcfError) -> str:
    """Return the warning that an optional tool is left out."""
    return f"The optional tool '{clip(name)}' was left out: {error.message}"


_ALLOW_PYTHON: Final = "Ask an operator, who can start the server with ALLOW_PYTHON_SOURCE_SKILLS=1."
_ALLOW_MCP: Final = "Ask an operator, who can start the server with ALLOW_MCP_SKILLS=1."


def _forbidden(manifest: Manifest, setting_name: str, setting: str) -> Forbidden:
    return Forbidden(
        f"The skill '{clip(manifest.manifest_id)}' asks for {setting_name}, which this server does not grant.",
        f"Use another skill, or ask an operator to allow it with {setting}.",
    )


def _pieces(skill: str, need: DataNeed, max_chars: int) -> list[Piece]:
    texts = [need.text[at : at + max_chars] for at in range(0, len(need.text), max_chars)]
    label = f"skill_ds_{skill}_{need.source_id}"
    if len(texts) == 1:
        return [Piece(label=label, value=texts[0])]
    return [Piece(label=f"{label}_chunk_{number}_of_{len(texts)}", value=text) for number, text in enumerate(texts, 1)]
