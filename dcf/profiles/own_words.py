"""Messages of dcf's own tools in the words of a compatibility profile: its agents know no run, state or lease. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from dcf.profiles.profile import Failure

Words: TypeAlias = Sequence[tuple[str, str]]
"""Patterns and what takes their place, in this order."""

_QUOTED: Final = re.compile(r"('[^']*')")


def in_words(failure: Failure, words: Words, advice: Mapping[str, str]) -> Failure:
    """Return a failure in a profile's own words, with the advice for its code. What is quoted stays as it is."""
    message, hint = (_replaced(text, words) for text in (failure.message, failure.hint))
    return replace(failure, message=message, hint=advice.get(failure.code, hint))


def _replaced(text: str, words: Words) -> str:
    pieces = _QUOTED.split(text)
    pattern = "\0"
    plain = pattern.join(pieces[::2])
    for expected, own in words:
        plain = re.sub(expected, own, plain)
    quoted = iter(pieces[1::2])
    return re.sub(pattern, lambda _: next(quoted), plain)
