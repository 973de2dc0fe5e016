"""Finds the calls and arguments that a sentence names in backticks, and has an interface write them its own way.

Hints and other texts write a verb as a call in backticks, and an argument too: `cancel_run`, `hold_run(hold=false)`,
`every_s`, `blocks=false`. So a text goes over the wire as it is: a model reads it, and other interfaces find in it what
they say differently. Arguments that are not written are those of the call that the sentence answers.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from dcf.values.json_text import Json
from dcf.verbs.wording.calls import CALLS

_NAMED: Final = re.compile(r"`([a-z][a-z_]*)(?:\(([^`]*)\)|=([^`]*))?`")
_ARGUMENT: Final = re.compile(r'([a-z_]+)=("[^"]*"|[^,]*)')
_OF_SEVERAL_WORDS: Final = re.compile(r"(?<![`\w])[a-z]+(?:_[a-z]+)+(?![`\w])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a verb. `known` are arguments that belong to it where the verb needs them."""

    verb: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    known: Mapping[str, Json] = field(default_factory=dict)

    def value(self, name: str) -> Json:
        """Return the value of an argument; None where nothing says it."""
        return self.arguments[name] if name in self.arguments else self.known.get(name)


class Language(Protocol):
    """How an interface writes a call, and an argument of a verb."""

    def call(self, call: Call) -> str | None:
        """Return the call as the interface has it; None if the interface has no such call."""
        ...

    def argument(self, verb: str, name: str) -> str | None:
        """Return an argument of the verb as the interface has it; None if its name is the same there."""
        ...

    def value(self, verb: str, name: str, value: Json) -> str | None:
        """Return an argument of the verb with its value; None if that is written the same there."""
        ...


def worded(text: str, language: Language, verb: str | None = None, known: Mapping[str, Json] | None = None) -> str:
    """Return a text in the words of an interface: what was said to a call of the verb with these arguments."""
    own = CALLS[verb].arguments.split() if verb is not None and verb in CALLS else ()

    def written(named: re.Match[str]) -> str:
        name, inside, value = named.groups()
        if name in own:
            assert verb is not None, "no verb has no arguments"
            said = language.argument(verb, name) if value is None else language.value(verb, name, _value(value))
        elif name in CALLS and value is None:
            said = language.call(Call(verb=name, arguments=_arguments(inside or ""), known=known or {}))
        else:
            said = None
        return said or named[0]

    return _NAMED.sub(written, text)


def message_worded(text: str, language: Language, verb: str) -> str:
    """Return the message of a refusal, where the names of the verb's arguments stand without backticks.

    Only names of several words are taken for those of arguments: others are words of English as well.
    """
    known = set(CALLS[verb].arguments.split()) if verb in CALLS else set()

    def written(name: re.Match[str]) -> str:
        said = language.argument(verb, name[0]) if name[0] in known else None
        return name[0] if said is None else said.strip("`")

    return _OF_SEVERAL_WORDS.sub(written, text)


def named_in(text: str) -> list[tuple[str, Mapping[str, Json]]]:
    """Return what a text names in backticks, each with the arguments that stand beside it."""
    return [
        (name, _arguments(inside) if inside else {} if value is None else {name: _value(value)})
        for name, inside, value in (named.groups() for named in _NAMED.finditer(text))
    ]


def _arguments(inside: str) -> dict[str, Json]:
    return {name: _value(value.strip()) for name, value in _ARGUMENT.findall(inside)}


def _value(text: str) -> Json:
    """Return a value as it is meant; a word without quotes is a text."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value
