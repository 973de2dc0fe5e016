"""The engine: from where a run stands to the next Tasks and timers, or to its end.

It does no I/O and keeps nothing between calls: the caller stores the answer, or throws it away and asks again.
`visits` maps the path of the state in question, and of every Parallel and Map around it, to what was stored when
it was opened. A failure of a state's data flow is an answer too, never an exception.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from dcf.asl.interpreter import EngineCall
from dcf.asl.machine import Machine, Map, Parallel, Task, Wait, Workable
from dcf.asl.places import Place, resolve, split_scope
from dcf.asl.steps import Advance, Entry, NeedItems, OpenScope, Visit
from dcf.asl.surroundings import Clock
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

Context: TypeAlias = Mapping[str, Json]
Visits: TypeAlias = Mapping[str, Visit]


def start(machine: Machine, run_input: Json, context: Context, clock: Clock) -> Advance:
    """Begin a run."""
    run = EngineCall(machine=machine, context=context, clock=clock, visits={})
    run.go(machine, "", machine.start_at, None, run_input, {}, None)
    return run.advance()


def complete(machine: Machine, path: str, visits: Visits, result: Json, context: Context, clock: Clock) -> Advance:
    """Go on after the Task at `path` came to `result`."""
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
    """Go on after the Task at `path` failed, or a Parallel or Map as a whole, such as one that could not read items."""
    here = _place(machine, path, Workable)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    if isinstance(visits.get(path), OpenScope):
        run.close(path, error, cause)
    else:
        run.failed(here, _entry(visits, path), error, cause)
    return run.advance()


def wake(machine: Machine, path: str, visits: Visits, context: Context, clock: Clock) -> Advance:
    """Go on now that a Wait is over, or the time of another try of a state has come; or after a pause."""
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
    """Go on after all branches or iterations of the scope at `path` ended; TOLERATED stands for failed ones."""
    here = _place(machine, path, Parallel, Map)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    run.joined(here, _entry(visits, path), list(results))
    return run.advance()


def branch_failed(
    machine: Machine,
    scope: str,
    visits: Visits,
    error: str | None,
    cause: str | None,
    context: Context,
    clock: Clock,
) -> Advance:
    """Close the Map of an iteration whose failure can no longer be tolerated."""
    owner, _ = _scope(scope)
    _place(machine, owner, Parallel, Map)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    run.close(owner, error, cause)
    return run.advance()


def open_item(machine: Machine, path: str, index: int, visits: Visits, context: Context, clock: Clock) -> Advance:
    """Start one iteration of the Map at `path`, after an earlier one of its lane was tolerated to fail."""
    _place(machine, path, Map)
    opened = visits.get(path)
    if not isinstance(opened, OpenScope) or not 0 <= index < opened.size:
        raise InvalidArgument(f"'{path}' has no iteration {index}.")
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    run.open_iteration(path, index)
    return run.advance()


def wanted(machine: Machine, path: str, visits: Visits, context: Context, clock: Clock) -> NeedItems:
    """Tell once more what the Map at `path` wants read, after it answered with NeedItems."""
    here, entry = _place(machine, path, Map), _entry(visits, path)
    run = EngineCall(machine=machine, context=context, clock=clock, visits=visits)
    found = run.wanted(here, None, entry)
    if found is None:
        raise InvalidArgument(f"'{path}' reads no items.")
    return found


def supply_items(machine: Machine, path: str, visits: Visits, items: Json, context: Context, clock: Clock) -> Advance:
    """Open the Map at `path` with what its ItemReader brought."""
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
    found = visits.get(path)
    if found is None:
        raise InvalidArgument(f"'{path}' is not open.")
    return found.entry if isinstance(found, OpenScope) else found


def _scope(scope: str) -> tuple[str, int]:
    try:
        return split_scope(scope)
    except ValueError:
        raise InvalidArgument(f"'{scope}' is not a branch or an iteration.") from None
