"""The refusal of a well-formed request, as a value, and the kinds of refusals, as rows of data. Pure.

Runs, documents and files use the same record. A kind is a code with two sentences. No function formats them but this.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from string import Formatter
from typing import Any, Final, Generic, Self, TypeVar

from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.names import escaped
from dcf.values.records import record
from dcf.values.text_pieces import clip, listed, named

Answer = TypeVar("Answer")


@record(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request was refused and nothing was changed.

    `code` is stable. `message` says what is wrong, `hint` what to do next. `retry_after_s` is set where waiting helps.
    `problems` lists all problems of the request, where there can be several.
    """

    code: str
    message: str
    hint: str
    retry_after_s: float | None = None
    problems: tuple[Mapping[str, Json], ...] = ()

    @classmethod
    def kind(cls, code: str, message: str, hint: str, **members: Any) -> "RefusalKind[Self]":
        """Return a kind of refusal: its code, the templates of its sentences, and members that are always the same."""
        return RefusalKind(cls, code, message, hint, members)


@record(frozen=True, slots=True)
class RefusalKind(Generic[Answer]):
    """A kind of refusal. `answer` is the type of the answer, which has `members`.

    `message` and `hint` are templates, as of `str.format`. A field may say how it is written: `{name:clipped}`,
    `{text:escaped 300}`, `{at:time}`, `{names:list 10}`, `{states:named}`.
    """

    answer: Callable[..., Answer]
    code: str
    message: str
    hint: str
    members: Mapping[str, Any] = field(default_factory=dict)

    def refuse(self, **fields: Any) -> Answer:
        """Return the answer with these fields in its sentences. Those that it has as members are put there too."""
        own = self.answer.__dataclass_fields__  # type: ignore[attr-defined] # the type of a record
        members = {name: value for name, value in fields.items() if name in own}
        message, hint = (_SENTENCES.vformat(template, (), fields) for template in (self.message, self.hint))
        return self.answer(code=self.code, message=message, hint=hint, **{**self.members, **members})


class _Sentences(Formatter):
    """Fills in the fields of sentences."""

    def format_field(self, value: Any, format_spec: str) -> str:
        name, _, limit = format_spec.partition(" ")
        written = _WRITTEN.get(name)
        if written is None:
            return format(value, format_spec)
        return written(value, int(limit)) if limit else written(value)


_SENTENCES: Final = _Sentences()
_WRITTEN: Final[Mapping[str, Callable[..., str]]] = {
    "clipped": clip,
    "escaped": escaped,
    "time": to_text,
    "list": listed,
    "named": named,
}
