"""The type of the answer of a person, as the compiler knows it: its form, and whether a person gave it."""

from typing import Any

from dcf.steps.value_types import ANY, STR, ValueType, optional, type_of
from dcf.steps.vocabulary import Answer
from dcf.values.records import replace


def answer_type(output: Any, *, has_default: bool) -> ValueType:
    """Return the type of an answer whose `answer` is `output`, or None to `reject`.

    Without a default choice, a person always answers: `answered_by` is a text.
    """
    kind, own = type_of(Answer), type_of(output)
    types = {"answer": own if own == ANY else optional(own)} | ({} if has_default else {"answered_by": STR, "at": STR})
    fields = tuple(replace(field, type=types.get(field.name, field.type)) for field in kind.fields)
    return replace(kind, fields=fields)
