"""The agents that completed the states before a state, by the history: for tasks that they must not answer. Pure.

The states before a state are read off the workflow: the states from which control may come to it, and those inside them
if they are Parallel or Map. In other branches and iterations, other agents may have worked. The state itself does not
count: an agent that asked for a better version may judge the next one.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeGuard

from dcf.asl.machine import Machine
from dcf.asl.places import resolve
from dcf.asl.state_paths import join, name_of, within
from dcf.core.access.model import KEY_CALLER
from dcf.values.json_text import Json

CONCLUDED: Final = "StateConcluded"
CREATED: Final = "RunCreated"


def led_here(machine: Machine, path: str) -> tuple[str, ...]:
    """Return the paths of the states from which control may come to this one, at each level around it."""
    here = resolve(machine, path)
    places = [resolve(machine, owner) for owner in here.parents]
    return tuple(join(place.scope, name) for place in (here, *places) for name in _before(place.machine, place.name))


def _before(machine: Machine, name: str) -> Iterator[str]:
    seen, pending = {name}, [name]
    while pending:
        for source in machine.upstream(pending.pop()):
            if source not in seen:
                seen.add(source)
                pending.append(source)
                yield source


class Producers:
    """Collects from the events of a run, oldest first, who completed the states at `led_here`.

    `by` has the name of each person or agent with the state, and the key that they used: a key counts as one person.
    A lease holder is known by the key that acquired the lease and by the key that submitted, unless a reviewer
    completed the state in between. `names` has the names under which each key acted, in any state of the run.
    `taken_from` is the run whose results this one took over, if it is a rerun from a later state.
    """

    def __init__(self, path: str, before: tuple[str, ...]) -> None:
        self._name = name_of(path)
        self._before = before
        self._holders: dict[str, set[str]] = {}
        self._judged: set[str] = set()
        self.by: dict[str, str] = {}
        self.names: dict[str, set[str]] = {}
        self.taken_from: str | None = None

    def saw(self, type_: str, state: str | None, data: Mapping[str, Json], by: str | None) -> None:
        """Note an event, if an agent completed such a state with it, or if it says where results were taken over."""
        if type_ == CREATED and "from" in data:
            self.taken_from = str(data["rerun_of"])
        name = {"LeaseAcquired": data.get("owner"), CONCLUDED: data.get("answered_by")}.get(type_)
        if isinstance(name, str) and _is_key(by):
            self.names.setdefault(by, set()).add(name)
        if state is not None and self._is_before(state):
            self._saw_producer(type_, state, data, by)

    def _saw_producer(self, type_: str, state: str, data: Mapping[str, Json], by: str | None) -> None:
        if type_ == "LeaseAcquired" and isinstance(data.get("owner"), str):
            self._judged.discard(state)
            self._holders[state] = {str(data["owner"]), *_keys(by)}
        elif type_ == "GateOpened" and state in self._holders and state not in self._judged:
            self._judged.add(state)  # the first of a visit is opened by the worker that submits
            self._holders[state] |= _keys(by)
        elif type_ == "StateSucceeded" and state in self._holders:
            handed_in = set() if state in self._judged else _keys(by)
            self._add(state, self._holders.pop(state) | handed_in)
        elif type_ == CONCLUDED:
            self._concluded(state, data, by)
        elif type_ == "ResultCorrected" or (type_ == "StateResolved" and data.get("how") == "output"):
            self._holders.pop(state, None)
            self._add(state, _keys(by))

    def _concluded(self, state: str, data: Mapping[str, Json], by: str | None) -> None:
        """Note who answered. Of a callback also who had handed the token out, and so could use it too."""
        holder = self._holders.pop(state, set())
        if isinstance(data.get("answered_by"), str):
            self._add(state, {str(data["answered_by"]), *_keys(by)})
        elif data.get("via") == "callback" and data.get("how") == "output":
            self._add(state, holder | _keys(by))

    def _add(self, state: str, identities: Iterable[str]) -> None:
        self.by |= dict.fromkeys(identities, state)

    def _is_before(self, state: str) -> bool:
        if name_of(state) == self._name:
            return False
        return any(state == earlier or within(state, earlier) for earlier in self._before)


def _is_key(by: str | None) -> TypeGuard[str]:
    return by is not None and by.startswith(KEY_CALLER)


def _keys(by: str | None) -> set[str]:
    return {by} if _is_key(by) else set()
