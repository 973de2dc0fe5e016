"""What must be read before a state is left: its document, the scopes around it, and of the rest only what can matter.

Worked out from the definition alone, so that one packet of reads suffices; the rare case in which that was too little
is answered with `More`. Pure.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from dcf.asl.mapping import MAX_CONCURRENCY
from dcf.asl.places import Place, resolve
from dcf.asl.state_paths import join, open_scope, split_scope
from dcf.asl.states import Map
from dcf.asl.templates import Literal
from dcf.core.decision import More, Reads
from dcf.core.definition import Definition
from dcf.core.model import Status
from dcf.core.progress import Update
from dcf.core.scopes import with_scopes

_MOST = 200
"""Documents of earlier visits that are read; beyond them only replies to repeated requests are lost."""


def place_of(definition: Definition, path: str) -> Place | None:
    """Find the state that a path names; None if the workflow has none."""
    try:
        return resolve(definition.machine, path)
    except KeyError:
        return None


def to_update(definition: Definition, request: Update) -> Reads:
    """List what a holder's write needs."""
    here = place_of(definition, request.state)
    if here is None:
        return Reads()
    if request.status not in (Status.SUCCEEDED, Status.FAILED):
        return Reads(states=with_scopes([request.state]))
    return to_leave(
        definition,
        here,
        fails=request.status is Status.FAILED,
        entries=(here.path,) if here.state.is_leased and definition.needs_entry(here) else (),
        outputs=() if request.has_output else (here.path,),
        agents=_to_claim(definition, here) if request.claim_ttl_s is not None else (),
    )


def to_end(
    definition: Definition, path: str, size: int | None = None, by: str | None = None, *, claims: bool = False
) -> Reads:
    """List what ending a state needs that nobody writes the end of, or going on with one.

    A Parallel or Map is gone on with when it waited to be entered; `size` is how many branches or iterations it had,
    where that is known. `by` is the state whose completion led to it.
    """
    here = place_of(definition, path)
    if here is None:
        return Reads()
    needed = to_leave(
        definition,
        here,
        fails=True,
        entries=(path,),
        agents=_to_claim(definition, here) if claims else (),
        opened=_inside(definition, here, size),
    )
    return needed if by is None else replace(needed, states=tuple(dict.fromkeys((*needed.states, by))))


def to_leave(
    definition: Definition,
    here: Place,
    *,
    fails: bool,
    entries: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    agents: tuple[str, ...] = (),
    opened: Iterable[str] = (),
) -> Reads:
    """List what going on from a state needs; `fails` when the scopes around may have to be closed.

    `opened` are states inside it that are opened in the same transaction, and may have been before.
    """
    states = with_scopes([here.path, *islice(chain(opened, _opened_before(definition, here)), _MOST)])
    if not here.scope:
        return Reads(states=states, entries=entries, outputs=outputs, agents=agents)
    owner, index = split_scope(here.scope)
    around = resolve(definition.machine, owner).state
    items: tuple[tuple[str, int], ...] = ()
    scopes = here.parents if fails else ()
    if isinstance(around, Map):
        # Whatever it leads to may be over at once, a Wait of no time or a Map of no items, and the iteration with it.
        scopes = scopes or ((owner,) if needs_record(definition, around) else ())
        if fails or here.machine.next_open(here.name)[1]:
            items = ((owner, index + _concurrency(around)),)
    return Reads(
        states=states,
        entries=entries,
        outputs=outputs,
        agents=agents,
        scopes=scopes,
        items=items,
        tallies=(owner,) if fails and _bears_failures(around) else (),
    )


def to_join(
    definition: Definition, path: str, size: int, by: str | None = None, *, claims: bool = False, opens: bool = False
) -> Reads:
    """List what joining a scope of that many branches or iterations needs, or closing it.

    `opens` is for a Map that is opened with the items that were read for it; `by` is the state whose completion led
    to it.
    """
    here = place_of(definition, path)
    if here is None:
        return Reads()
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


def add(reads: Reads, more: More) -> Reads:
    """Read more."""
    return replace(
        reads,
        scopes=tuple(dict.fromkeys((*reads.scopes, *more.scopes))),
        items=tuple(dict.fromkeys((*reads.items, *more.items))),
    )


def needs_record(definition: Definition, state: Map) -> bool:
    """Tell whether opening an iteration reads what was fixed when the Map was entered."""
    return definition.stateful or (state.selector is not None and state.batcher is None)


def _to_claim(definition: Definition, here: Place) -> tuple[str, ...]:
    """List the Tasks that may be opened next, by name: in the next iteration too, if this one may end."""
    following = (here.name, *here.machine.tasks_after(here.name))
    if not here.scope or not here.machine.next_open(here.name)[1]:
        return following
    around = resolve(definition.machine, split_scope(here.scope)[0])
    if isinstance(around.state, Map):
        following += around.state.processor.tasks_after(None)
    return following + _to_claim(definition, around)


def _opened_before(definition: Definition, here: Place) -> Iterator[str]:
    """List the states that may be opened next and may have been visited before, so that their replies are kept."""
    for name in here.machine.next_open(here.name)[0]:
        path = join(here.scope, name)
        place = resolve(definition.machine, path)
        if definition.may_be_entered_again(place):
            yield path
            yield from _inside(definition, place)


def _may_have_been_open(definition: Definition, here: Place) -> bool:
    """Tell whether a Map that is about to be opened may have been open before: in a loop, or before a retry."""
    return definition.may_be_entered_again(here) or bool(here.state.retriers)


def _inside(definition: Definition, place: Place, size: int | None = None) -> Iterator[str]:
    """List the states that opening a scope opens with it; `size` is how many branches or iterations it has."""
    state, machines = place.state, place.state.machines
    if isinstance(state, Map):
        machines *= min(_concurrency(state), _concurrency(state) if size is None else size)
    for index, machine in enumerate(machines):
        start = machine.start_at
        for name in (start,) if machine.states[start].stays else machine.next_open(start)[0]:
            path = join(open_scope(place.path, index), name)
            yield path
            yield from _inside(definition, resolve(definition.machine, path))


def _bears_failures(state: object) -> bool:
    return isinstance(state, Map) and not (state.tolerated_count is None and state.tolerated_percentage is None)


def _concurrency(state: Map) -> int:
    """Guess how many iterations run at once; where it is worked out at run time the guess may be wrong."""
    found = state.concurrency.value if isinstance(state.concurrency, Literal) else None
    return int(found) if isinstance(found, int | float) and found >= 1 else MAX_CONCURRENCY
