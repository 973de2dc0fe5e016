"""Tells the user of `dcf run` whom the run waits for, and the command that answers."""

from collections.abc import Callable, Mapping
from typing import Final

from dcf.cli.reading.notes import whom
from dcf.cli.text import clean
from dcf.values.json_text import Json

_HUMAN: Final = "Human"


class Waits:
    """The human tasks of a run; each is announced once for each visit."""

    def __init__(self, run_id: str, say: Callable[[str], None]) -> None:
        self._run_id = run_id
        self._say = say
        self._announced: set[tuple[str, Json]] = set()

    def saw(self, states: Mapping[str, Json]) -> None:
        """Say which states have begun to wait for a person, and how to answer."""
        for path, doc in states.items():
            visit = (path, doc.get("started_at"))
            if _waits(doc) and visit not in self._announced:
                self._announced.add(visit)
                command = f"dcf approve {self._run_id} {clean(path)} --as {_name(doc['asked'])}"
                self._say(f"{clean(path)} waits for {whom(doc['asked'])}. Answer in another terminal: {command}")


def waits_of(states: Mapping[str, Json]) -> tuple[str, ...]:
    """Return a sentence for each state that waits for a person."""
    return tuple(f"{clean(path)} waited for {whom(doc['asked'])}." for path, doc in states.items() if _waits(doc))


def _name(request: Mapping[str, Json]) -> str:
    """Return the arguments that say who answers; a name in capitals is to be filled in."""
    people, groups = request.get("to") or (), request.get("groups") or ()
    return clean(people[0]) if people else f"NAME --group {clean(groups[0])}" if groups else "NAME"


def _waits(doc: Mapping[str, Json]) -> bool:
    return doc.get("status") == "running" and doc.get("type") == _HUMAN and bool(doc.get("asked"))
