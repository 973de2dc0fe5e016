"""The form of a merged tool: the verbs that it replaces, and how a call chooses one. It must not import the verbs."""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TypeAlias

from dcf.values.json_text import Json
from dcf.values.records import record

Call: TypeAlias = tuple[str, dict[str, Json]]
"""The name of a tool, and its arguments."""


@record(frozen=True, eq=False)
class Choice:
    """A verb that a call of a merged tool may mean: the first choice of a tool that fits a call is meant.

    It fits where the arguments of `by` have these values, and those of `given` have any. The verb does not get those of
    `by`; it gets what is `fixed` besides. `names` has the verb's name of each argument that is called otherwise.
    """

    verb: str
    by: Mapping[str, Json] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Json] = field(default_factory=dict)

    def fits(self, arguments: Mapping[str, Json]) -> bool:
        """Return True if a call with these arguments may mean this verb."""
        chosen = all(is_value(value, arguments.get(name)) for name, value in self.by.items())
        return chosen and all(arguments.get(name) is not None for name in self.given)

    def makes(self, arguments: Mapping[str, Json]) -> bool:
        """Return True if this choice is how a model makes a call of the verb with these arguments."""
        return all(is_value(value, arguments.get(name, value)) for name, value in self.fixed.items())

    @property
    def outer_names(self) -> Mapping[str, str]:
        """The merged tool's name of each argument of the verb that is called otherwise."""
        return {inner: name for name, inner in self.names.items()}

    def outer(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Return the arguments of the merged tool for those of the verb."""
        outer = self.outer_names
        own = {outer.get(name, name): value for name, value in arguments.items() if name not in self.fixed}
        return {**self.by, **own}

    def in_words(self, others: Collection[str] = ()) -> str:
        """Say in words how a call chooses this verb, but for arguments that it has."""
        parts = [f"{name} {_written(value)}" for name, value in self.by.items()]
        return " and ".join((*parts, *(name for name in self.given if name not in others)))


@record(frozen=True, kw_only=True, eq=False)
class Merge:
    """A tool that stands for the verbs of its choices.

    `about` has the descriptions of arguments that choose, or that mean more than in one of the verbs. `unlisted` are
    arguments that are in no list, although a verb's own list has them.
    """

    name: str
    documentation: str
    lists: tuple[str, ...]
    choices: tuple[Choice, ...]
    about: Mapping[str, str] = field(default_factory=dict)
    unlisted: tuple[str, ...] = ()


def is_value(value: Json, sent: Json) -> bool:
    """Return True for the same JSON value: `1` is not `true`."""
    return type(value) is type(sent) and value == sent


def _written(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else f"'{value}'"
