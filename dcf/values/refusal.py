"""The refusal of a well-formed request, as a value. Runs, documents and files use the same record. Pure."""

from collections.abc import Mapping

from dcf.values.json_text import Json
from dcf.values.records import record


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
