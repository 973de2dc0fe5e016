"""The fields of a Task for its worker, besides the input: instructions, output schema, names of errors, and others.

These fields are dcf's own (`Instructions`, `OutputSchema`, `Errors`, `Skills`, `Areas`), or those of capabilities. They
change nothing of how a machine runs, and tools for the Amazon States Language may leave them out.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, cast

from dcf.asl.flow import render
from dcf.asl.json_schema.check import Misfit, misfits
from dcf.asl.jsonata.expressions import Query
from dcf.asl.surroundings import Surroundings
from dcf.asl.tasks.gates import GATES, Gate
from dcf.errors import StateError
from dcf.values.json_text import Json, dump
from dcf.values.records import record
from dcf.values.text_pieces import clip

MAX_SHOWN: Final = 32_000
"""Most characters of instructions after their expressions were replaced by values."""

_LONGEST_VALUE: Final = 16_000
_LONGEST_FAILURE: Final = 300


@record(frozen=True, slots=True, kw_only=True)
class Instructions:
    """A text with expressions `{% … %}`, which are replaced by values of the Task's input.

    `pieces` are the text between the expressions, and the expressions, in order.
    """

    text: str
    pieces: tuple[str | Query, ...]

    @property
    def is_plain(self) -> bool:
        """True if there are no expressions: the text is the same for every input."""
        return self.pieces == (self.text,)

    def shown(self, state_input: Json) -> str:
        """Return the text for this input of the worker. A failed expression is replaced by the reason."""
        if self.is_plain:
            return self.text
        around = Surroundings()
        whole = "".join(
            piece if isinstance(piece, str) else _value(piece, state_input, around) for piece in self.pieces
        )
        return whole if len(whole) <= MAX_SHOWN else f"{clip(whole, MAX_SHOWN)} [cut after {MAX_SHOWN} characters]"


@record(frozen=True, slots=True, kw_only=True)
class TaskBrief:
    """The fields of one Task as written. A `schema` or `errors` of None: any output is taken, any name expected.

    `fields` are those that capabilities read (`asl/tasks/extensions.py: TaskField`), by their names.
    """

    instructions: Instructions | None = None
    schema: Mapping[str, Json] | bool | None = None
    errors: tuple[str, ...] | None = None
    skills: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates of the Task; none where no capability reads them."""
        return cast("tuple[Gate, ...]", self.fields.get(GATES, ()))

    def misfits(self, output: Json) -> tuple[Misfit, ...]:
        """Return the parts of an output that do not match the schema."""
        return () if self.schema is None else misfits(self.schema, output)


def _value(query: Query, state_input: Json, around: Surroundings) -> str:
    try:
        rendered = render(query, {"input": state_input}, around)
    except StateError as error:
        return f"[cannot be shown: {clip(error.cause or error.error, _LONGEST_FAILURE)}]"
    return clip(rendered if isinstance(rendered, str) else dump(rendered), _LONGEST_VALUE)
