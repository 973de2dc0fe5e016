"""Signatures of webhooks: those that other libraries make and check, and nothing that anybody changed."""

from hypothesis import given
from hypothesis import strategies as st

from dcf.values.webhook_signatures import is_signed, message_id_of, secret_bytes, secret_text, signature
from tests.support.tables import rows


def key(text: str) -> bytes:
    key = secret_bytes(text)
    assert key is not None
    return key


def test_the_example_of_the_reference_libraries_has_their_signature() -> None:
    """Those of Standard Webhooks, in their tests."""
    secret, message_id = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), "msg_p5jXN8AQM9LWM0D4loKWxJek"
    made = signature(secret, message_id, 1614265330, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.binary(min_size=24, max_size=64), st.binary(), st.integers(0, 10**11))
def test_what_was_signed_is_known_again_among_other_signatures(secret: bytes, body: bytes, at: int) -> None:
    header = f"v1a,other v1, v1,{'A' * 44} {signature(secret, 'msg_1', at, body)}"
    assert is_signed(header, [b"x" * 24, secret], "msg_1", at, body)


@rows("changed", ["secret", "message_id", "timestamp", "body", "header"])
def test_whatever_is_changed_the_signature_does_not_fit(changed: str) -> None:
    secret, header = b"s" * 32, signature(b"s" * 32, "msg_1", 7, b"{}")
    value = {"secret": secret, "message_id": "msg_1", "timestamp": 7, "body": b"{}", "header": header}
    other = {"secret": b"t" * 32, "message_id": "msg_2", "timestamp": 8, "body": b"{ }", "header": header[3:]}
    item = {**value, changed: other[changed]}
    fits = is_signed(item["header"], [item["secret"]], item["message_id"], item["timestamp"], item["body"])  # type: ignore[arg-type, list-item]
    assert not fits


def test_a_secret_is_read_as_it_is_shown_and_nothing_else_is_one() -> None:
    assert secret_bytes(secret_text(b"k" * 32)) == b"k" * 32
    for text in ("", "whsec_", "whsec_short", secret_text(b"k" * 23), secret_text(b"k" * 65), "whsec_" + "ü" * 40):
        assert secret_bytes(text) is None, text


def test_the_id_of_a_message_is_the_same_at_every_try_and_has_no_full_stop() -> None:
    first = message_id_of("hook.a", "run.1:A:5:state_ready")
    assert first == message_id_of("hook.a", "run.1:A:5:state_ready")
    assert first != message_id_of("hook.b", "run.1:A:5:state_ready")
    assert "." not in first
