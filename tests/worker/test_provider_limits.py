"""The worker reads from an error of a provider's SDK that a limit was met, and until when: 0 wrong times.

No SDK is installed in this tier, so these are objects of the same shape. `tests/system/hosting/limits` does the same
with the classes of the SDKs.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcf.errors import InvalidArgument
from dcf.worker.failure import AccountLimited
from dcf.worker.provider_limits import read_limit, wait_from_headers
from tests.support.tables import rows

MOMENT = datetime(2026, 11, 24, 13, 0, tzinfo=UTC)
NOW = MOMENT.timestamp()
LIMITED = {"type": "error", "error": {"type": "rate_limit_error", "message": "This request would exceed your limit."}}
TPM = {"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "53s"}


class Shaped(Exception):
    """An error with the attributes of an SDK's error."""

    def __init__(self, text: str = "text", **attributes: Any) -> None:
        super().__init__(text)
        vars(self).update(attributes)


class Response:
    def __init__(self, status_code: int, headers: dict[str, str]) -> None:
        self.status_code, self.headers = status_code, headers


def http(status: int, body: Any, text: str = "text", **headers: str) -> Shaped:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Shaped(text, status_code=status, body=body, response=Response(status, names))


def google(*details: Any, text: str = "text") -> Shaped:
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": list(details)}
    return Shaped(text, code=429, status="RESOURCE_EXHAUSTED", details={"error": error})


def session(text: str, **more: Any) -> Shaped:
    return Shaped(text, api_error_status=more.get("api_error_status"), data={"type": "result", "result": text, **more})


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def read(error: BaseException) -> tuple[str, float | None] | None:
    limit = read_limit(error, NOW)
    if limit is None:
        return None
    after_s = limit.after_s if limit.until is None else limit.until - NOW
    return limit.kind, None if after_s is None else round(after_s, 3)


WINDOWS = {
    "anthropic_ratelimit_unified_status": "rejected",
    "anthropic_ratelimit_unified_5h_status": "rejected",
    "anthropic_ratelimit_unified_5h_reset": str(int(NOW) + 180),
    "anthropic_ratelimit_unified_7d_status": "rejected",
    "anthropic_ratelimit_unified_7d_reset": str(int(NOW) + 86_400),
    "anthropic_ratelimit_unified_overage_status": "rejected",
    "anthropic_ratelimit_unified_overage_reset": str(int(NOW) + 999_999),
}
BUCKETS = {
    "anthropic_ratelimit_input_tokens_remaining": "0",
    "anthropic_ratelimit_input_tokens_reset": "2026-11-24T13:00:42Z",
    "anthropic_ratelimit_requests_remaining": "12",
    "anthropic_ratelimit_requests_reset": "2026-11-24T13:09:00Z",
}
OPENAI = {
    "x_ratelimit_remaining_tokens": "0",
    "x_ratelimit_reset_tokens": "6m0s",
    "x_ratelimit_remaining_requests": "59",
    "x_ratelimit_reset_requests": "1s",
}
AZURE = {"x_ratelimit_remaining_tokens": "-1", "x_ratelimit_reset_tokens": "0"}
EVENT = {"status": "rejected", "resetsAt": int(NOW) + 63, "rateLimitType": "five_hour"}
ALLOWED = {"status": "allowed", "resetsAt": int(NOW) + 63, "overageStatus": "rejected"}
CREDIT = {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low to use the API."}}

ERRORS = {
    "anthropic, Retry-After": (http(429, LIMITED, retry_after="37"), ("limit", 37)),
    "anthropic, a bucket": (http(429, LIMITED, **BUCKETS), ("limit", 42)),
    "anthropic, two windows": (http(429, LIMITED, **WINDOWS, retry_after="180"), ("limit", 86_400)),
    "anthropic, no time": (http(429, LIMITED), ("limit", None)),
    "anthropic, overloaded": (http(529, {"error": {"type": "overloaded_error"}}), ("busy", None)),
    "anthropic, overloaded as 429": (http(429, {"error": {"type": "overloaded_error"}}), ("busy", None)),
    "anthropic, no credit": (http(400, CREDIT), ("spent", None)),
    "anthropic, billing": (http(402, {"error": {"type": "billing_error"}}), ("spent", None)),
    "openai, headers": (http(429, TPM, **OPENAI), ("limit", 360)),
    "openai, milliseconds": (http(429, TPM, retry_after_ms="976"), ("limit", 0.976)),
    "openai, quota": (http(429, {"code": "insufficient_quota", "type": "insufficient_quota"}), ("spent", None)),
    "openai, in words": (http(429, TPM, "Used 28770, Requested 3082. Please try again in 9.816s."), ("limit", 9.816)),
    "openai, minutes": (http(429, TPM, "Please try again in 1m26.4s. Visit"), ("limit", 86.4)),
    "azure, nothing usable": (http(429, TPM, **AZURE), ("limit", None)),
    "codex": (http(429, {"error": {"type": "usage_limit_reached", "resets_in_seconds": 7200}}), ("limit", 7200)),
    "openai-agents, in a group": (ExceptionGroup("g", [http(429, TPM, retry_after="20")]), ("limit", 20)),
    "pydantic-ai": (
        Shaped(status_code=429, body=LIMITED, headers={"Retry-After": "Tue, 24 Nov 2026 13:05:00 GMT"}),
        ("limit", 300),
    ),
    "google, RetryInfo": (google(RETRY_INFO), ("limit", 53)),
    "google, in words": (google(text="Please retry in 53.016342224s."), ("limit", 53.016)),
    "google, overloaded": (Shaped(code=503, details={"error": {"status": "UNAVAILABLE"}}), ("busy", None)),
    "langchain-google, cause": (caused(Shaped("Error calling model"), google(RETRY_INFO)), ("limit", 53)),
    "claude, old text": (session(f"Claude AI usage limit reached|{int(NOW) + 3600}"), ("limit", 3600)),
    "claude, zone": (session("You've hit your session limit · resets 3:30pm (UTC)"), ("limit", 9000)),
    "claude, tomorrow": (session("You've hit your limit · resets 1:10am (Europe/Moscow)"), ("limit", 33_000)),
    "claude, date": (session("You've hit your weekly limit · resets Nov 26, 7pm (UTC)"), ("limit", 194_400)),
    "claude, unknown zone": (session("You've hit your limit · resets 3:30pm (Mars/Base)"), ("limit", None)),
    "claude, no zone": (session("You've hit your limit · resets 3:30pm"), ("limit", None)),
    "claude, just reset": (session("You've hit your limit · resets 12:59pm (UTC)"), ("limit", None)),
    "claude, no such day": (session("You've hit your limit · resets Feb 30, 7pm (UTC)"), ("limit", None)),
    "claude, event": (session("API Error", api_error_status=429, rate_limit_info=EVENT), ("limit", 63)),
    "claude, allowed event": (session("API Error", api_error_status=429, rate_limit_info=ALLOWED), ("limit", None)),
    "claude, gateway": (session("API Error: quota insufficient", api_error_status=403), None),
    "claude, many turns": (session("x", subtype="error_max_turns"), None),
    "a handler's own": (ValueError("the answer has 429 lines, try again in 5s"), None),
    "another status": (http(500, {}, retry_after="9"), None),
}


@rows("name", list(ERRORS))
def test_an_error_tells_kind_and_time_of_its_limit(name: str) -> None:
    error, expected = ERRORS[name]
    assert read(error) == expected


@rows(
    ("window", "family"),
    [("seven_day_opus", "opus"), ("seven_day", None), ("five_hour", None), ("overage", None), (None, None)],
)
def test_the_window_of_a_limit_tells_the_family_of_models_that_it_is_of(window: str | None, family: str | None) -> None:
    limit = read_limit(
        session("API Error", rate_limit_info={**EVENT, "rateLimitType": window}, api_error_status=429), NOW
    )
    assert limit is not None
    assert (limit.has_time, limit.family) == (True, family)


def test_a_limit_is_found_behind_the_error_that_hides_it() -> None:
    hidden = KeyError("usage")
    hidden.__context__ = http(429, LIMITED, retry_after="37")
    assert read(hidden) == ("limit", 37)


def test_an_error_that_was_handled_before_is_not_read() -> None:
    handled = KeyError("usage")
    handled.__context__ = http(429, LIMITED, retry_after="37")
    handled.__cause__ = None  # as `from None` does
    assert read(handled) is None


def test_errors_that_cause_each_other_are_read_once() -> None:
    first = caused(Shaped("a"), http(429, LIMITED))
    caused(http(500, {}), first)
    first.__context__ = first.__cause__
    assert read(first) == ("limit", None)


def test_an_error_that_breaks_when_it_is_looked_at_is_another_failure() -> None:
    class Broken(Exception):
        @property
        def headers(self) -> Any:
            raise RuntimeError("no headers")

        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert read(Broken()) is None


def test_what_a_handler_raises_itself_is_returned_as_it_is() -> None:
    limit = AccountLimited(after_s=5)
    assert read_limit(ExceptionGroup("g", [limit]), NOW) is limit


def test_a_time_that_is_past_or_months_ahead_is_no_time() -> None:
    for reset in ("2026-11-24T12:59:59Z", "2027-11-24T13:00:00Z", "20261124", "99999999999999", "0", "soon"):
        assert read(http(429, LIMITED, retry_after=reset)) == ("limit", None), reset


def test_a_span_stays_a_span_because_the_clock_of_the_host_may_be_wrong() -> None:
    span, moment = read_limit(http(429, {}, retry_after="37"), NOW), read_limit(http(429, LIMITED, **BUCKETS), NOW)
    assert span is not None
    assert moment is not None
    assert (span.after_s, span.until) == (37, None)
    assert (moment.after_s, moment.until) == (None, NOW + 42)


def test_the_wait_that_headers_ask_for_is_known() -> None:
    assert wait_from_headers({"retry-after": "21"}, NOW) == 21
    assert wait_from_headers({}, NOW) is None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.sampled_from(["", " try again ", " resets ", " limit reached|", " (UTC)", " 3pm "]))
def test_an_unknown_text_gives_no_time(text: str, words: str) -> None:
    assert read(http(429, LIMITED, f"{text}{words}{text[::-1]}")) == ("limit", None)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.integers(0, 59), st.sampled_from(["am", "pm"]), st.sampled_from("abcdefgh0123456789:-"))
def test_a_damaged_time_of_day_gives_no_time(hour: int, minute: int, half: str, damage: str) -> None:
    for damaged in (
        f"{hour}:{minute:02}{half} (UTC{damage})",
        f"{hour + 12}:{minute:02}{half} (UTC)",
        f"{hour}{damage}x",
    ):
        assert read(http(429, LIMITED, f"You've hit your limit · resets {damaged}")) == ("limit", None), damaged


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 30), st.integers(0, 59), st.integers(1, 59))
def test_a_span_in_words_is_read_exactly(hours: int, minutes: int, seconds: int) -> None:
    words = f"Please try again in {hours}h{minutes}m{seconds}s."
    assert read(http(429, TPM, words)) == ("limit", 3600 * hours + 60 * minutes + seconds)
    assert read(http(429, TPM, words.replace("m", " minutes "))) == ("limit", None)


@rows("until, kind", [(datetime(2026, 1, 1), "limit"), (None, "later")])  # noqa: DTZ001 - the mistake
def test_a_limit_without_zone_or_of_unknown_kind_is_refused(until: Any, kind: str) -> None:
    with pytest.raises(InvalidArgument, match=r"no time zone|no kind"):
        AccountLimited(until, kind=kind)
