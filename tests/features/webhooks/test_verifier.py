"""A receiver accepts requests that dcf has just signed with a key in use."""

import pytest

from dcf.errors import WebhookRefused
from dcf.features.webhooks.bodies import body_of, headers_of
from dcf.values.webhook_signatures import secret_text
from dcf.webhooks import verify
from tests.support.tables import rows

OLD, NEW, OTHER = (secret_text(letter * 32) for letter in (b"o", b"n", b"x"))
NOW = 1_800_000_000
EVENT = {
    "type": "workflow_event",
    "event_id": "run:A:5:state_ready",
    "workflow_id": "run",
    "target_state": "A",
    "reason": "initial",
    "ts": "2026-01-01T00:00:00.000000Z",
}
BODY = body_of("hook", EVENT, {"state": "A", "input": {"a": 1}}, "dcf-task-x", "https://dcf.example/task-tokens")


def request(*secrets: str, at: int = NOW) -> dict[str, str]:
    return headers_of("msg_1", at, BODY, [(f"k{number}", secret) for number, secret in enumerate(secrets)])


def test_a_signed_request_brings_work_a_token_and_where_to_answer() -> None:
    event = verify(request(NEW), BODY, NEW, now=NOW)
    assert (event.id, event.type, event.agent_id, event.workflow_id, event.state) == (
        "msg_1",
        "work",
        "hook",
        "run",
        "A",
    )
    assert event.work == {"state": "A", "input": {"a": 1}}
    assert event.task_token == "dcf-task-x"
    assert event.answer_at["failure"] == "https://dcf.example/task-tokens/failure"
    assert "dcf-task-x" not in repr(event)


def test_the_names_of_headers_may_be_written_in_any_case() -> None:
    shouted = {name.upper(): value for name, value in request(NEW).items()}
    assert verify(shouted, BODY, NEW, now=NOW).id == "msg_1"


def test_while_a_key_is_rotated_either_secret_serves() -> None:
    both = request(NEW, OLD)
    for known in (NEW, OLD, [OTHER, OLD]):
        assert verify(both, BODY, known, now=NOW).id == "msg_1"
    with pytest.raises(WebhookRefused, match="No signature"):
        verify(both, BODY, OTHER, now=NOW)


@rows("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_request_without_a_header_or_with_another_value_is_refused(name: str) -> None:
    signed = {key.lower(): value for key, value in request(NEW).items()}
    for value in (None, "", "7", "1.5", "v1,AAAA", "999999999999999999999999"):
        changed = {key: text for key, text in signed.items() if key != name} | ({} if value is None else {name: value})
        with pytest.raises(WebhookRefused):
            verify(changed, BODY, NEW, now=NOW)


def test_a_body_that_was_changed_is_refused() -> None:
    with pytest.raises(WebhookRefused, match="No signature"):
        verify(request(NEW), BODY.replace(b'"a":1', b'"a":2'), NEW, now=NOW)


@rows("off", [301, -301])
def test_a_request_that_is_replayed_later_or_of_the_future_is_refused(off: int) -> None:
    recorded = request(NEW)
    with pytest.raises(WebhookRefused, match="seconds ago"):
        verify(recorded, BODY, NEW, now=NOW + off)
    assert verify(recorded, BODY, NEW, now=NOW + off, tolerance_s=400).id == "msg_1"
    fresh = {**recorded, "webhook-timestamp": str(NOW + off)}
    with pytest.raises(WebhookRefused, match="No signature"):
        verify(fresh, BODY, NEW, now=NOW + off)


@rows("secrets", ["", "secret", [], [NEW, "nonsense"]])
def test_what_is_no_secret_is_said_to_be_none_and_not_shown(secrets: str | list[str]) -> None:
    with pytest.raises(WebhookRefused, match="not the secret") as raised:
        verify(request(NEW), BODY, secrets, now=NOW)
    assert "nonsense" not in raised.value.message + raised.value.hint
