"""Names from outside, and fingerprints."""

from typing import Any

import pytest

from dcf.errors import InvalidArgument
from dcf.values.digest import definition_sha256, fingerprint, next_token
from dcf.values.identifiers import MAX_STATE_PATH, check_agents, check_id, check_state
from tests.support.tables import rows


@rows("value", ["a", "7", "order-2025_01.b", "A" * 64, "0.-_"])
def test_a_plain_id_passes(value: str) -> None:
    assert check_id(value, "workflow_id") == value


@rows(
    "value",
    [
        "", " ", "a b", "a:b", "a*", "{a}", "a/b", "a\nb", "a\n", "a\x00", "\x00", "a\r", "-a", ".a", "_a", "a" * 65,
        "a" * 10_000, "ä", "a٣", "\uff11", "a\u200b", "a%41", 'a"', "a\\", "..", "a\ud800",
    ],
)  # fmt: skip
def test_an_id_that_could_break_a_key_or_a_path_is_refused(value: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_id(value, "workflow_id")
    assert refused.value.message == "workflow_id is not a valid id."
    assert "workflow_id" in refused.value.hint


@rows("value", ["A", "Bill the customer: {now}*", "Ä/0/ö", "x" * MAX_STATE_PATH])
def test_a_state_name_may_be_what_asl_allows(value: str) -> None:
    assert check_state(value) == value


@rows("value", ["", "x" * (MAX_STATE_PATH + 1), "a\n", "a\x00", "\u200b", "a\ud800", "\u2028"])
def test_a_state_name_that_cannot_be_shown_is_refused(value: str) -> None:
    with pytest.raises(InvalidArgument, match="state is not a valid state name"):
        check_state(value)


def test_agents_are_one_id_or_a_pool_for_each_task() -> None:
    assert check_agents({"A": "ann", "B": ["bob", "cy"]}, {"A", "B", "C"}) == {"A": ("ann",), "B": ("bob", "cy")}
    assert check_agents({}, {"A"}) == {}


def test_a_star_assigns_all_tasks_that_are_not_named_unless_a_state_is_called_so() -> None:
    assert check_agents({"*": ["x", "y"], "A": "ann"}, {"A", "B"}) == {"A": ("ann",), "B": ("x", "y")}
    assert check_agents({"*": "x"}, {"A", "B"}) == {"A": ("x",), "B": ("x",)}
    assert check_agents({"*": "x"}, {"*", "B"}) == {"*": ("x",)}


@rows(
    "agents",
    [[], "ann", None, {"Z": "ann"}, {"A": ""}, {"A": []}, {"A": None}, {"A": 5}, {"A": ["ann", 5]}, {"A": "a:b"},
     {"A": ["ann", "b\n"]}, {"A": {"id": "ann"}}, {"Z" * 10_000: "ann"}],
)  # fmt: skip
def test_an_assignment_that_makes_no_sense_is_refused(agents: Any) -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_agents(agents, {"A"})
    assert len(refused.value.message) < 200


def test_a_definitions_hash_does_not_depend_on_the_order_of_keys() -> None:
    assert definition_sha256({"a": 1, "b": [1, 2]}) == definition_sha256({"b": [1, 2], "a": 1})
    assert definition_sha256({"b": [1, 2]}) != definition_sha256({"b": [2, 1]})
    assert definition_sha256({"ä": "ö"}) == definition_sha256({"\u00e4": "\u00f6"})
    assert definition_sha256({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_a_fingerprint_recognises_a_token_and_does_not_show_it() -> None:
    assert fingerprint("t1") == fingerprint("t1") != fingerprint("t2")
    assert len(fingerprint("tö" * 1000)) == 16


def test_the_next_token_follows_from_the_old_one_and_the_state() -> None:
    assert next_token("t1", "B") == next_token("t1", "B")
    assert len({next_token("t1", "B"), next_token("t1", "C"), next_token("t2", "B"), "t1"}) == 4
    assert next_token("t1", "B").startswith("lease-")
