"""Keeps the names of dcf's own tools and arguments out of the failures that the clients of a profile see.

A refusal of dcf names the tool that would help. A client of a profile does not have that tool. So a sentence of a hint
that names a foreign tool or argument is left out. In the message, the name of the called tool replaces it.
"""

import re
from collections.abc import Collection
from typing import Final

from dcf.profiles.profile import Failure, Profile
from dcf.values.records import replace

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_NAME: Final = re.compile(r"\b(?:[a-z][a-z0-9]*(?:_[a-z0-9]+)+|rerun)\b")
"""How names of tools and arguments look, which no other word does."""


def in_own_words(failure: Failure, profile: Profile, tool: str, native: Collection[str]) -> Failure:
    """Return a failure of a call of `tool` without names that the profile does not have; `native` are dcf's tools."""
    if not failure.is_native:
        return failure
    own = own_names(profile)

    def named_here(match: re.Match[str]) -> str:
        return tool if match[0] in native and match[0] not in own else match[0]

    sentences = [sentence for sentence in _SENTENCE.split(failure.hint) if own.issuperset(_NAME.findall(sentence))]
    hint = " ".join(sentences) or profile.advice
    return replace(failure, message=_NAME.sub(named_here, failure.message), hint=hint)


def own_names(profile: Profile) -> frozenset[str]:
    """Return the names of the tools of a profile and of their arguments."""
    models = [tool.arguments for tool in profile.tools.values()]
    arguments = {model_field.alias or name for model in models for name, model_field in model.model_fields.items()}
    return frozenset({*profile.tools, *arguments})
