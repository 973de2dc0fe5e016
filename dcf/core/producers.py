"""Who completed the states that led to a state, by the history of the run: for tasks that they must not answer. Pure.

What led to a state is read off the workflow: the states from which control may come to it, and what is inside those
that are Parallel or Map. Beside it, in other branches and iterations, others may have worked. The state itself does not
count: whoever asked for a better version may judge the next one.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dcf.asl.machine import Machine
from dcf.asl.places import resolve
from dcf.asl.state_paths import join, name_of, within
from dcf.values.json_text import Json

CONCLUDED: Final = "StateConcluded"
CREATED: Final = "RunCreated"
_KEY: Final = "key:"


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


def by_callback(key: str) -> str:
    """Return under which name it is noted that a task token was used with this key."""
    return f"callback {key}"


class Producers:
    """Collects from the events of a run, oldest first, who completed the states at `led_here`.

    `found` has the name of each person or agent with the state; whoever wrote a result by hand counts by their key,
    and whoever used a task token by theirs (`by_callback`).
    `taken_from` is the run whose results this one took over, if it is a rerun from a later state.
    """

    def __init__(self, path: str, before: tuple[str, ...]) -> None:
        self._name = name_of(path)
        self._before = before
        self._holders: dict[str, str] = {}
        self.found: dict[str, str] = {}
        self.taken_from: str | None = None

    def saw(self, type_: str, state: str | None, data: Mapping[str, Json], by: str | None) -> None:
        """Note an event, if it tells of somebody who completed such a state, or where results were taken over."""
        if type_ == CREATED and "from" in data:
            self.taken_from = str(data["rerun_of"])
        if state is None or not self._is_before(state):
            return
        if type_ == "LeaseAcquired" and isinstance(data.get("owner"), str):
            self._holders[state] = str(data["owner"])
        elif type_ == "StateSucceeded" and state in self._holders:
            self.found[self._holders.pop(state)] = state
        elif type_ == CONCLUDED:
            self._concluded(state, data, by)
        elif type_ == "ResultCorrected" or (type_ == "StateResolved" and data.get("how") == "output"):
            self._holders.pop(state, None)
            if by is not None and by.startswith(_KEY):
                self.found[by] = state

    def _concluded(self, state: str, data: Mapping[str, Json], by: str | None) -> None:
        """Note who answered. Of a callback also who had handed the token out, and so could use it too."""
        holder = self._holders.pop(state, None)
        if isinstance(data.get("answered_by"), str):
            self.found[str(data["answered_by"])] = state
        elif data.get("via") == "callback" and data.get("how") == "output":
            self.found |= {} if holder is None else {holder: state}
            self.found |= {} if by is None else {by_callback(by): state}

    def _is_before(self, state: str) -> bool:
        if name_of(state) == self._name:
            return False
        return any(state == one or within(state, one) for one in self._before)
