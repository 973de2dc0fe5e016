"""Reads the usage limit that a caller reports. Pure."""

from dcf.core.documents.parking import LONGEST_S
from dcf.core.leasing.parking import Excuse
from dcf.errors import InvalidArgument
from dcf.values.instants import from_text
from dcf.values.spans import read_span


def excuse_of(
    limited_until: str | None, kind: str, *, counts: bool, account: str | None = None, by: str | None = None
) -> Excuse | None:
    """Return why the attempt is not counted; None if it is. Raise InvalidArgument for what is no time.

    A length of time begins when the server reads it: the clock of the caller may be wrong.
    """
    if limited_until is None:
        return None if counts else Excuse()
    until, within_s = moment_of(limited_until)
    return Excuse(until=until, within_s=within_s, kind=kind, account=account, by=by)


def moment_of(limited_until: str) -> tuple[int | None, int | None]:
    """Return a point in time, or seconds from now; raise InvalidArgument for what is neither."""
    within_s = read_span(limited_until)
    until = None if within_s is not None else from_text(limited_until)
    if within_s is None and until is None:
        raise InvalidArgument(
            "limited_until is no time.", f"Write 2026-11-24T14:00:00Z, or seconds from now: 90s. At most {LONGEST_S}s."
        )
    return until, within_s
