"""Reads whom a workflow or an agent asks: persons and groups by name. Pure; it must not know what they are asked.

Human tasks, questions and gates name people in the same way, so what they share is below all three.
"""

from collections.abc import Mapping
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_id
from dcf.values.json_text import Json
from dcf.values.records import record

MOST_NAMES: Final = 100


@record(frozen=True, slots=True, kw_only=True)
class Askees:
    """Whom a task is for: persons (or agents) by id, and groups by name. Any one of them may answer."""

    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The ids and names under which they are notified: a group has an inbox of its own name."""
        return tuple(dict.fromkeys((*self.people, *self.groups)))

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the lists of what waits for them, besides that of all and that of the run."""
        return (*(f"person:{name}" for name in self.people), *(f"group:{name}" for name in self.groups))

    @property
    def listed(self) -> list[str | Mapping[str, str]]:
        """As JSON: the people, and each group as an object."""
        return [*self.people, *({"group": name} for name in self.groups)]

    @property
    def is_empty(self) -> bool:
        """True if there is no person and no group."""
        return not self.people and not self.groups

    def plus(self, more: "Askees") -> "Askees":
        """Return these and others, each once."""
        return Askees(
            people=tuple(dict.fromkeys((*self.people, *more.people))),
            groups=tuple(dict.fromkeys((*self.groups, *more.groups))),
        )


def read_askees(value: Json, field: str) -> Askees:
    """Read whom a question is for; raise InvalidArgument for anything else."""
    try:
        return askees_of(value, field)
    except ValueError as error:
        raise InvalidArgument(f"{error}.", 'Name people: ["alice", {"group": "finance"}].') from None


def askees_of(value: Json, field: str) -> Askees:
    """Read the persons and groups of a field; raise ValueError for anything else."""
    named = value if isinstance(value, list) else [value]
    if len(named) > MOST_NAMES:
        raise ValueError(f"{field} names more than {MOST_NAMES}")
    people = [check_id(person, f"a person in {field}") for person in named if isinstance(person, str)]
    groups = [group["group"] for group in named if isinstance(group, dict) and group.keys() == {"group"}]
    if len(people) + len(groups) != len(named) or not named or not all(isinstance(group, str) for group in groups):
        raise ValueError(f'{field} must be the id of a person, {{"group": "name"}}, or an array of these')
    return Askees(
        people=tuple(dict.fromkeys(people)),
        groups=tuple(dict.fromkeys(check_id(group, f"a group in {field}") for group in groups)),
    )
