"""The agents of runs: creates missing ones, assigns them, and deletes them when the run ends."""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from dcf.adapters.platforms import Platforms
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.dismissals import Dismissed
from dcf.errors import AgentUnknown, DcfError, InvalidArgument, PlatformUnavailable
from dcf.ports import AgentFound
from dcf.store.lists.assignments import AssignmentIndex
from dcf.store.transaction.runs import RunStore
from dcf.values.text_pieces import clip
from dcf.workforce.crew import roster as decisions
from dcf.workforce.crew.assigning import assign
from dcf.workforce.crew.making import Making, MakingProgress, Parts
from dcf.workforce.crew.names import WORKER_TAG, part_of, run_tag
from dcf.workforce.crew.records import CrewWish, MadeWorkers, Staffed
from dcf.workforce.crew.roster_documents import RosterDocuments
from dcf.workforce.crew.templates import Staffing, TemplateReference
from dcf.workforce.skills.equipment import Equipment


class Workers:
    """Creates, finds and deletes agents, and records which it created."""

    def __init__(
        self,
        platforms: Platforms,
        documents: RosterDocuments,
        store: RunStore,
        assignments: AssignmentIndex,
        equipment: Equipment,
    ) -> None:
        self._platforms = platforms
        self._documents = documents
        self._making = Making(platforms, documents)
        self._store = store
        self._assignments = assignments
        self._equipment = equipment

    def create(self, wish: CrewWish) -> MadeWorkers:
        """Create the missing agents and assign them. Raise if nothing was done; else the result has the failure."""
        pools = self._taken(wish.workflow_id, {staffing.state for staffing in wish.staffing})
        names = dict[str, str]()
        for state, known_agent in self._known(
            [staffing for staffing in wish.staffing if staffing.state not in pools]
        ).items():
            pools[state], names[known_agent.agent_id] = (known_agent.agent_id,), known_agent.name
        parts = {staffing.state: _parts(staffing) for staffing in wish.staffing if staffing.state not in pools}
        request = Parts(
            workflow_id=wish.workflow_id,
            staffing=_first_of_each([staffing for staffing in wish.staffing if staffing.state in parts]),
            prefix=wish.prefix,
            tags=wish.tags,
            reuse=wish.reuse,
        )
        progress = MakingProgress()
        self._drop_lost(request, progress.warnings)
        try:
            self._making.fill(request, progress)
        except DcfError as failure:
            self._making.undo(request, progress)
            undone = _staffed(parts, progress.undone, {})
            return MadeWorkers(undone=undone, warnings=tuple(progress.warnings), failure=failure)
        pools |= {state: tuple(progress.agents[part] for part in several) for state, several in parts.items()}
        ordered = {staffing.state: pools[staffing.state] for staffing in wish.staffing}
        known, assigned = self._assigned(wish.workflow_id, ordered, progress.warnings)
        names |= known
        created = _staffed(parts, progress.made, names)
        fresh = {(pair.state, pair.agent_id) for pair in created}
        there = [(state, agent) for state, pool in ordered.items() for agent in pool if (state, agent) not in fresh]
        existing = tuple(_one(*pair, names) for pair in there)
        return MadeWorkers(
            agents={state: pool[0] for state, pool in ordered.items()},
            created=created,
            existing=existing,
            assigned=assigned,
            warnings=tuple(progress.warnings),
        )

    def delete_workers(self, workflow_id: str, spare: Collection[str] = (), *, again: bool = False) -> list[Dismissed]:
        """Delete the agents that were created for a run, found in the store and by their tags. Idempotent.

        `spare` are ids that are never deleted (the planner's). A failure is reported per agent, and the next call
        retries it. `again`: report those too that an earlier call deleted.
        """
        token = f"dismiss-{secrets.token_hex(8)}"
        leaving = self._documents.transact(workflow_id, lambda roster, _: decisions.dismiss(roster, token, again=again))
        agent_ids = {member.agent_id for member in self._documents.read(workflow_id).values() if member.keep} | set(
            spare
        )
        targets = {member.agent_id: part for part, member in leaving.items() if member.agent_id is not None}
        for provisioner in self._platforms.provisioners().values():
            try:
                for item in provisioner.find_agents((run_tag(workflow_id), WORKER_TAG)):
                    targets.setdefault(item.agent_id, part_of(item.tags) or item.name)
            except PlatformUnavailable:
                if not targets:
                    raise
        results = [self._dismissed(part, agent) for agent, part in targets.items() if agent not in agent_ids]
        failed = {result.state for result in results if not result.deleted}
        left = {part: member for part, member in leaving.items() if part in failed or member.agent_id in spare}
        self._documents.transact(workflow_id, lambda roster, _: (decisions.reinstate(roster, left), None))
        return results

    def resolve(self, name: str, is_seen: Callable[[AgentFound], bool] = lambda _: True) -> str:
        """Return the only agent of this name, of those seen. Raise AgentUnknown, or InvalidArgument for several."""
        matching = [record for record in self._named(name) if is_seen(record)]
        if not matching:
            raise AgentUnknown(f"There is no agent named '{clip(name)}'.", "Check the name; it must match exactly.")
        if len(matching) > 1:
            raise InvalidArgument(
                f"There are {len(matching)} agents named '{clip(name)}'.",
                f"Use an id: {', '.join(record.agent_id for record in matching[:5])}.",
            )
        return matching[0].agent_id

    def delete_agent(self, agent_id: str) -> bool:
        """Delete one agent and its records. Return True if it existed."""
        there = self._platforms.provisioner_of(agent_id).delete_agent(agent_id)
        self._platforms.forget(agent_id)
        self._equipment.forget(agent_id)
        return there

    def lift_return_limits(self, agent_id: str) -> int:
        """Let an agent's tools return as much as the platform allows. Return how many tools were changed."""
        lift = self._platforms.of(agent_id).lift_limits
        return 0 if lift is None else lift(agent_id)

    def _drop_lost(self, parts: Parts, warnings: list[str]) -> None:
        """Forget agents that are gone, so that they are created again. If the platform is down, keep the records."""
        try:
            lost = self._making.drop_lost(parts)
        except PlatformUnavailable:
            warnings.append("The agent platform does not answer; whether all agents are still there is not known.")
            return
        for agent_id in lost:
            self._platforms.forget(agent_id)
            self._equipment.forget(agent_id)

    def _taken(self, workflow_id: str, states: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the states that are assigned to agents that were not created for the run."""
        runs = self._assignments.read((workflow_id,))
        if not runs:
            return {}
        ours = {agent for member in self._documents.read(workflow_id).values() for agent in member.agent_ids}
        pools = {state: pool for state, pool in runs[0].agents.items() if pool and state in states}
        return {state: pool[:1] for state, pool in pools.items() if not ours.issuperset(pool)}

    def _known(self, staffing: Sequence[Staffing]) -> dict[str, AgentFound]:
        """Return the agents that Tasks name as existing. Raise AgentUnknown if one has neither agent nor template."""
        looked_up: dict[TemplateReference, AgentFound | None] = {}
        known: dict[str, AgentFound] = {}
        for staff in staffing:
            if staff.existing is None:
                continue
            if staff.existing not in looked_up:
                looked_up[staff.existing] = self._existing(staff.existing)
            known_agent = looked_up[staff.existing]
            if known_agent is not None:
                known[staff.state] = known_agent
            elif staff.description is None:
                raise AgentUnknown(
                    f"The agent '{staff.existing}' of state '{clip(staff.state)}' does not exist.",
                    "Correct agent_ref, or name a template in agent_template_ref.",
                )
        return known

    def _existing(self, reference: TemplateReference) -> AgentFound | None:
        if reference.ident is not None:
            try:
                return self._platforms.provisioner_of(reference.ident).retrieve_agent(reference.ident)
            except AgentUnknown:
                if reference.name is None:
                    return None
        named = self._named(reference.name)
        if len(named) > 1:
            raise InvalidArgument(f"There are {len(named)} agents named '{reference}'.", "Name it by id in agent_ref.")
        return named[0] if named else None

    def _named(self, name: str | None) -> list[AgentFound]:
        """Return the agents of this name on all platforms."""
        return [
            agent
            for provisioner in self._platforms.provisioners().values()
            for agent in provisioner.find_agents(name=name)
        ]

    def _assigned(
        self, workflow_id: str, agents: Mapping[str, tuple[str, ...]], warnings: list[str]
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """Write the assignments into the run, if it exists. Return the agents' names, and the changed states."""
        roster = self._documents.read(workflow_id)
        ours = {agent: member.name for member in roster.values() for agent in member.agent_ids}
        assigned = assign(self._store, workflow_id, agents, ours)
        if assigned.run not in {None, RunStatus.RUNNING}:
            warnings.append(f"The run has ended ({assigned.run}), so no agent was assigned in it.")
        warnings += [f"State '{clip(state)}' was assigned to another agent; that stays so." for state in assigned.kept]
        return ours, assigned.fresh

    def _dismissed(self, part: str, agent_id: str) -> Dismissed:
        make = partial(Dismissed, state=part, agent_id=agent_id)
        try:
            self.delete_agent(agent_id)
        except DcfError as error:
            return make(deleted=False, error=f"{error.code}: {error.message}")
        return make(deleted=True)


def _parts(staffing: Staffing) -> tuple[str, ...]:
    """Return the parts whose agents share the Task: one, or as many as it asks for."""
    first = staffing.state if staffing.shared is None else f"pool:{staffing.shared}"
    return first, *(f"copy {number} of {first}" for number in range(2, staffing.copies + 1))


def _first_of_each(staffing: Sequence[Staffing]) -> dict[str, Staffing]:
    parts: dict[str, Staffing] = {}
    for staff in staffing:
        for part in _parts(staff):
            parts.setdefault(part, staff)
    return parts


def _staffed(
    parts: Mapping[str, Sequence[str]], agents: Mapping[str, str], names: Mapping[str, str]
) -> tuple[Staffed, ...]:
    of_states = [(state, part) for state, several in parts.items() for part in several]
    return tuple(_one(state, agents[part], names) for state, part in of_states if part in agents)


def _one(state: str, agent_id: str, names: Mapping[str, str]) -> Staffed:
    return Staffed(state=state, agent_id=agent_id, agent_name=names.get(agent_id, agent_id))
