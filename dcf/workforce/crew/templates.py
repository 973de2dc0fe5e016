"""Finds what each Task's agent is created from: an existing agent, or one of a bundle, searched in the seed's order.

1. `af_v2_entities` in the document, 2. the bundles of `af_imports`, 3. `<ref>.af` in the directory of templates,
4. the entry of `agents` with this name: its `agent_config` (the old form), or its own `instructions`. An entry's
`platform` says where the agent is made. Files are read only below the configured directories.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from dcf.asl.syntax.parsing import parse_machine
from dcf.core.definitions.forms import as_workflow, asl_of
from dcf.core.documents.stored_values import object_of, objects_of
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workflows.validation.files import ImportReader, Unreadable
from dcf.workflows.validation.references import is_worked, tasks_of
from dcf.workflows.validation.templates import EMBEDDED, SUFFIX, TemplateDirectory
from dcf.workforce.crew.descriptions import Description

DEFAULT_TEMPLATE: Final = "worker"
MOST_COPIES: Final = 50
"""Agents that can be made for one Task."""

_LOCAL_ID: Final = re.compile(r"(block|tool)-[0-9]+\Z")

Mode = Literal["ephemeral", "pooled", "existing"]


@record(frozen=True, slots=True, kw_only=True)
class TemplateReference:
    """How a binding names an agent."""

    ident: str | None = None
    name: str | None = None

    def fits(self, agent: Mapping[str, Json]) -> bool:
        """Return True if the reference names this agent: by id, or by name if it has no id."""
        if self.ident is not None and agent.get("id") == self.ident:
            return True
        return self.name is not None and agent.get("name") == self.name

    def __str__(self) -> str:
        return clip(self.name or self.ident or "")


@record(frozen=True, slots=True, kw_only=True)
class Staffing:
    """The agent that one Task asks for: an existing one (`existing`), or one created from a `description`.

    If the `existing` agent is missing, the description is used. `shared` is the key of an agent that several Tasks of
    the run share. `copies` is how many agents are made for it, which share it. `keep`: do not delete them at the end.
    """

    state: str
    existing: TemplateReference | None = None
    description: Description | None = None
    shared: str | None = None
    copies: int = 1
    keep: bool = False


def read_staffing(
    document: Json, *, import_dirs: Sequence[Path], agents_dir: Path, suffix: str = SUFFIX
) -> list[Staffing]:
    """Return the agent of every Task, nested ones included. Raise InvalidDefinition or InvalidArgument."""
    if not isinstance(document, dict):
        raise InvalidArgument("workflow_json is not an object.")
    document = as_workflow(document)
    parsed, problems = parse_machine(machine := asl_of(document), "/asl")
    if parsed is None:
        raise InvalidDefinition(problems)
    tasks = [
        (name, object_of(task.get("AgentBinding"))) for _, name, task in tasks_of(machine, "/asl") if is_worked(task)
    ]
    if not tasks:
        raise InvalidArgument("The workflow has no Task, so it needs no agents.", "Skip `create_worker_agents`.")
    on_disk = TemplateDirectory(base=agents_dir, suffix=suffix)
    templates = _Templates(document=document, on_disk=on_disk, imports=tuple(import_dirs))
    return [_staffing(name, binding, document, templates) for name, binding in tasks]


def _staffing(
    state: str, binding: Mapping[str, Json], document: Mapping[str, Json], templates: "_Templates"
) -> Staffing:
    existing, reference = _reference(binding.get("agent_ref")), _reference(binding.get("agent_template_ref"))
    lifecycle = object_of(binding.get("lifecycle"))
    mode = lifecycle.get("mode", "ephemeral")
    if mode == "existing" and existing is None:
        raise InvalidArgument(
            f"State '{clip(state)}' wants an existing agent without a name.", "Name it in AgentBinding.agent_ref."
        )
    shared = lifecycle.get("reuse_key") if mode == "pooled" else None
    if mode == "pooled" and not (isinstance(shared, str) and shared):
        raise InvalidArgument(
            f"State '{clip(state)}' wants a pooled agent and has no reuse_key.",
            "Give the Tasks that share an agent the same lifecycle.reuse_key.",
        )
    keep = lifecycle.get("destroy_on_end") is False
    if existing is not None:
        meant = _declared(existing, document) or existing
        stand_in = templates.find(reference or existing) if mode != "existing" else None
        return Staffing(state=state, existing=meant, description=stand_in, keep=keep)
    copies = lifecycle.get("copies", 1)
    if not isinstance(copies, int) or isinstance(copies, bool) or not 1 <= copies <= MOST_COPIES:
        raise InvalidArgument(
            f"State '{clip(state)}' wants a number of agents that cannot be made.",
            f"Give lifecycle.copies from 1 to {MOST_COPIES}.",
        )
    description = templates.for_task(state, reference)
    return Staffing(state=state, description=description, shared=shared, copies=copies, keep=keep)


def _declared(reference: TemplateReference, document: Mapping[str, Json]) -> TemplateReference | None:
    """Resolve a name that the document's `agents` gives to an existing agent; None if it does not."""
    for agent in objects_of(document.get("agents")):
        if reference.name is not None and agent.get("agent_name") == reference.name:
            return _reference(agent.get("agent_ref"))
    return None


@dataclass(slots=True, kw_only=True)
class _Templates:
    """The descriptions of one document, each file read at most once.

    An entry of `agents` says more of the agent of its name: its platform, or all of it (`instructions`, `model`).
    """

    document: Mapping[str, Json]
    imports: tuple[Path, ...]
    on_disk: TemplateDirectory
    _imported: list[Mapping[str, Json]] | None = None

    def for_task(self, state: str, reference: TemplateReference | None) -> Description:
        """Return the description of a Task's agent; without one, that of the default worker, or an empty one."""
        if reference is not None:
            description = self.find(reference)
            if description is None:
                raise InvalidArgument(
                    f"The template '{reference}' of state '{clip(state)}' is in no imported file and not on disk.",
                    "Import its .af file in af_imports, or put it into the directory of templates (DCF_AGENTS_DIR).",
                )
            return description
        entry = self._entry(state)
        if _describes(entry):
            return _inline(entry)
        default = self.find(TemplateReference(name=DEFAULT_TEMPLATE)) or Description()
        return replace(default, platform=_platform(entry) or default.platform)

    def find(self, reference: TemplateReference) -> Description | None:
        """Search an agent in the seed's order. Raise InvalidArgument if its bundle is not complete."""
        entry = {} if reference.name is None else self._entry(reference.name)
        description = self._in_files(reference)
        if description is not None:
            return replace(description, platform=_platform(entry))
        return _inline(entry) if _describes(entry) else None

    def _in_files(self, reference: TemplateReference) -> Description | None:
        for bundle in self._bundles():
            for agent in objects_of(bundle.get("agents")):
                if reference.fits(agent):
                    return _whole(agent, bundle)
        on_disk = self.on_disk.bundle(reference.name or reference.ident or "")
        if on_disk is None:
            return None
        agents = objects_of(on_disk.get("agents"))
        return _whole(next(filter(reference.fits, agents), agents[0]), on_disk)

    def _bundles(self) -> Iterator[Mapping[str, Json]]:
        embedded = self.document.get(EMBEDDED)
        if isinstance(embedded, dict):
            yield embedded
        if self._imported is None:
            self._imported = list(self._read_imports())
        yield from self._imported

    def _read_imports(self) -> Iterator[Mapping[str, Json]]:
        reader = ImportReader(base=self.imports[0], others=self.imports[1:])
        for at, entry in enumerate(objects_of(self.document.get("af_imports"))):
            uri, integrity = entry.get("uri"), entry.get("integrity")
            try:
                content, _ = reader.read(str(uri), integrity if isinstance(integrity, str) else None)
            except Unreadable as error:
                message = f"The agent file of af_imports[{at}] cannot be used: {error}"
                raise InvalidArgument(message, "Call `validate_workflow`, and correct the problems.") from None
            if isinstance(content, dict):
                yield content

    def _entry(self, name: str) -> Mapping[str, Json]:
        """Return the entry of `agents` for the agent of this name, or for the state of this name."""
        agents = (agent for agent in objects_of(self.document.get("agents")) if agent.get("agent_name") == name)
        return next(agents, {})


def _describes(entry: Mapping[str, Json]) -> bool:
    """Return True if the entry has all that is needed to make its agent."""
    return isinstance(entry.get("agent_config"), dict) or isinstance(entry.get("instructions"), str)


def _inline(entry: Mapping[str, Json]) -> Description:
    config = entry.get("agent_config")
    if not isinstance(config, dict):
        return Description(agent=entry, platform=_platform(entry))
    from dcf.workforce.crew.legacy_agents import read_legacy  # noqa: PLC0415 - few documents have this form

    agent, bundle = read_legacy(config)
    return Description(agent=agent, bundle=bundle, platform=_platform(entry))


def _platform(entry: Mapping[str, Json]) -> str | None:
    platform = entry.get("platform")
    return platform if isinstance(platform, str) and platform else None


def _whole(agent: Mapping[str, Json], bundle: Mapping[str, Json]) -> Description:
    """Raise InvalidArgument if blocks or tools of the agent are missing from its bundle: it would lack instructions."""
    for kind in ("block", "tool"):
        there = {part.get("id") for part in objects_of(bundle.get(f"{kind}s"))}
        named = agent.get(f"{kind}_ids")
        for ident in named if isinstance(named, list) else ():
            if isinstance(ident, str) and _LOCAL_ID.match(ident) and ident not in there:
                raise InvalidArgument(
                    f"The template '{clip(str(agent.get('name')))}' needs {ident}, which is not in its bundle.",
                    f"Export the agent file again, or remove {ident} from {kind}_ids.",
                )
    return Description(agent=agent, bundle=bundle)


def _reference(value: Json) -> TemplateReference | None:
    reference = object_of(value)
    ident, name = (reference.get(key) if isinstance(reference.get(key), str) else None for key in ("id", "name"))
    return TemplateReference(ident=ident or None, name=name or None) if ident or name else None
