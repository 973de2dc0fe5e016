"""Works out from data when a Wait ends and a Task's timeouts, and checks them.

Times are microseconds since the epoch; the caller decides which clock they are compared with.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from dcf.asl.expressions.templates import Template
from dcf.asl.expressions.timestamps import instant
from dcf.asl.jsonata.expressions import QUERY_ERROR
from dcf.asl.machine import Task, Wait
from dcf.asl.retrying import RUNTIME
from dcf.asl.surroundings import SECOND, Surroundings
from dcf.errors import StateError
from dcf.values.json_text import Json

MAX_DELAY_S: Final = 2**31 - 1
MAX_TIMEOUT_S: Final = 99_999_999
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def wait_until(state: Wait, raw: Json, around: Surroundings, micros: int) -> int:
    """Return when a Wait entered at `micros` ends; raise StateError when its data gives no valid time."""
    document = state.flow.document(raw, around)
    if state.seconds is not None:
        until = micros + _seconds(state, state.seconds.render(document, around)) * SECOND
    else:
        assert state.timestamp is not None, "a Wait has seconds or a timestamp"
        until = _moment(state, state.timestamp.render(document, around))
    if until - micros > MAX_DELAY_S * SECOND:
        raise _wrong(jsonata=state.flow.jsonata, cause="Wait state delay is too long.")
    return until


def timeouts(task: Task, raw: Json, around: Surroundings) -> tuple[int | None, int | None]:
    """Return TimeoutSeconds and HeartbeatSeconds of a Task; raise StateError for an invalid number."""
    if task.timeout is None and task.heartbeat is None:
        return None, None
    document = task.flow.document(raw, around)
    jsonata = task.flow.jsonata
    return (
        _limit(task.timeout, document, around, "TimeoutSeconds", jsonata=jsonata),
        _limit(task.heartbeat, document, around, "HeartbeatSeconds", jsonata=jsonata),
    )


def _limit(source: Template | None, document: Json, around: Surroundings, field: str, *, jsonata: bool) -> int | None:
    if source is None:
        return None
    rendered = source.render(document, around)
    if isinstance(rendered, bool) or not isinstance(rendered, int) or not 0 < rendered <= MAX_TIMEOUT_S:
        raise _wrong(jsonata=jsonata, cause=f"{field} must be a positive integer up to {MAX_TIMEOUT_S}.")
    return rendered


def _seconds(state: Wait, value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(jsonata=state.flow.jsonata, cause=f"The {state.field} of the Wait state is not an integer.")
    if value < 0:
        raise _wrong(jsonata=state.flow.jsonata, cause=f"The {state.field} of the Wait state is negative.")
    return value


def _moment(state: Wait, document: Json) -> int:
    moment = instant(document)
    if moment is None:
        cause = f"The {state.field} of the Wait state is not an RFC 3339 timestamp."
        raise _wrong(jsonata=state.flow.jsonata, cause=cause)
    second, fraction = moment
    return (second - _EPOCH) // _MICROSECOND + int(fraction[:6].ljust(6, "0"))


def _wrong(*, jsonata: bool, cause: str) -> StateError:
    return StateError(QUERY_ERROR if jsonata else RUNTIME, cause)
