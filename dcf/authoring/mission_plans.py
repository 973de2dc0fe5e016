"""Reads and judges a plan of Mission Control: `workflow.md` and `definition.md` of `.claude/workflows/NAME/`.

The phases are in `workflow.md` as YAML: between two lines of ---, in a block that begins with ```yaml, or as the
whole file. Of `definition.md` the texts below the headings Objective, Scope and Constraints are read. All problems are
reported, each with its line. This module must not open files: `mission_files.py` does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import Final

from dcf.authoring.job_files import circle_in
from dcf.authoring.yaml_text import read_yaml
from dcf.core.text.path_globs import overlap
from dcf.values.located import Located, LocatedFields, Report
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record

WORKFLOW: Final = "workflow.md"
DEFINITION: Final = "definition.md"

WRITER: Final = "general-purpose"
"""The type of sub-agents that have the tools with which files are written."""

BUILT_IN: Final = frozenset({WRITER, "Explore", "Plan", "statusline-setup", "output-style-setup"})
"""Agents that Claude Code has without a file."""

WRITING: Final = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})

MOST_PHASES: Final = 20
_MOST_AGENTS: Final = 50
_LONGEST: Final = 200
_LONGEST_SCOPE: Final = 500
_HIGHEST: Final = 1000

_PLAN: Final = ("name", "phases", "description")
_PHASE: Final = ("id", "number", "name", "agents", "parallel", "outputs", "completion", "requires", "checkpoint")
_AGENT: Final = ("type", "subagent_type", "scope", "outputs", "name", "goal")
_FENCED: Final = re.compile(r"^```ya?ml[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(objectives?|scope|constraints?)[ \t]*:?[ \t]*$", re.IGNORECASE)
_WORKFLOW_ID: Final = re.compile(r"^(ID|workflow[_ ]id)[ \t]*:", re.IGNORECASE)
"""The line of definition.md that names the run: it is none of the objectives."""

_ANY_HEADING: Final = re.compile(r"^#{1,6}[ \t]")


@record(frozen=True, slots=True, kw_only=True)
class MissionTexts:
    """What is read of a plan: both files as text, and the agents that there are, each with the tools that it names.

    An agent that names no tools (None) has all of its type.
    """

    name: str
    workflow: str
    definition: str | None = None
    agents: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class PlannedAgent:
    """An agent of a phase. `scope` says what it handles: a glob of paths, or words."""

    type: str
    subagent_type: str
    scopes: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


_AGENTS: Final = RecordCodec(PlannedAgent, "type subagent_type scopes", named={"scopes": "scope"})


@record(frozen=True, slots=True, kw_only=True)
class PlannedPhase:
    """A phase: after which others it begins, and when it is complete.

    `checkpoint` is the word for a person who must agree before it begins; None without a checkpoint.
    """

    number: int
    name: str
    agents: tuple[PlannedAgent, ...] = ()
    is_parallel: bool = False
    outputs: tuple[str, ...] = ()
    completion: str | None = None
    requires: tuple[int, ...] = ()
    checkpoint: str | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its agents."""
        return tuple(agent.type for agent in self.agents)

    @property
    def all_outputs(self) -> tuple[str, ...]:
        """The outputs of the phase and of its agents, each once."""
        return tuple(dict.fromkeys((*self.outputs, *(path for agent in self.agents for path in agent.outputs))))

    as_json = json_method(
        "number name agents is_parallel all_outputs completion requires checkpoint",
        named={"is_parallel": "parallel", "all_outputs": "outputs"},
        left_out="empty",
        codecs={"agents": _AGENTS},
    )


read_phase = RecordCodec(
    PlannedPhase,
    "number name agents is_parallel outputs completion requires checkpoint",
    named={"is_parallel": "parallel"},
    codecs={"agents": _AGENTS},
).read
"""Returns a phase as it was written with `as_json`; the outputs of its agents are among its own then."""


@record(frozen=True, slots=True, kw_only=True)
class MissionPlan:
    """A plan that is valid."""

    name: str
    phases: tuple[PlannedPhase, ...]
    objective: str | None = None
    scope: str | None = None
    constraints: str | None = None


def read_plan(texts: MissionTexts, report: Report) -> MissionPlan | None:
    """Return the plan; None, and reported problems, if something is wrong with it."""
    node = _yaml_of(texts.workflow, report)
    if node is None:
        return None
    fields = LocatedFields(node, report, _PLAN)
    fields.require("name", "phases")
    places = [LocatedFields(node, report, _PHASE) for node in fields.items("phases", most=MOST_PHASES)]
    phases = [_phase(place) for place in places]
    if "phases" in fields and not phases:
        report.refuse(fields.place_of("phases"), "missing_field", "A workflow has a phase at least.", "Write one.")
    _check_order(phases, places)
    for phase, place in zip(phases, places, strict=True):
        _check_agents(phase, place, texts.agents)
    if report.problems:
        return None
    sections = _sections(texts.definition or "")
    name = fields.text("name", texts.name, longest=_LONGEST)
    return MissionPlan(name=name, phases=tuple(sorted(phases, key=lambda phase: phase.number)), **sections)


def _yaml_of(text: str, report: Report) -> Located | None:
    match = _FRONT.search(text) or _FENCED.search(text)
    if match is None:
        return read_yaml(text, WORKFLOW, report)
    return read_yaml(match[1], WORKFLOW, report, first_line=text.count("\n", 0, match.start(1)) + 1)


def _phase(fields: LocatedFields) -> PlannedPhase:
    if not fields.require("number"):
        fields.report.refuse(fields.place, "phase_number", "Every phase has a number.", "Write number: 1, 2, ...")
    number = _number(fields, "number")
    outputs = fields.texts("outputs", longest=_LONGEST)
    return PlannedPhase(
        number=number,
        name=fields.text("name", fields.text("id", f"Phase {number}", longest=_LONGEST), longest=_LONGEST),
        agents=tuple(_agent(located, fields.report) for located in fields.items("agents", most=_MOST_AGENTS)),
        is_parallel=fields.flag("parallel", default=False),
        outputs=outputs,
        completion=fields.text("completion", longest=_LONGEST) or None,
        requires=_required(fields),
        checkpoint=fields.choice("checkpoint", ("human",), "human") if "checkpoint" in fields else None,
    )


def _number(fields: LocatedFields, name: str) -> int:
    number = fields.number(name, 0, low=1, high=_HIGHEST)
    if number != int(number):
        fields.report.refuse(fields.place_of(name), "phase_number", f"{name} is no whole number.", "Write 1, 2, ...")
    return int(number)


def _required(fields: LocatedFields) -> tuple[int, ...]:
    """Return the numbers of the phases before: one number, or a list of them."""
    node = fields.members.get("requires")
    if node is None or node.value is None:
        return ()
    if not isinstance(node.value, list):
        return (_number(fields, "requires"),)
    numbers = []
    for item in node.value:
        inner = LocatedFields(Located({"requires": item}, item.place), fields.report, ("requires",))
        numbers.append(_number(inner, "requires"))
    return tuple(dict.fromkeys(numbers))


def _agent(node: Located, report: Report) -> PlannedAgent:
    fields = LocatedFields(node, report, _AGENT)
    fields.require("type")
    scope = fields.members.get("scope")
    is_list = scope is not None and isinstance(scope.value, list)
    scopes = (
        fields.texts("scope", longest=_LONGEST_SCOPE) if is_list else (fields.text("scope", longest=_LONGEST_SCOPE),)
    )
    return PlannedAgent(
        type=fields.text("type", longest=_LONGEST),
        subagent_type=fields.text("subagent_type", WRITER, longest=_LONGEST),
        scopes=tuple(scope for scope in scopes if scope),
        outputs=fields.texts("outputs", longest=_LONGEST),
    )


def _check_order(phases: Sequence[PlannedPhase], places: Sequence[LocatedFields]) -> None:
    """Report numbers that two phases have, and phases that require what is none, or each other."""
    numbers = [phase.number for phase in phases]
    for phase, fields in zip(phases, places, strict=True):
        if numbers.count(phase.number) > 1 and phase.number:
            message = f"Two phases have the number {phase.number}."
            fields.report.refuse(fields.place_of("number"), "phase_number", message, "Give each its own.")
        for number in phase.requires:
            if number and number not in numbers:
                message = f"Phase {phase.number} requires phase {number}, which there is not."
                fields.report.refuse(fields.place_of("requires"), "unknown_phase", message, "Correct requires.")
    circle = circle_in({str(phase.number): [str(number) for number in phase.requires] for phase in phases})
    if circle is not None and len(set(numbers)) == len(numbers):
        fields = next(place for phase, place in zip(phases, places, strict=True) if str(phase.number) == circle)
        message = f"Phase {circle} requires itself, directly or by others."
        fields.report.refuse(fields.place_of("requires"), "circle", message, "Remove a requires.")


def _check_agents(phase: PlannedPhase, fields: LocatedFields, known: Mapping[str, tuple[str, ...] | None]) -> None:
    """Report agents that do not exist, or cannot write what they should, and parallel ones whose scopes overlap."""
    report, nodes = fields.report, fields.items("agents", most=_MOST_AGENTS)
    for agent, node in zip(phase.agents, nodes, strict=True):
        for name in dict.fromkeys((agent.type, agent.subagent_type)):
            if name and name not in known and name not in BUILT_IN:
                hint = f"Write .claude/agents/{name}.md, or correct the name."
                report.refuse(node.place, "unknown_agent", f"There is no agent '{name}'.", hint)
        if agent.subagent_type != WRITER and (agent.outputs or WRITING & set(known.get(agent.type) or ())):
            message = f"Agent '{agent.type}' writes files, and its subagent_type is '{agent.subagent_type}'."
            report.refuse(node.place, "cannot_write", message, f"Write subagent_type: {WRITER}.")
    if phase.outputs and phase.agents and all(agent.subagent_type != WRITER for agent in phase.agents):
        message = f"No agent of phase {phase.number} can write its outputs."
        hint = f"Give one of them subagent_type: {WRITER}, or remove outputs."
        report.refuse(fields.place_of("outputs"), "cannot_write", message, hint)
    if phase.is_parallel:
        for first, second, scope, other in _overlaps(phase.agents):
            message = f"Agents '{first.type}' and '{second.type}' work in parallel on '{scope}' and '{other}'."
            report.refuse(fields.place_of("agents"), "scopes_overlap", message, "Divide the scopes, or the phase.")


def _overlaps(agents: Sequence[PlannedAgent]) -> Iterator[tuple[PlannedAgent, PlannedAgent, str, str]]:
    for first, second in combinations(agents, 2):
        pairs = ((scope, other) for scope in first.scopes for other in second.scopes)
        pair = next((pair for pair in pairs if overlap(*pair)), None)
        if pair is not None:
            yield first, second, *pair


def _sections(text: str) -> dict[str, str]:
    """Return the texts below the headings that a workflow is started with."""
    lines_by_name: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading is not None:
            word = heading[1].lower()
            name = "objective" if word.startswith("objective") else "constraints" if word.startswith("c") else "scope"
            current = lines_by_name.setdefault(name, [])
        elif _ANY_HEADING.match(line):
            current = None
        elif current is not None and not _WORKFLOW_ID.match(line):
            current.append(line)
    return {name: details for name, lines in lines_by_name.items() if (details := "\n".join(lines).strip())}
