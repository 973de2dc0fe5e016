"""Works out what must be read before a state is left: its document, the scopes around it, and what may matter besides.

It follows from the definition alone, so one packet of reads nearly always suffices. Where it does not, the decision
answers `More`. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

from dcf.asl.expressions.templates import Literal
from dcf.asl.machine import Machine, Map, Parallel, Place, State, Task, Wait, Workable
from dcf.asl.mapping import MAX_CONCURRENCY
from dcf.asl.places import resolve
from dcf.asl.state_paths import join, open_scope, split_scope
from dcf.core.completing.updates import Update
from dcf.core.definitions.briefs import shows_input
from dcf.core.definitions.extensions import parts_to_end
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.answers import Updated
from dcf.core.documents.decision import More, ReadSet, Seeker
from dcf.core.documents.model import Status
from dcf.core.documents.parts import wanted_of
from dcf.values.digest import fingerprint
from dcf.values.records import replace
from dcf.values.refusal import Refusal

_OTHERS = 8
"""Open states among which a completion looks for a ready state, if it enters none itself."""

_LISTS: Final = ("states", "entries", "outputs", "briefed", "agents", "scopes", "items", "tallies", "receipts")
"""Rows of the reads of a write."""

_MOST = 200
"""Most documents of earlier visits that are read. For those beyond, stored answers to repeated requests are lost."""


def place_of(definition: Definition, path: str) -> Place | None:
    """Return the place of a state in the definition; None if there is no such state."""
    try:
        return resolve(definition.machine, path)
    except KeyError:
        return None


def to_update(definition: Definition, request: Update) -> ReadSet:
    """Return what a holder's write needs to read: of an ending one, worked out once for each state of a definition."""
    if request.status in (Status.SUCCEEDED, Status.FAILED):
        fails, most = request.status is Status.FAILED, 0 if request.claim_ttl_s is None else request.claim_most
        case = (request.state, fails, request.has_output, most)
        needed = definition.needed.get(case) or definition.keep_needed(case, _to_settle(definition, *case))
        return needed if needed.open_states is None else replace(needed, seeker=_seeker(request))
    if place_of(definition, request.state) is None:
        return ReadSet()
    known_by = request.key if request.is_partial else None
    receipts = () if known_by is None else ((request.state, known_by),)
    return ReadSet(states=with_scopes([request.state]), receipts=receipts)


def _seeker(request: Update) -> Seeker:
    mark = "" if request.token is None else fingerprint(request.token)
    return Seeker(most=request.claim_most, owner=request.owner or "", mark=mark)


def _to_settle(definition: Definition, path: str, fails: bool, has_output: bool, most: int) -> ReadSet:
    here = place_of(definition, path)
    if here is None:
        return ReadSet()
    is_judged = definition.is_gated and bool(definition.gates_of(here.path))  # a gate may fail the state
    if definition.units is not None:
        unit = _to_end_unit(definition, path, fails=fails, has_output=has_output, most=most)
        return replace(unit, briefed=_briefed(definition, path)) if is_judged else unit
    needed = to_leave(
        definition,
        here,
        fails=fails or is_judged,
        entries=(here.path,) if isinstance(here.state, Task) and definition.needs_entry(here) else (),
        outputs=() if has_output else (here.path,),
        agents=_to_claim(definition, here) if most else (),
    )
    parts = parts_to_end(definition, here.path) if definition.end_reads != () else {}
    if parts or is_judged:
        needed = replace(needed, parts=parts, briefed=_briefed(definition, here.path) if is_judged else ())
    if most > 1 or (most and _may_end_a_branch(definition, here)):
        return replace(needed, open_states=(0, most - 1 + _OTHERS))
    return needed


def _briefed(definition: Definition, path: str) -> tuple[str, ...]:
    """Name the state if the reviewer of its output is shown values of its input."""
    return (path,) if shows_input(definition, path) else ()


def _to_end_unit(definition: Definition, path: str, *, fails: bool, has_output: bool, most: int) -> ReadSet:
    """Return what the end of a unit needs to read: who waits for it, its group, and the counts of the run."""
    assert definition.units is not None, "just looked"
    group = definition.units.by_name[path].group
    followers = () if fails else definition.units.followers_of(path)
    return ReadSet(
        states=(path, *followers, *(() if group is None else (group,))),
        outputs=() if has_output else (path,),
        entries=followers if most else (),
        agents=(path, *followers) if most else (),
        parts=parts_to_end(definition, path),
        open_states=(0, most - 1 + _OTHERS) if most else None,
    )


def _may_end_a_branch(definition: Definition, here: Place) -> bool:
    """Return True if leaving the state may end a branch of a Parallel. The end of an iteration enters the next one."""
    if not here.scope or not here.machine.next_open(here.name)[1]:
        return False
    return isinstance(resolve(definition.machine, split_scope(here.scope)[0]).state, Parallel)


def to_end(definition: Definition, path: str, size: int | None = None) -> ReadSet:
    """Return what ending a state without a holder's write needs to read.

    A Parallel or Map ends like this when it waits to be entered again; `size` counts its branches or iterations, if
    known.
    """
    here = place_of(definition, path)
    if here is None:
        return ReadSet()
    if definition.units is not None:
        unit = _to_end_unit(definition, path, fails=False, has_output=True, most=0)
        needed = replace(unit, entries=(path,))
    else:
        needed = to_leave(definition, here, fails=True, entries=(path,), opened=_inside(definition, here, size))
        parts = parts_to_end(definition, path) if definition.end_reads != () else {}
        needed = replace(needed, parts=parts) if parts else needed
    is_judged = definition.is_gated and definition.gates_of(path)
    if not is_judged:
        return needed
    return replace(needed, outputs=(path,), briefed=_briefed(definition, path))


def to_leave(
    definition: Definition,
    here: Place,
    *,
    fails: bool,
    entries: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    agents: tuple[str, ...] = (),
    opened: Iterable[str] = (),
) -> ReadSet:
    """Return what leaving a state needs to read. `fails` if scopes around it may have to be closed.

    `opened` are states inside it that the same transaction opens and that may have been open before.
    """
    before = chain(
        opened,
        _opened_before(definition, here),
        _of_next_item(definition, here, fails=fails),
        _opened_by_failure(definition, here) if fails else (),
    )
    states = with_scopes([here.path, *islice(before, _MOST)])
    if not here.scope:
        return ReadSet(states=states, entries=entries, outputs=outputs, agents=agents, signals=definition.takes_signals)
    owner, index = split_scope(here.scope)
    around = resolve(definition.machine, owner).state
    items: tuple[tuple[str, int], ...] = ()
    scopes = here.parents if fails else ()
    if isinstance(around, Map):
        # A Wait of no time or a Map without items ends at once, and may end the iteration with it.
        scopes = scopes or ((owner,) if needs_record(definition, around) else ())
        if fails or here.machine.next_open(here.name)[1]:
            items = ((owner, index + _concurrency(around)),)
    return ReadSet(
        states=states,
        entries=entries,
        outputs=outputs,
        agents=agents,
        scopes=scopes,
        items=items,
        tallies=(owner,) if fails and _bears_failures(around) else (),
        signals=definition.takes_signals,
    )


def to_join(
    definition: Definition, path: str, size: int, by: str | None = None, *, claims: bool = False, opens: bool = False
) -> ReadSet:
    """Return what joining or closing a scope needs to read; `size` counts its branches or iterations.

    `opens` is for a Map that is opened with the items that were read for it; `by` is the state whose completion led
    to it.
    """
    here = place_of(definition, path)
    if here is None:
        return ReadSet()
    opened = _inside(definition, here) if opens and _may_have_been_open(definition, here) else ()
    needed = to_leave(definition, here, fails=True, opened=opened)
    return replace(
        needed,
        states=tuple(dict.fromkeys((*needed.states, *([] if by is None else [by])))),
        scopes=(path, *needed.scopes),
        tallies=(path, *needed.tallies),
        outputs=tuple(open_scope(path, index) for index in range(size)),
        agents=_to_claim(definition, here) if claims else (),
    )


def to_update_next(
    definition: Definition, requests: Sequence[Update], answers: Iterable[Updated | Refusal]
) -> ReadSet | None:
    """Return what completing the state will read that a completion has leased. None if it leased none or several.

    None also where others often change what will be read: the open states and the counts of branches.
    """
    claims = [claim for answer in answers if isinstance(answer, Updated) for claim in answer.claims]
    if len(requests) != 1 or len(claims) != 1:
        return None
    following = replace(requests[0], state=claims[0].state, status=Status.SUCCEEDED, has_output=True)
    reads = to_update(definition, following)
    return None if reads.open_states or reads.tallies else reads


def to_update_all(definition: Definition, requests: Sequence[Update]) -> ReadSet:
    """Return what several writes need to read: together what each of them needs."""
    needed = to_update(definition, requests[0])
    for request in requests[1:]:
        needed = _both(needed, to_update(definition, request))
    return needed


def by_name(reads: ReadSet, known: tuple[str, ...]) -> ReadSet:
    """Return the reads with these states, which are thought to be ready, in place of a page of the open states.

    Those that are read anyway, such as the one that is left, are not among them: another thread has taken them.
    """
    others = tuple(path for path in known if path not in reads.states) if known else ()
    if not others:
        return reads
    states = tuple(dict.fromkeys((*reads.states, *with_scopes(others))))
    return replace(reads, open_states=None, states=states, inputs=others, agents=(*reads.agents, *others))


def _both(reads: ReadSet, more: ReadSet) -> ReadSet:
    lists: dict[str, Any] = {row: tuple(dict.fromkeys((*getattr(reads, row), *getattr(more, row)))) for row in _LISTS}
    pages = [page for page in (reads.open_states, more.open_states) if page is not None]
    seeker = reads.seeker if more.open_states is None else more.seeker
    signals, parts = reads.signals or more.signals, wanted_of(reads.parts, more.parts)
    return replace(reads, open_states=max(pages, default=None), seeker=seeker, signals=signals, parts=parts, **lists)


def add(reads: ReadSet, more: More) -> ReadSet:
    """Return the reads with those that `more` asks for."""
    if more.page:
        others, seeker = tuple(path for path in reads.states if path not in reads.inputs), more.seeker or reads.seeker
        return replace(reads, states=others, inputs=(), seeker=seeker, open_states=(0, seeker.most - 1 + _OTHERS))
    return replace(
        reads,
        scopes=tuple(dict.fromkeys((*reads.scopes, *more.scopes))),
        items=tuple(dict.fromkeys((*reads.items, *more.items))),
        receipts=tuple(dict.fromkeys((*reads.receipts, *more.receipts))),
        states=tuple(dict.fromkeys((*reads.states, *more.states))) if more.states else reads.states,
        usage=reads.usage or more.usage,
        parts=wanted_of(reads.parts, more.parts),
    )


def needs_record(definition: Definition, state: Map) -> bool:
    """Return True if opening an iteration reads what was recorded when the Map was entered."""
    return definition.stateful or (state.selector is not None and state.batcher is None)


def _to_claim(definition: Definition, here: Place) -> tuple[str, ...]:
    """Name the Tasks that may be entered next, those of the next iteration included if this one may end."""
    following = (here.name, *here.machine.tasks_after(here.name))
    if not here.scope or not here.machine.next_open(here.name)[1]:
        return following
    around = resolve(definition.machine, split_scope(here.scope)[0])
    if isinstance(around.state, Map):
        following += around.state.processor.tasks_after(None)
    return following + _to_claim(definition, around)


def _opened_before(definition: Definition, here: Place) -> Iterator[str]:
    """Yield states that may be entered next and may have been visited before.

    Their documents are read so that their receipts are kept.
    """
    if not definition.revisits:
        return
    following = here.machine.next_open(here.name)[0]
    for place in _entered(definition, here.machine, here.scope, following):
        if definition.may_be_entered_again(place):
            yield place.path
            yield from _inside(definition, place)


def _opened_by_failure(definition: Definition, here: Place) -> Iterator[str]:
    """Yield states that may be entered next if the scopes around this one fail with it: a caught failure may loop."""
    if definition.revisits:
        for owner in here.parents:
            yield from _opened_before(definition, resolve(definition.machine, owner))


def _entered(definition: Definition, machine: Machine, scope: str, names: Iterable[str]) -> Iterator[Place]:
    """Yield these states, and those that the same transaction may enter after them."""
    seen: dict[str, None] = dict.fromkeys(names)
    pending = list(seen)
    for name in pending:
        place = resolve(definition.machine, join(scope, name))
        yield place
        if _may_be_over_at_once(place.state):
            following = [target for target in machine.next_open(name)[0] if target not in seen]
            seen |= dict.fromkeys(following)
            pending += following


def _may_be_over_at_once(state: State) -> bool:
    """Return True if the same transaction may enter the state and what follows it: a Wait of no time, an empty Map."""
    match state:
        case Wait(seconds=Literal(value=seconds)):
            return bool(seconds == 0)
        case Parallel(branches=branches):
            return not any(branch.states[branch.start_at].is_leased for branch in branches)
    return not state.is_leased


def _may_have_been_open(definition: Definition, here: Place) -> bool:
    """Return True if a Map about to be opened may have been open before: in a loop, or before a retry."""
    return definition.may_be_entered_again(here) or (isinstance(here.state, Map) and bool(here.state.retriers))


def _inside(definition: Definition, place: Place, size: int | None = None) -> Iterator[str]:
    """Yield the states that are entered when a scope is opened; `size` counts its branches or iterations, if known."""
    state = place.state
    if isinstance(state, Parallel):
        machines = list(state.branches)
    elif isinstance(state, Map):
        machines = [state.processor] * min(_concurrency(state), _concurrency(state) if size is None else size)
    else:
        return
    for index, machine in enumerate(machines):
        yield from _entered_first(definition, machine, open_scope(place.path, index))


def _of_next_item(definition: Definition, here: Place, *, fails: bool) -> Iterator[str]:
    """Yield what the next item of the Map around enters when this one ends, if that may have been open before."""
    if not here.scope or not (fails or here.machine.next_open(here.name)[1]):
        return
    owner, index = split_scope(here.scope)
    around = resolve(definition.machine, owner)
    if isinstance(around.state, Map) and _may_have_been_open(definition, around):
        scope = open_scope(owner, index + _concurrency(around.state))
        yield from _entered_first(definition, around.state.processor, scope)


def _entered_first(definition: Definition, machine: Machine, scope: str) -> Iterator[str]:
    """Yield the states that are entered when a branch or iteration begins."""
    start = machine.start_at
    names = (start,) if _waits(machine, start) else machine.next_open(start)[0]
    for place in _entered(definition, machine, scope, names):
        yield place.path
        yield from _inside(definition, place)


def _waits(machine: Machine, name: str) -> bool:
    return isinstance(machine.states[name], Workable)


def _bears_failures(state: object) -> bool:
    return isinstance(state, Map) and not (state.tolerated_count is None and state.tolerated_percentage is None)


def _concurrency(state: Map) -> int:
    """Return how many iterations run at once; the largest possible number if that is computed at run time."""
    written = state.concurrency.value if isinstance(state.concurrency, Literal) else None
    return int(written) if isinstance(written, int | float) and written >= 1 else MAX_CONCURRENCY
