"""Has an interface write the calls and arguments that a sentence names in backticks its own way.

Hints and other texts write a verb as a call in backticks, and an argument too: `cancel_run`, `hold_run(hold=false)`,
`every_s`, `blocks=false`. So a text goes over the wire as it is, and each interface finds in it what it says
differently. Arguments that are not written are those of the call that the sentence answers.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from dcf.values.json_text import Json
from dcf.verbs.wording.calls import CALLS
from dcf.verbs.wording.named import Named, rewritten

_WORD: Final = re.compile(r"(?<![`'\w])[a-z]+(?:_[a-z0-9]+)*(?![`'\w])")


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
    own = _arguments_of(verb)

    def replacement(named: Named) -> str | None:
        if verb is not None and named.name in own:
            if named.has_value:
                return language.value(verb, named.name, named.value)
            return language.argument(verb, named.name)
        if named.name in CALLS and not named.has_value:
            return language.call(Call(verb=named.name, arguments=named.arguments, known=known or {}))
        return None

    return rewritten(text, replacement)


def message_worded(text: str, language: Language, verb: str, words: Collection[str] = ()) -> str:
    """Return the message of a refusal, where the names of the verb's arguments stand without backticks.

    Only names of several words are taken for those of arguments, and `words`: others are words of English as well.
    """
    own = _arguments_of(verb)

    def renamed_argument(match: re.Match[str]) -> str:
        name = match[0]
        is_named = name in own and ("_" in name or name in words)
        return (language.argument(verb, name) or name).strip("`") if is_named else name

    return worded(_WORD.sub(renamed_argument, text), language, verb)


def _arguments_of(verb: str | None) -> Collection[str]:
    return CALLS[verb].arguments.split() if verb is not None and verb in CALLS else ()
