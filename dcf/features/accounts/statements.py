"""Reads the statement of a provider: what each turn has used, by its reservation. Pure."""

from datetime import UTC, date, datetime
from typing import Final

from dcf.core.documents.usage import UsageReport, read_report
from dcf.errors import InvalidArgument
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json
from dcf.values.records import record

MOST_LINES: Final = 1000
_FIELDS: Final = frozenset({"reservation", "usage", "day"})
_EPOCH: Final = date(1970, 1, 1)


@record(frozen=True, slots=True, kw_only=True)
class Statement:
    """A line of the statement. `day` is counted from 1970."""

    reservation: str
    usage: UsageReport
    day: int


def read_statement(document: Json, today: int) -> tuple[Statement, ...]:
    """Read a statement; raise InvalidArgument for anything else."""
    if not isinstance(document, list) or not 0 < len(document) <= MOST_LINES:
        raise InvalidArgument(f"bills_json is not a list of 1 to {MOST_LINES} lines.", "Send several calls.")
    return tuple(_line(at, line, today) for at, line in enumerate(document))


def _line(at: int, line: Json, today: int) -> Statement:
    name = f"line {at} of bills_json"
    if not isinstance(line, dict) or not {"reservation", "usage"} <= set(line) <= _FIELDS:
        raise InvalidArgument(f"{name} has not reservation and usage.", "It may have day, too: 2026-11-24.")
    reservation = line["reservation"]
    if not isinstance(reservation, str) or not is_id(reservation):
        raise InvalidArgument(f"The reservation of {name} is none.", "Send the id with which the turn was reserved.")
    return Statement(reservation=reservation, usage=read_report(line["usage"], name), day=_day(line, name, today))


def _day(line: dict[str, Json], name: str, today: int) -> int:
    if "day" not in line:
        return today
    try:
        day = datetime.strptime(str(line["day"]), "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise InvalidArgument(f"The day of {name} is no day.", "Write it as 2026-11-24.") from None
    return (day - _EPOCH).days
