"""API keys and callers: what admits, what does not, and that nothing tells why."""

import pytest

from dcf.core.access import model as access
from dcf.core.access.model import (
    ApiKey,
    Scope,
    admit,
    digest_of,
    key_id_of,
    key_text,
    local_caller,
    read_key,
    write_key,
)
from tests.support.tables import rows

SECRET = "QaLFT_vUBC9vrgjENc6oCSrxr6u5ElK3nPam8O1t5LY"
TEXT = key_text("0123456789ab", SECRET)


def _record(**changes: object) -> ApiKey:
    fields: dict[str, object] = {
        "key_id": "0123456789ab",
        "digest": digest_of(TEXT),
        "scopes": [Scope.READ, Scope.WORK],
        "created_at": 100,
        "agent_id": "me",
        "label": None,
        "expires_at": None,
        "revoked_at": None,
    }
    return read_key(fields | changes)


def test_a_good_key_says_who_calls() -> None:
    caller = admit(TEXT, _record(), 200)
    assert caller is not None
    assert (caller.name, caller.agent_id, caller.local) == ("key:0123456789ab", "me", False)
    assert caller.scopes == {Scope.READ, Scope.WORK}


@rows(
    ("text", "record", "now"),
    [
        (TEXT, None, 200),
        (TEXT[:-1] + ("A" if TEXT[-1] != "A" else "B"), _record(), 200),
        (TEXT, _record(expires_at=200), 200),
        (TEXT, _record(revoked_at=150), 200),
        (TEXT, _record(revoked_at=150, expires_at=200), 300),
        ("", _record(), 200),
        ("\udcff", _record(), 200),
    ],
    ids=["unknown", "wrong", "expired", "revoked", "both", "empty", "not text"],
)
def test_a_bad_key_admits_nobody(text: str, record: ApiKey | None, now: int) -> None:
    assert admit(text, record, now) is None


def test_a_key_ends_at_its_expiry_and_not_before() -> None:
    assert admit(TEXT, _record(expires_at=200), 199) is not None


@rows("record", [None, _record(), _record(expires_at=1), _record(digest="0" * 64)])
def test_every_attempt_compares_digests_in_constant_time(
    record: ApiKey | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for an unknown id, so that the time of an answer does not reveal which ids exist."""
    compared: list[tuple[str, str]] = []

    def compare(first: str, second: str) -> bool:
        compared.append((first, second))
        return False

    monkeypatch.setattr("dcf.core.access.model.compare_digest", compare)
    assert admit(TEXT, record, 200) is None
    assert [first for first, _ in compared] == [digest_of(TEXT)]


@rows(
    "text",
    [
        "", "dcf_", SECRET, TEXT + "x", TEXT[:-1], TEXT.upper(), f" {TEXT}", f"{TEXT}\n", TEXT.replace("_", "-", 1),
        "dcf_0123456789ab_" + "*" * 43, "dcf_..:*_" + SECRET, "x" * 10_000_000,
    ],
)  # fmt: skip
def test_what_has_not_the_form_of_a_key_has_no_id(text: str) -> None:
    assert key_id_of(text) is None


def test_a_key_has_its_id_and_256_random_bits() -> None:
    assert key_id_of(TEXT) == "0123456789ab"
    assert access.SECRET_BYTES * 8 == 256


def test_what_is_stored_can_be_read_back_and_is_not_the_key() -> None:
    record = _record(label="pricing", expires_at=7)
    assert read_key(write_key(record)) == record
    assert SECRET not in str(write_key(record))


def test_the_local_user_acts_for_others_only_when_asked_for() -> None:
    assert local_caller(operator=True).scopes == frozenset(Scope)
    assert local_caller(operator=False).scopes == frozenset(Scope) - {
        *(Scope.OPERATE, Scope.ANSWER, Scope.OVERRIDE, Scope.ATTEST)
    }
