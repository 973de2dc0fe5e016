"""Reads for resources, prompts and completions that no tool answers: graph and definition of a run, skills as files.

Each is declared as a tool is, and called the same way, so that scopes, limits and the audit of refusals hold. It must
not be in a list, and no client can call it.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import NotFound
from dcf.skills.folders import SkillFolders
from dcf.skills.library import Library
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.verbs.description.words import ID
from dcf.verbs.registry import Answer, Arguments, Toolset, ToolSpec, described_by, printable
from dcf.workflows.drawing import draw_mermaid

_MOST_DRAWN: Final = 1000
"""Documents of a run that are looked at to draw it."""

AnyArguments = TypeVar("AnyArguments", bound=Arguments)


class OfRun(Arguments):
    """Look at a run."""

    workflow_id: str = Field(pattern=ID)


class Nothing(Arguments):
    """Look at what there is."""


class OfSkill(Arguments):
    """Look at a file of a skill."""

    uri: str = Field(max_length=1000)


class Text(Answer):
    """A text."""

    text: str | None = None


class RunDefinition(Answer):
    """The workflow of a run, as it was given."""

    document: Any = None


class SkillsAsFiles(Answer):
    """Entries of skills."""

    skills: list[dict[str, Any]] = Field(default_factory=list)


def _read(
    arguments: type[AnyArguments], answer: type[Answer], toolset: Toolset = "operations"
) -> Callable[[Callable[[Application, AnyArguments], Answer]], ToolSpec]:
    def declare(function: Callable[[Application, AnyArguments], Answer]) -> ToolSpec:
        return ToolSpec(
            name=function.__name__,
            description=described_by(arguments),
            toolset=toolset,
            scope=Scope.READ,
            profiles=frozenset(),
            acts_as=None,
            models=lambda: (arguments, answer),
            run=function,
            read_only=True,
            destructive=False,
            idempotent=True,
            audit=(),
            of_no_run=toolset == "skills",
        )

    return declare


@_read(OfRun, Text)
def read_run_graph(app: Application, args: OfRun) -> Text:
    """Draw a run, with how its states stand, as a Mermaid flowchart."""
    drawn = app.runs.survey(args.workflow_id, _MOST_DRAWN)
    return Text(status="drawn", text=draw_mermaid(drawn.machine, drawn.statuses, drawn.shares))


@_read(OfRun, RunDefinition)
def read_run_definition(app: Application, args: OfRun) -> RunDefinition:
    """Return the workflow document of a run."""
    return RunDefinition(status="read", document=app.control_plane.run(args.workflow_id).definition.document)


@record(frozen=True, slots=True, kw_only=True)
class SkillReads:
    """Reads of skills as files: all of them, and one file."""

    listed: ToolSpec
    file: ToolSpec


def skill_reads(library: Library) -> SkillReads:
    """Return the reads of a library's skills, which share what they know of its files."""
    folders = SkillFolders(library)

    @_read(Nothing, SkillsAsFiles, "skills")
    def list_skill_files(_: Application, __: Nothing) -> SkillsAsFiles:
        return SkillsAsFiles(status="listed", skills=[folder.entry() for folder in folders.all()])

    @_read(OfSkill, Text, "skills")
    def read_skill_file(_: Application, args: OfSkill) -> Text:
        skill_file = folders.find(args.uri)
        if skill_file is None:
            raise NotFound(f"There is no file {printable(clip(args.uri))}.", "Take an address from the list of skills.")
        folder, path = skill_file
        return Text(status="read", text=folder.files[path])

    return SkillReads(listed=list_skill_files, file=read_skill_file)
