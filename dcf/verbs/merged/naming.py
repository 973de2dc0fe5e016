"""Says which call of a tool on a list does what a call of a verb does."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from dcf.values.json_text import Json
from dcf.verbs.merged.choices import Call, Choice
from dcf.verbs.merged.merges import MERGES, REPLACED
from dcf.verbs.wording.calls import CALLS

_CHOICES: Final[Mapping[str, tuple[tuple[str, Choice], ...]]] = {
    verb: tuple((merge.name, choice) for merge in MERGES for choice in merge.choices if choice.verb == verb)
    for verb in {choice.verb for merge in MERGES for choice in merge.choices}
}
RETIRED: Final = (frozenset(_CHOICES) | frozenset(REPLACED)) - {merge.name for merge in MERGES}
"""Verbs that merged tools stand for: programs call them by name, and no list has them."""


def offered(verb: str, arguments: Mapping[str, Json]) -> Call:
    """Return the call of a tool on a list that does what a call of a verb does.

    A call with an argument that no tool on a list has stays what it is: the verb can be called by its name.
    """
    if verb in REPLACED and arguments.keys() <= {*CALLS[REPLACED[verb].verb].arguments.split()}:
        choice = REPLACED[verb]
        return choice.verb, {**choice.outer(arguments), **choice.fixed}
    if verb not in _CHOICES:
        return verb, dict(arguments)
    tool, choice = _chosen(verb, arguments)
    return tool, choice.outer(arguments)


def still_needed(verb: str, arguments: Mapping[str, Json]) -> list[str]:
    """Return the arguments that a call of the tool needs besides, so that it means the verb: any value will do."""
    tool, choice = _chosen(verb, arguments)
    sent = choice.outer(arguments)
    return [] if tool == verb else [name for name in choice.given if name not in sent]


@cache
def outer_names(tool: str, verb: str) -> Mapping[str, str]:
    """Return the tool's names of the verb's arguments, where they differ."""
    choices = (choice for name, choice in _CHOICES.get(verb, ()) if name == tool)
    return {inner: name for choice in choices for inner, name in choice.outer_names.items()}


def _chosen(verb: str, arguments: Mapping[str, Json]) -> tuple[str, Choice]:
    """Return the tool and the choice for a call; of a verb that is on lists itself, the verb."""
    fitting = [(name, choice) for name, choice in _CHOICES.get(verb, ()) if choice.makes(arguments)]
    return max(fitting, key=lambda item: _closeness(item[1], arguments), default=(verb, Choice(verb)))


def _closeness(choice: Choice, arguments: Mapping[str, Json]) -> tuple[bool, bool, bool]:
    """Rate a choice for a call: its fixed arguments are sent, else it has none; then, the call has all that it needs.

    Of the same rate the first counts.
    """
    sent = bool(choice.fixed) and all(name in arguments for name in choice.fixed)
    return sent, not choice.fixed, choice.outer(arguments).keys() >= {*choice.given}
