"""Adds units and groups to an open run. All of a request is checked before anything is written.

Pure. The request is refused as a whole: a name that is taken, an unknown dependency, a circle, a claim that
cannot be granted leave nothing behind.
"""

from collections.abc import Sequence

from dcf.asl.steps import Entry
from dcf.core.completing.transition import Transition
from dcf.core.definitions.model import Definition
from dcf.core.documents.answers import Leased
from dcf.core.documents.decision import Decision, Event, More, Snapshot
from dcf.core.documents.kinds import GROUP
from dcf.core.documents.model import Lease, RunStatus, StateDoc, StateInput
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.documents.refusals import RUN_CLOSED
from dcf.core.leasing.lease import Acquire, acquire
from dcf.features.growing.checks import first_wrong, in_order
from dcf.features.growing.counts import GROWTH, Growth
from dcf.features.growing.definition import following_sha256, units_of
from dcf.features.growing.model import UNITS, NewUnit, Units, found_by, write_unit
from dcf.features.growing.progress import open_unit, settled
from dcf.features.growing.refusals import NOT_GROWING, refused_units
from dcf.values.digest import next_token
from dcf.values.instants import to_text
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class AddUnits:
    """Request to add units. Those with `claim` are leased to `owner` in the same transaction.

    `token` is the caller's; each lease has a token of its own that follows from it and the unit's name.
    """

    units: tuple[NewUnit, ...]
    owner: str = ""
    token: str = ""
    ttl_s: int = 300

    def arguments(self) -> dict[str, Json]:
        """Return the parts of the request that identify a repetition."""
        units: list[Json] = [[unit.unit.name, unit.unit.content, unit.claim] for unit in self.units]
        joining: dict[str, Json] = {joined_unit.unit.name: list(joined_unit.agents) for joined_unit in self.joining}
        return {"units": units, "owner": self.owner, **({"joining": joining} if joining else {})}

    @property
    def joining(self) -> tuple[NewUnit, ...]:
        """The groups that agents are to join."""
        return tuple(unit for unit in self.units if unit.unit.is_group and unit.agents)

    @property
    def joined(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(joined_unit.unit.name for joined_unit in self.joining)

    @property
    def claimed(self) -> tuple[str, ...]:
        """The names of the units that the caller takes."""
        return tuple(unit.unit.name for unit in self.units if unit.claim)

    def size(self) -> int:
        """Return how many bytes of the caller's it stores."""
        return sum(byte_length(unit.given) + byte_length(write_unit(unit.unit)) for unit in self.units)

    def lease_on(self, name: str) -> Acquire:
        """Return the request for the lease on one of them."""
        return Acquire(state=name, owner=self.owner, token=next_token(self.token, name), ttl_s=self.ttl_s)


@record(frozen=True, slots=True, kw_only=True)
class Added:
    """The units are there. `outcome` is what was done, now or at the same request before; `leases` are the caller's."""

    outcome: RunAnswer
    leases: tuple[Leased, ...] = ()


def to_add(units: Units, wish: AddUnits) -> tuple[str, ...]:
    """Return the states that adding these units needs to read: they themselves, and those that they name."""
    names: dict[str, None] = {}
    for new_unit in wish.units:
        unit = new_unit.unit
        waits = () if unit.group is None else units.waits.get(unit.group, ())
        names |= dict.fromkeys(
            name for name in (unit.name, unit.group, unit.parent, *unit.depends_on, *waits) if name is not None
        )
    return tuple(names)


def add_units(
    snapshot: Snapshot, request: RunRequest, wish: AddUnits, definition: Definition
) -> Decision[Added | Refusal | More]:
    """Add the units that are new. Those that exist with the same content are found; other content is a conflict."""
    decision = once(snapshot, request, lambda: _add(snapshot, wish, definition, request))
    if not isinstance(decision.answer, RunAnswer):
        return Decision(answer=decision.answer)
    changes = decision.changes
    written = {} if changes is None else changes.states
    inputs = {unit.unit.name: unit.given for unit in wish.units}
    after = replace(snapshot, states={**snapshot.states, **written}, inputs={**inputs, **snapshot.inputs})
    leases = (_held(after, wish, name, is_new=name in written) for name in wish.claimed)
    leased = tuple(lease for lease in leases if lease is not None)
    return Decision(answer=Added(outcome=decision.answer, leases=leased), changes=changes)


def _add(snapshot: Snapshot, wish: AddUnits, definition: Definition, request: RunRequest) -> RunDecision:
    meta, units, growth = snapshot.existing_meta, units_of(definition), snapshot.part(GROWTH)
    if units is None or growth is None:
        return Decision(answer=NOT_GROWING.refuse())
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_CLOSED.refuse(status=meta.status))
    problems = first_wrong(wish.units, units, growth, snapshot.states)
    if problems:
        return Decision(answer=refused_units(problems))
    new = in_order([unit for unit in wish.units if unit.unit.name not in units.by_name], units)
    step = Transition(now=snapshot.now, epoch=snapshot.now, meta=meta, visited_before=snapshot.states)
    _write(step, new, units, growth, request)
    _join(step, wish.joining)
    refusal = _claim(step, snapshot, wish, new)
    if refusal is not None:
        return Decision(answer=refusal)
    names: list[Json] = [world.unit.name for world in new]
    existing: list[Json] = [unit.unit.name for unit in wish.units if unit.unit.name in units.by_name]
    answer: dict[str, Json] = {
        "added": names,
        "existing": existing,
        "ready": list(step.entered),
        "units": (step.writes.written(GROWTH) or growth).units,
    }
    return Decision(answer=RunAnswer(answer=answer, at=snapshot.now), changes=step.writes)


def _write(step: Transition, new: Sequence[NewUnit], units: Units, growth: Growth, request: RunRequest) -> None:
    """Write the new units with their documents, and open those that wait for nothing."""
    if not new:
        return
    added = units.plus(item.unit for item in new)
    for world in new:
        unit = world.unit
        growth = growth.opened(unit.group, unit.parent)
        if unit.is_group:
            growth = growth.with_count(unit.name, growth.of(unit.name))
        waits = {name: settled(step.current(name)) for name in added.waits[unit.name]}
        kind = GROUP if unit.is_group else None
        doc = StateDoc(lease=Lease(epoch=step.now), waits_for=waits, kind=kind, extra=found_by(unit))
        step.writes.states[unit.name] = doc
        step.writes.events.append(Event(type="UnitAdded", state=unit.name, data=_event_data(world, request)))
        if unit.is_group:
            continue
        entry = Entry(raw=world.given, variables={}, entered_at=to_text(step.now))
        step.writes.inputs[unit.name] = StateInput(entry=entry, effective=world.given)
        if world.agents:
            step.writes.agents[unit.name] = world.agents[0] if len(world.agents) == 1 else list(world.agents)
        else:
            step.writes.meta["for_anybody"] = True
        if doc.is_ready:
            open_unit(step, unit.name, doc, None)
    size = sum(byte_length(write_unit(item.unit)) for item in new)
    units_added = tuple(item.unit for item in new)
    step.writes.put(GROWTH, replace(growth, units=growth.units + len(new), bytes=growth.bytes + size))
    step.writes.put(UNITS, units_added)
    step.writes.meta["definition_sha256"] = following_sha256(step.meta.definition_sha256, units_added)
    agents = dict.fromkeys(agent for item in new for agent in item.agents)
    step.writes = replace(step.writes, assigned=tuple(agents))


def _join(step: Transition, groups: Sequence[NewUnit]) -> None:
    """Have agents join the groups that they are not in yet."""
    for group in groups:
        name, before = group.unit.name, step.meta.assigned(group.unit.name)
        members = tuple(dict.fromkeys((*before, *group.agents)))
        if members != before:
            step.writes.agents[name] = list(members)
            joining: list[Json] = [agent for agent in members if agent not in before]
            step.writes.events.append(Event(type="AgentsJoined", state=name, data={"agents": joining}))
            step.writes = replace(step.writes, assigned=tuple(dict.fromkeys((*step.writes.assigned, *members))))


def _event_data(new_unit: NewUnit, request: RunRequest) -> dict[str, Json]:
    written = write_unit(new_unit.unit)
    shown = {name: written[name] for name in ("kind", "group", "parent", "depends_on", "title") if name in written}
    return request.told(**shown)


def _claim(step: Transition, snapshot: Snapshot, wish: AddUnits, new: Sequence[NewUnit]) -> Refusal | None:
    """Lease the units that the caller takes; return why one of them cannot be leased."""
    agents = {**step.meta.agents, **{world.unit.name: world.agents for world in new}}
    meta = replace(step.meta, agents=agents)
    for name in wish.claimed:
        claimed = replace(snapshot, meta=meta, states={**snapshot.states, **step.writes.states})
        taken = acquire(claimed, wish.lease_on(name))
        if isinstance(taken.answer, Refusal):
            return taken.answer
        if taken.changes is not None:
            step.writes.add(taken.changes)
            step.writes.notices[:] = [notice for notice in step.writes.notices if notice.state != name]
    return None


def _held(snapshot: Snapshot, wish: AddUnits, name: str, *, is_new: bool) -> Leased | None:
    """Return the lease of the caller on a unit, if it has it."""
    acquire, doc = wish.lease_on(name), snapshot.states.get(name)
    if doc is None or not doc.lease.is_held_with(acquire.token) or doc.status.is_terminal:
        return None
    return Leased(
        outcome="lease_acquired" if is_new else "lease_already_held",
        state=name,
        doc=doc,
        given=snapshot.inputs.get(name),
        entry_epoch=doc.entry_epoch,
    )
