"""The engine: from a position in a run to the next Tasks and timers, or to the end of the run.

It does no I/O and keeps nothing between calls. The caller stores the answer, or discards it and asks again.

`visits` maps paths to stored records: of the state in question, and of every Parallel and Map around it. Each
record was stored when its state was entered. A failure of a state's data flow is part of the answer, never an
exception.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from dcf.asl.interpreter import EngineCall
from dcf.asl.machine import Machine, Map, Parallel, Place, Task, Wait
from dcf.asl.places import resolve
from dcf.asl.state_paths import join as path_of
from dcf.asl.steps import Advance, Ended, Entry, NeedItems, OpenScope, Paused, Visit
from dcf.asl.surroundings import Clock
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

Context: TypeAlias = Mapping[str, Json]
Visits: TypeAlias = Mapping[str, Visit]


def start(machine: Machine, run_input: Json, context: Context, clock: Clock) -> Advance:
    """Start a run."""
    run = EngineCall(machine=machine, context=context, clock=clock, visits={})
    run.go(machine, "", machine.start_at, None, run_input, {}, None)
    return run.advance()


def enter(
    machine: Machine,
    name: str,
    source: str | None,
    raw: Json,
    variables: Mapping[str, Json],
    context: Context,
    clock: Clock,
) -> Advance:
    """Start a run in another state than its first, as if the state at `source` had led there."""
    run = EngineCall(machine=machine, context=context, clock=clock, visits={})
    run.go(machine, "", name, source, raw, variables, None)
    return run.advance()


def put_off(
    machine: Machine, name: str, source: str | None, raw: Json, variables: Mapping[str, Json], now: str
) -> Advance:
    """Pause before a state of the machine itself; `wake` enters it."""
    entry, kind = Entry(raw=raw, variables=variables, entered_at=now), machine.states[name].kind()
    return Advance(steps=(Paused(path=path_of("", name), source=source, entry=entry, kind=kind),), outcome="open")


def reopen(
    machine: Machine,
    again: Mapping[str, Entry],
    fresh: Sequence[tuple[str, int]],
    visits: Visits,
    context: Context,
    clock: Clock,
) -> Advance:
    """Enter states of an ended run again, and restart branches or iterations of its scopes (path and index).

    `visits` has the scopes around all of them.
    """
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    for owner, index in reversed(fresh):
        run.begin_branch(owner, index)
    for path, entry in reversed(list(again.items())):
        run.again(_place(machine, path), entry)
    return run.advance()


def complete(machine: Machine, path: str, visits: Visits, result: Json, context: Context, clock: Clock) -> Advance:
    """Continue after the Task at `path` completed with `result`."""
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    here = _place(machine, path, Task)
    run.worked(here, _entry(visits, path), result)
    return run.advance()


def fail(
    machine: Machine,
    path: str,
    visits: Visits,
    error: str | None,
    cause: str | None,
    context: Context,
    clock: Clock,
) -> Advance:
    """Continue after a failure of the Task at `path`, or of a whole Parallel or Map.

    A Map fails as a whole when its items cannot be read, or when more iterations failed than it tolerates; if it is
    open, everything in it is cancelled.
    """
    here = _place(machine, path, Task, Parallel, Map)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    if isinstance(visits.get(path), OpenScope):
        run.close(path, error, cause)
    else:
        run.failed(here, _entry(visits, path), error, cause)
    return run.advance()


def skip(machine: Machine, path: str, visits: Visits, context: Context, clock: Clock) -> Advance:
    """Continue after the Task at `path` as if it were not there: its raw input is its output.

    That is what a null ResultPath does. Nothing is assigned, since there is no result.
    """
    here, entry = _place(machine, path, Task), _entry(visits, path)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    run.steps.append(Ended(path=path, output=entry.raw))
    run.follow(here, entry, here.state.next, entry.raw, entry.variables, 0)
    return run.advance()


def break_off(
    machine: Machine, path: str, visits: Visits, error: str | None, cause: str | None, context: Context, clock: Clock
) -> Advance:
    """Fail the state at `path` without its Retriers and Catchers; those of scopes around it apply."""
    here = _place(machine, path)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    run.broke(here, error, cause)
    return run.advance()


def wake(machine: Machine, path: str, visits: Visits, context: Context, clock: Clock) -> Advance:
    """Continue after a timer: a Wait has ended, or a retry of a state is due. Also continues after a pause."""
    here, entry = _place(machine, path), _entry(visits, path)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    if isinstance(here.state, Wait):
        run.waited(here, entry)
    else:
        run.again(here, entry)
    return run.advance()


def join(
    machine: Machine, path: str, visits: Visits, results: Sequence[Json], context: Context, clock: Clock
) -> Advance:
    """Continue after all branches or iterations of the scope at `path` ended; TOLERATED stands for failed ones."""
    here = _place(machine, path, Parallel, Map)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    run.joined(here, _entry(visits, path), list(results))
    return run.advance()


def open_item(machine: Machine, path: str, visits: Visits, index: int, context: Context, clock: Clock) -> Advance:
    """Start one iteration of the Map at `path`, which follows an earlier iteration whose failure was tolerated."""
    _place(machine, path, Map)
    opened = visits.get(path)
    if not isinstance(opened, OpenScope) or not 0 <= index < opened.size:
        raise InvalidArgument(f"'{path}' has no iteration {index}.")
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    run.open_iteration(path, index)
    return run.advance()


def wanted(machine: Machine, path: str, visits: Visits, context: Context, clock: Clock) -> NeedItems:
    """Return again what the Map at `path` needs to have read, after it answered with NeedItems."""
    here, entry = _place(machine, path, Map), _entry(visits, path)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    need_items = run.wanted(here, None, entry)
    if need_items is None:
        raise InvalidArgument(f"'{path}' reads no items.")
    return need_items


def supply_items(machine: Machine, path: str, visits: Visits, items: Json, context: Context, clock: Clock) -> Advance:
    """Open the Map at `path` with the items that its ItemReader read."""
    here = _place(machine, path, Map)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    run.supplied(here, _entry(visits, path), items)
    return run.advance()


def _place(machine: Machine, path: str, *kinds: type) -> Place:
    try:
        here = resolve(machine, path)
    except KeyError:
        raise InvalidArgument(f"'{path}' is no state of this workflow.") from None
    if kinds and not isinstance(here.state, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidArgument(f"'{path}' is not a {names} of this workflow.")
    return here


def _entry(visits: Visits, path: str) -> Entry:
    visit = visits.get(path)
    if visit is None:
        raise InvalidArgument(f"'{path}' is not open.")
    return visit.entry if isinstance(visit, OpenScope) else visit
