"""Assignments: what an agent is to do now, as states with input and skills, and the next tool calls. Only reads.

It does not know the caller, so what it returns has no secrets: a lease is without its token. The verb adds the token
for the key for which dcf drew it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from dcf.asl.state_paths import name_of
from dcf.core.definitions.briefs import NOTHING, Brief, brief_of
from dcf.core.definitions.model import Definition
from dcf.core.documents.model import RunStatus, StateDoc, Status
from dcf.core.leasing.blockers import Blocker
from dcf.core.lifecycle.inspection import public_state
from dcf.errors import DcfError, InvalidArgument
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.reading import RunViews
from dcf.runs.views.status import RunView, StateView, known
from dcf.skills.library import Library, imported_manifests
from dcf.skills.manifest import Manifest
from dcf.store.lists.agents import AgentRecords
from dcf.store.lists.assignments import AssignmentIndex, Assignments
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workforce.skills.equipment import Equipment
from dcf.workforce.skills.holdings import Holding
from dcf.workforce.steps import Step, ask_about, steps_for, wait_for_event

_SHOWN: Final = 20
"""Most states in one answer."""
_CONTEXT_CHARS: Final = 60_000
"""Most characters of an agent's record in one answer."""


@record(frozen=True, slots=True, kw_only=True)
class SkillAtHand:
    """A skill that a state names. If it has no manifest, `problem` says why it cannot be used."""

    reference: str
    manifest: Manifest | None = None
    problem: str | None = None
    loaded: bool = False


@record(frozen=True, slots=True, kw_only=True)
class StateAtHand:
    """A state, whether it is the agent's, its skills, the next steps, and its input once it can be worked on.

    `brief` is what the Task tells its worker.
    """

    state: str
    doc: StateDoc
    mine: bool
    ready: bool
    held: bool
    given: Json
    skills: tuple[SkillAtHand, ...]
    steps: tuple[Step, ...]
    brief: Brief = NOTHING

    def lease(self) -> dict[str, Json] | None:
        """Return the lease without its token, if the agent holds it."""
        if not self.held:
            return None
        shown: dict[str, Json] = public_state(self.doc)["lease"]
        return shown


@record(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Answer to an agent. If it names no run and several are possible, `candidates` has them.

    While the run `is_paused`, or `blocked_by` names issues, it can take nothing. `named` is the path of the state it
    asked about. If nothing is to be done about that one, `states` has the agent's other states that it holds or can
    take.
    """

    workflow_id: str | None = None
    run_status: RunStatus | None = None
    is_paused: bool = False
    blocked_by: tuple[Blocker, ...] = ()
    named: str | None = None
    states: tuple[StateAtHand, ...] = ()
    more: int = 0
    loaded: tuple[Holding, ...] = ()
    context: tuple[Mapping[str, Json], ...] = ()
    tools: tuple[Mapping[str, Json], ...] = ()
    steps: tuple[Step, ...] = ()
    candidates: tuple[str, ...] = field(default=())


class Desk:
    """Answers an agent's question what it is to do."""

    def __init__(
        self,
        runs: RunViews,
        plane: ControlPlane,
        assignments: AssignmentIndex,
        equipment: Equipment,
        records: AgentRecords,
        library: Library,
    ) -> None:
        self._runs = runs
        self._plane = plane
        self._assignments = assignments
        self._equipment = equipment
        self._records = records
        self._library = library

    def ask(
        self, agent_id: str, workflow_id: str | None = None, state: str | None = None, project: str | None = None
    ) -> Assignment:
        """Return the agent's assignment, in any project or one. Raise UnknownRun, UnknownState or InvalidArgument."""
        if workflow_id is None:
            if state is not None:
                raise InvalidArgument("state was given without workflow_id.", "Pass `workflow_id` as well.")
            assignments = self._live_runs(agent_id, project)
            if len(assignments) != 1:
                return self._nowhere(agent_id, assignments)
            run = assignments[0]
        else:
            runs = self._assignments.read((workflow_id,))
            run = runs[0] if runs else Assignments(workflow_id=workflow_id, status="")
        return self._in_run(agent_id, run, state)

    def skills_of(self, definition: Definition, path: str, agent_id: str | None) -> tuple[SkillAtHand, ...]:
        """Return the skills of a state; with an agent also which of them it has loaded, which is read."""
        loaded = () if agent_id is None else tuple(self._equipment.loaded(agent_id))
        return self._skills(definition.document, definition.skills, (path,), loaded)[path]

    def others_than(self, agent_id: str) -> tuple[str, ...]:
        """Return the agents that live runs name, if none names this one: it may be misspelt, or a planner's."""
        if self._assignments.is_named(agent_id):
            return ()
        runs = self._assignments.read(self._assignments.newest_live())
        return tuple(dict.fromkeys(agent for run in runs for pool in run.agents.values() for agent in pool))

    def planned_by(self, agent_id: str, project: str | None = None) -> list[str]:
        """Return those of the newest live runs that the agent plans, newest first."""
        runs = self._assignments.read(self._assignments.newest_live())
        return [run.workflow_id for run in runs if run.planner == agent_id and project in (None, run.project)]

    def _live_runs(self, agent_id: str, project: str | None) -> list[Assignments]:
        near = self._assignments.read(self._assignments.runs_of(agent_id))
        live = _live(near, agent_id, project)
        return live or _live(self._assignments.read(self._assignments.newest_live()), agent_id, project)

    def _nowhere(self, agent_id: str, runs: list[Assignments]) -> Assignment:
        context, tools = self._context(agent_id, ())
        return Assignment(
            candidates=tuple(run.workflow_id for run in runs),
            loaded=tuple(self._equipment.loaded(agent_id)),
            context=context,
            tools=tools,
            steps=tuple(ask_about(agent_id, run.workflow_id) for run in runs[:_SHOWN]) or (wait_for_event(agent_id),),
        )

    def _in_run(self, agent_id: str, run: Assignments, state: str | None) -> Assignment:
        loaded = tuple(self._equipment.loaded(agent_id))
        mine, definition = run.of(agent_id), self._plane.run(run.workflow_id).definition
        named = None if state is None else self._plane.place(run.workflow_id, state).path
        own = self._runs.paths_of(run.workflow_id, definition, mine) if named is None else (named,)
        view, at_hand = self._look(agent_id, run.workflow_id, definition, own, loaded)
        if named is not None and not any(state.held or state.ready for state in at_hand):
            others = [path for path in self._runs.paths_of(run.workflow_id, definition, mine) if path != named]
            view, states = self._look(agent_id, run.workflow_id, definition, others, loaded)
            at_hand += [state for state in states if state.held or state.ready]
        at_hand.sort(key=_urgency)
        shown = [_briefed(state, definition) for state in at_hand[:_SHOWN]]
        context, tools = self._context(agent_id, shown)
        return Assignment(
            workflow_id=run.workflow_id,
            run_status=view.status,
            is_paused=view.meta.is_paused,
            blocked_by=view.meta.blocked_by,
            named=named,
            states=tuple(shown),
            more=max(len(own), len(at_hand)) - len(shown),
            loaded=loaded,
            context=context,
            tools=tools,
            steps=_first_steps(at_hand, run, agent_id, view),
        )

    def _look(
        self,
        agent_id: str,
        workflow_id: str,
        definition: Definition,
        paths: Sequence[str],
        loaded: tuple[Holding, ...],
    ) -> tuple[RunView, list[StateAtHand]]:
        """Return how the run stands, and these states of the agent."""
        view = self._runs.read(workflow_id, paths[:_LOOKED_AT], whole_meta=False)
        skills = self._skills(definition.document, definition.skills, paths, loaded)
        return view, [
            _at_hand(state_view, workflow_id, agent_id, view, skills[path]) for path, state_view in view.states.items()
        ]

    def _skills(
        self,
        document: Mapping[str, Json],
        bound: Mapping[str, tuple[str, ...]],
        states: Iterable[str],
        loaded: tuple[Holding, ...],
    ) -> dict[str, tuple[SkillAtHand, ...]]:
        names_by_state = {state: bound.get(name_of(state), ()) for state in states}
        references = dict.fromkeys(reference for names in names_by_state.values() for reference in names)
        imports = imported_manifests(document, self._library.directory) if references else []
        known = {holding.manifest_id for holding in loaded}
        resolved = {reference: self._skill(reference, imports, known) for reference in references}
        return {state: tuple(resolved[reference] for reference in names) for state, names in names_by_state.items()}

    def _skill(self, reference: str, imports: list[dict[str, Json]], loaded: set[str]) -> SkillAtHand:
        try:
            manifest = self._library.resolve(reference, imports)
        except DcfError as error:
            return SkillAtHand(reference=reference, problem=f"{error.code}: {error.message}")
        return SkillAtHand(reference=reference, manifest=manifest, loaded=manifest.manifest_id in loaded)

    def _context(
        self, agent_id: str, shown: Iterable[StateAtHand]
    ) -> tuple[tuple[Mapping[str, Json], ...], tuple[Mapping[str, Json], ...]]:
        """Return the texts and tools in a mailbox agent's record, without directives, which are shown separately."""
        record = self._records.get(agent_id)
        if record is None:
            return (), ()
        manifests = [skill.manifest for state in shown for skill in state.skills if skill.manifest is not None]
        labels = {f"skill_directives_{manifest.name}_{manifest.manifest_id}" for manifest in manifests}
        left, texts = _CONTEXT_CHARS, list[Mapping[str, Json]]()
        for block in record.blocks.values():
            label, value = str(block["label"]), str(block["value"])
            if label in labels:
                continue
            texts.append({"label": label, "value": clip(value, left) if len(value) > left else value})
            left = max(left - len(value), 100)
        tools = tuple(
            {key: tool.get(key) for key in ("name", "description", "server")} for tool in record.tools.values()
        )
        return tuple(texts), tools


_LOOKED_AT: Final = 200
"""Most states of one agent in one run that are read."""


def _live(runs: Iterable[Assignments], agent_id: str, project: str | None) -> list[Assignments]:
    near = (run for run in runs if project in (None, run.project))
    return [run for run in near if run.status == RunStatus.RUNNING.value and run.of(agent_id)]


def _at_hand(
    view: StateView, workflow_id: str, agent_id: str, run_view: RunView, skills: tuple[SkillAtHand, ...]
) -> StateAtHand:
    doc, lease = view.doc, view.doc.lease
    is_held = lease.is_live(run_view.now) and lease.owner_agent_id == agent_id and not doc.status.is_terminal
    ready = view.ready and view.is_for(agent_id)
    usable = [skill.manifest for skill in skills if skill.manifest is not None]
    missing = [skill.manifest.manifest_id for skill in skills if skill.manifest is not None and not skill.loaded]
    steps = steps_for(
        workflow_id,
        view.path,
        agent_id,
        doc,
        ready=ready,
        held=is_held,
        running=run_view.status is RunStatus.RUNNING,
        missing=missing,
        loaded=[manifest.manifest_id for manifest in usable],
    )
    state_input = known(view.given) if ready or is_held else None
    return StateAtHand(
        state=view.path,
        doc=doc,
        mine=view.is_for(agent_id),
        ready=ready,
        held=is_held,
        given=state_input,
        skills=skills,
        steps=steps,
    )


def _briefed(state: StateAtHand, definition: Definition) -> StateAtHand:
    """Return a state with what its Task tells its worker, if it can be worked on."""
    return replace(state, brief=brief_of(definition, state.state, state.given)) if state.held or state.ready else state


def _urgency(state: StateAtHand) -> int:
    """Return a sort key: states that the agent holds, can take, waits for, has done."""
    if state.held:
        return 0
    if state.ready:
        return 1
    return 2 if state.doc.status in {Status.PENDING, Status.RUNNING} else 3


def _first_steps(states: list[StateAtHand], run: Assignments, agent_id: str, view: RunView) -> tuple[Step, ...]:
    """Return the first steps over all states."""
    if states and (states[0].held or states[0].ready):
        return states[0].steps
    if not states and view.status is RunStatus.RUNNING and not view.meta.is_halted:
        arguments: dict[str, Json] = {"workflow_id": run.workflow_id, "agent_id": agent_id}
        why = "No state is assigned to you; this takes one that anybody may do, if there is one."
        return Step(tool="claim_ready_state", arguments=arguments, why=why), wait_for_event(agent_id)
    return states[0].steps if len(states) == 1 else (wait_for_event(agent_id),)
