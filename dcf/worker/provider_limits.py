"""Reads from an error of an AI provider's SDK that a usage limit was met, and until when. Standard library alone.

It looks at attributes, not at classes, so no SDK is imported. A time that is not understood is no time: never a guess.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

from dcf.values.records import record
from dcf.worker.failure import AccountLimited

_SPAN: Final = re.compile(
    r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", re.ASCII
)
_AGAIN: Final = re.compile(
    r"(?:try again in|retry in) ((?:\d{1,9}(?:\.\d{1,12})?(?:ms|h|m|s))+)(?![a-z0-9]|\s*\d|\.\d)",
    re.IGNORECASE | re.ASCII,
)
_PIPE: Final = re.compile(r"usage limit reached\|(\d{10})(?!\d)", re.IGNORECASE | re.ASCII)
_CLOCK: Final = re.compile(
    r"resets(?: at)? (?:([a-z]{3}) (\d{1,2}),? (?:at )?)?(\d{1,2})(?::(\d\d))? ?([ap])\.?m\.? \(([\w/+-]{1,40})\)",
    re.IGNORECASE | re.ASCII,
)
_NUMBER: Final = re.compile(r"\d{1,16}(?:\.\d{1,9})?", re.ASCII)
_FAMILY: Final = re.compile(r"seven_day_([a-z]{2,20})", re.ASCII)
_HIT: Final = re.compile(r"you've hit your .{0,20}limit|usage limit (?:has been )?reached", re.IGNORECASE)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SPENT: Final = frozenset(
    {"insufficient_quota", "billing_error", "credit_balance_too_low", "billing_hard_limit_reached"}
)
_LIMITED: Final = frozenset({"rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "usage_limit_reached"})
_BUSY: Final = frozenset({"overloaded_error", "UNAVAILABLE"})
_TOO_MANY: Final = 429
_OVERLOADED: Final = (503, 529)
_FIRST_EPOCH: Final = 10**9
"""A larger number is seconds since 1970, a smaller one seconds from now."""

_LONGEST_S: Final = 62 * 86_400
"""A reset later than this, or in the past, was misread: longer limits of providers are not known."""

_JUST_PASSED: Final = timedelta(hours=1)
_LONGEST_TEXT: Final = 300
_MOST_ERRORS: Final = 100


@record(frozen=True, slots=True, kw_only=True)
class _Reset:
    """The end of a limit, in seconds since 1970. `is_span`: the provider gave a length of time."""

    at: float
    is_span: bool = False


def read_limit(error: BaseException, now: float) -> AccountLimited | None:
    """Return the limit that an error, or an error that caused it, reports; None if it is another failure.

    Its kind is `limit` (wait), `busy` (the provider is overloaded) or `spent` (a person must pay).
    """
    best: AccountLimited | None = None
    for cause in _chain(error):
        if isinstance(cause, AccountLimited):
            return cause
        limit = _read(cause, now)
        if limit is None:
            continue
        if limit.kind == "spent":
            return limit
        if best is None or (not best.has_time and limit.has_time):
            best = limit
    return best


def wait_from_headers(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds for which headers (names in lower case) ask a client to wait; None if they do not say."""
    reset = _after(headers, now)
    return None if reset is None else reset.at - now


def _read(error: BaseException, now: float) -> AccountLimited | None:
    headers, status, body, text = _headers(error), _status(error), _body(error), _text(error)
    codes = _codes(body)
    if codes & _SPENT or "credit balance is too low" in f"{text} {body}".lower():
        return AccountLimited(kind="spent", cause=text[:_LONGEST_TEXT])
    if status in _OVERLOADED or codes & _BUSY:
        return _limit("busy", _after(headers, now), text, now)
    if status == _TOO_MANY or codes & _LIMITED or _HIT.search(text):
        detail = _detail(body, now)
        reset = _windows(headers, now) or _after(headers, now) or detail or _words(text, now)
        return _limit("limit", reset, text, now, _family(body) if reset is detail else None)
    return None


def _limit(kind: str, reset: _Reset | None, text: str, now: float, family: str | None = None) -> AccountLimited:
    until = None if reset is None or reset.is_span else reset.at
    after_s = reset.at - now if reset is not None and reset.is_span else None
    return AccountLimited(until, after_s=after_s, kind=kind, cause=text[:_LONGEST_TEXT], family=family)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, those of its group, and those that caused it."""
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_ERRORS:
        following = waiting.pop(0)
        if not isinstance(following, BaseException) or id(following) in seen:
            continue
        seen.add(id(following))
        yield following
        waiting += following.exceptions if isinstance(following, BaseExceptionGroup) else ()
        waiting.append(following.__cause__)
        waiting.append(None if following.__suppress_context__ else following.__context__)


def _attribute(value: object, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class may raise anything; then it tells nothing
        return None


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - as above
        return ""


def _headers(error: BaseException) -> dict[str, str]:
    headers_found = _attribute(error, "headers") or _attribute(_attribute(error, "response"), "headers") or {}
    try:
        return {str(name).lower(): str(value) for name, value in dict(headers_found).items()}
    except (TypeError, ValueError):
        return {}


def _status(error: BaseException) -> int | None:
    for name in ("status_code", "api_error_status", "code", "status"):
        value = _attribute(error, name)
        if type(value) is int:
            return value
    value = _attribute(_attribute(error, "response"), "status_code")
    return value if type(value) is int else None


def _body(error: BaseException) -> dict[str, Any]:
    for name in ("body", "details", "data"):
        body = _attribute(error, name)
        if isinstance(body, dict):
            return body
    return {}


def _inner(body: Mapping[str, Any]) -> Mapping[str, Any]:
    error = body.get("error")
    return error if isinstance(error, dict) else body


def _codes(body: Mapping[str, Any]) -> frozenset[str]:
    inner = _inner(body)
    return frozenset(value for name in ("code", "type", "status") if isinstance(value := inner.get(name), str))


def _windows(headers: Mapping[str, str], now: float) -> _Reset | None:
    """Return the latest reset of the windows that are used up: all of them must have room."""
    moments = [_moment(headers[name], now) for name in headers if _is_used_up(name, headers)]
    return max((reset for reset in moments if reset is not None), key=lambda reset: reset.at, default=None)


def _is_used_up(name: str, headers: Mapping[str, str]) -> bool:
    if name.startswith("x-ratelimit-reset-"):
        return headers.get(name.replace("-reset-", "-remaining-")) == "0"
    if not name.startswith("anthropic-ratelimit-") or not name.endswith("-reset") or "overage" in name:
        return False
    stem = name.removesuffix("-reset")
    return headers.get(f"{stem}-remaining") == "0" or headers.get(f"{stem}-status") == "rejected"


def _after(headers: Mapping[str, str], now: float) -> _Reset | None:
    millis = headers.get("retry-after-ms", "")
    if _NUMBER.fullmatch(millis):
        return _plausible(_Reset(at=now + float(millis) / 1000, is_span=True), now)
    return _moment(headers.get("retry-after", ""), now)


def _moment(value: str, now: float) -> _Reset | None:
    """Read seconds, an epoch, a span such as 6m0s, RFC 3339 or the date of an HTTP header."""
    text = value.strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        is_span = number < _FIRST_EPOCH
        return _plausible(_Reset(at=now + number if is_span else number, is_span=is_span), now)
    span = _SPAN.fullmatch(text)
    if span is not None and any(span.groups()):
        hours, minutes, seconds, millis = (float(part or 0) for part in span.groups())
        return _plausible(_Reset(at=now + 3600 * hours + 60 * minutes + seconds + millis / 1000, is_span=True), now)
    return _date(text, now)


def _date(text: str, now: float) -> _Reset | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (TypeError, ValueError, IndexError):
            return None
    if moment.tzinfo is None:
        return None
    try:
        return _plausible(_Reset(at=moment.timestamp()), now)
    except (OverflowError, ValueError):
        return None


def _detail(body: Mapping[str, Any], now: float) -> _Reset | None:
    inner = _inner(body)
    for name, is_span in (("resets_in_seconds", True), ("resets_at", False)):
        number = _number(inner.get(name))
        if number is not None:
            return _plausible(_Reset(at=now + number if is_span else number, is_span=is_span), now)
    details = inner.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith("RetryInfo"):
            return _moment(str(detail.get("retryDelay", "")), now)
    window = body.get("rate_limit_info")
    number = (
        _number(window.get("resetsAt")) if isinstance(window, dict) and window.get("status") == "rejected" else None
    )
    return None if number is None else _plausible(_Reset(at=number), now)


def _family(body: Mapping[str, Any]) -> str | None:
    """Return the family of models whose window is used up, as Claude Code names it: seven_day_opus."""
    window = body.get("rate_limit_info")
    named = _FAMILY.fullmatch(str(window.get("rateLimitType"))) if isinstance(window, dict) else None
    return None if named is None else named[1]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _words(text: str, now: float) -> _Reset | None:
    if pipe := _PIPE.search(text):
        return _plausible(_Reset(at=float(pipe[1])), now)
    if again := _AGAIN.search(text):
        return _moment(again[1], now)
    return _time_of_day(clock, now) if (clock := _CLOCK.search(text)) else None


def _time_of_day(words: re.Match[str], now: float) -> _Reset | None:
    """Read `3:30pm (Europe/Paris)` or `Apr 10, 7pm (UTC)`. A zone that is not known is no time, not UTC."""
    month, day, hour, minute, half, zone = words.groups()
    if not 1 <= int(hour) <= 12:  # noqa: PLR2004 - a clock with am and pm
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - it loads the build configuration of Python, which a child may lack

    try:
        here = datetime.fromtimestamp(now, UTC if zone == "UTC" else ZoneInfo(zone))
        hours = int(hour) % 12 + (12 if half.lower() == "p" else 0)
        at = here.replace(hour=hours, minute=int(minute or 0), second=0, microsecond=0)
        if month is None:
            tomorrow = (here + timedelta(days=1)).replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
            days = [] if timedelta(0) <= here - at < _JUST_PASSED else [at, tomorrow]
        else:
            number = _MONTHS.index(month.lower()) + 1
            days = [at.replace(year=at.year + more, month=number, day=int(day)) for more in (0, 1)]
    except (ValueError, OSError, LookupError):
        return None
    moments = (_plausible(_Reset(at=candidate.timestamp()), now) for candidate in days)
    return next((reset for reset in moments if reset is not None), None)


def _plausible(reset: _Reset, now: float) -> _Reset | None:
    return reset if now < reset.at <= now + _LONGEST_S else None
