"""MCP resources: the language page, runs with their graph, history and definition, and the files of skills.

All are read as tools are, for the caller of the request (`reading`). Files of skills are listed. Runs, which are many,
are found through `dcf://runs` and the templates.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from operator import itemgetter
from typing import Final
from urllib.parse import unquote

from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp_types import Resource, ResourceTemplate

from dcf.tools.mcp.reading import ToolReading
from dcf.tools.mcp.resource_reads import SkillReads, read_run_definition, read_run_graph
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json, dump
from dcf.values.records import record
from dcf.verbs.registry import TOOLS, ToolSpec

MARKDOWN: Final = "text/markdown"
MERMAID: Final = "text/vnd.mermaid"
JSON: Final = "application/json"

LANGUAGE: Final = "dcf://language"
RUNS: Final = "dcf://runs"

_EVENTS: Final = 100

_LISTED: Final = (
    Resource(
        uri=LANGUAGE,
        name="language",
        title="The workflow language",
        description="How a workflow is written: the smallest document, a larger one, how agents are assigned, limits.",
        mime_type=MARKDOWN,
    ),
    Resource(
        uri=RUNS,
        name="runs",
        title="The latest runs",
        description="The newest runs with their status, and how many there are of each status.",
        mime_type=JSON,
    ),
)


@record(frozen=True, slots=True, kw_only=True)
class RunPart:
    """A resource that every run has: its template, what reads it (a tool by its name), and what is shown of the answer.

    `asked` are arguments of the reader in addition to the run.
    """

    template: ResourceTemplate
    reader: str | ToolSpec
    asked: Mapping[str, Json] = field(default_factory=dict)
    shown: Callable[[Mapping[str, Json]], Json] = dict

    @property
    def spec(self) -> ToolSpec:
        """The tool that reads it."""
        return self.reader if isinstance(self.reader, ToolSpec) else TOOLS[self.reader]


_PARTS: Final[Mapping[str | None, RunPart]] = {
    None: RunPart(
        template=ResourceTemplate(
            uri_template=f"{RUNS}/{{workflow_id}}",
            name="run",
            title="A run",
            description="Where a run stands: its status, and status, attempts, holder and error of each state.",
            mime_type=JSON,
        ),
        reader="read_workflow_control_plane",
        asked={"summary": True},
    ),
    "graph": RunPart(
        template=ResourceTemplate(
            uri_template=f"{RUNS}/{{workflow_id}}/graph",
            name="run-graph",
            title="A run's graph",
            description="The workflow as a Mermaid flowchart, with how each state stands.",
            mime_type=MERMAID,
        ),
        reader=read_run_graph,
        shown=itemgetter("text"),
    ),
    "events": RunPart(
        template=ResourceTemplate(
            uri_template=f"{RUNS}/{{workflow_id}}/events",
            name="run-events",
            title="A run's history",
            description=f"The history of a run, the latest {_EVENTS} events first.",
            mime_type=JSON,
        ),
        reader="read_run_events",
        asked={"newest_first": True, "limit": _EVENTS},
    ),
    "definition": RunPart(
        template=ResourceTemplate(
            uri_template=f"{RUNS}/{{workflow_id}}/definition",
            name="run-definition",
            title="A run's workflow",
            description="The workflow document that the run was started with.",
            mime_type=JSON,
        ),
        reader=read_run_definition,
        shown=itemgetter("document"),
    ),
}
"""The resources of a run, by the last part of their address."""

_RUN: Final = re.compile(rf"{RUNS}/([^/?#]+)(?:/({'|'.join(filter(None, _PARTS))}))?")

TEMPLATES: Final = tuple(part.template for part in _PARTS.values())


def run_of(uri: str) -> str | None:
    """Return the id of the run that a resource is about; None for an address in which none can stand."""
    match = _RUN.fullmatch(uri)
    named = "" if match is None else unquote(match[1])
    return named if is_id(named) else None


def language() -> str:
    """Return the page about the workflow language."""
    from dcf.workflows.language import describe  # noqa: PLC0415 - the examples of the page are read when somebody asks

    return describe()


@record(frozen=True, slots=True)
class Resources:
    """The resources as a caller may read them."""

    reading: ToolReading
    skills: SkillReads

    async def listed(self) -> list[Resource]:
        """Return the resources with an address of their own: the fixed ones and the files of skills."""
        has_skills = self.reading.serves(self.skills.listed)
        skills = await self.entries() if has_skills else []
        fixed = [resource for resource in _LISTED if resource.uri != RUNS or self.reading.serves(TOOLS["list_runs"])]
        return [*fixed, *(resource for entry in skills for resource in _files(entry))]

    def templates(self) -> list[ResourceTemplate]:
        """Return the templates of addresses that this server serves."""
        return [part.template for part in _PARTS.values() if self.reading.serves(part.spec)]

    async def entries(self) -> list[dict[str, Json]]:
        """Return the entries of all skills."""
        reply = await self.reading.ask(self.skills.listed)
        entries: list[dict[str, Json]] = reply["skills"]
        return entries

    async def read(self, uri: str) -> ReadResourceContents | None:
        """Return the content at an address; None for an address that is not ours."""
        if uri == LANGUAGE:
            return ReadResourceContents(content=language(), mime_type=MARKDOWN)
        if uri == RUNS:
            return _json(await self.reading.tool("list_runs"))
        if uri.startswith("skill://"):
            reply = await self.reading.ask(self.skills.file, uri=uri)
            return ReadResourceContents(content=str(reply["text"]), mime_type=MARKDOWN)
        run = _RUN.fullmatch(uri)
        return None if run is None else await self._of_run(unquote(run[1]), run[2])

    async def _of_run(self, workflow_id: str, part: str | None) -> ReadResourceContents:
        wanted_part = _PARTS[part]
        shown = wanted_part.shown(
            await self.reading.ask(wanted_part.spec, workflow_id=workflow_id, **wanted_part.asked)
        )
        if wanted_part.template.mime_type == JSON:
            return _json(shown)
        return ReadResourceContents(content=str(shown), mime_type=wanted_part.template.mime_type)


def _files(entry: Mapping[str, Json]) -> list[Resource]:
    """Return the files of a skill as resources; SKILL.md stands for the skill."""
    front = entry["frontmatter"]
    return [
        Resource(
            uri=resource["uri"],
            name=front["name"] if resource["uri"] == entry["uri"] else resource["uri"].removeprefix("skill://"),
            description=front["description"] if resource["uri"] == entry["uri"] else None,
            mime_type=MARKDOWN,
            size=resource["size"],
        )
        for resource in entry["resources"]
    ]


def _json(document: Json) -> ReadResourceContents:
    return ReadResourceContents(
        content=dump(dict(document) if isinstance(document, Mapping) else document), mime_type=JSON
    )
