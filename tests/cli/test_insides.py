"""What is shown of many open states, and why a state is as it is."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dcf.cli.insides import pick, tree
from dcf.cli.notes import attempts, counts, note

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WIDE = [f"Each/{index}/Score" for index in reversed(range(40))]


def shown(paths: list[str], **limits: int) -> list[str]:
    picked = pick(paths, **{"each": 3, "most": 100} | limits)
    roots = dict.fromkeys(path.partition("/")[0] for path in paths)
    return ["  " * row.depth + row.label for row in tree([*roots, *picked.paths], picked.more)]


def test_the_first_iterations_of_a_wide_map_are_shown_by_number_and_the_others_counted() -> None:
    assert shown(WIDE) == ["Each", "  0 Score", "  1 Score", "  2 Score", "  and 37 more"]


def test_all_is_shown_where_it_is_little() -> None:
    assert shown(WIDE[-3:]) == ["Each", "  0 Score", "  1 Score", "  2 Score"]


def test_what_is_inside_stands_below_its_scope() -> None:
    paths = ["Each/10/Both", "Each/10/Both/1/Right", "Each/10/Both/0/Left", "Each/9/Both", "Other/0/Way"]
    assert shown(paths) == ["Each", "  9 Both", "  10 Both", "    0 Left", "    1 Right", "Other", "  0 Way"]


def test_each_map_inside_a_map_is_cut_by_itself() -> None:
    inner = [f"Rows/{row}/Cells/{cell}/Fill" for row in range(2) for cell in range(3)]
    found = shown([*inner, "Rows/0/Cells", "Rows/1/Cells"], each=2)
    below = ["    0 Fill", "    1 Fill", "    and 1 more"]
    assert found == ["Rows", "  0 Cells", *below, "  1 Cells", *below]


def test_no_more_is_shown_than_there_is_room_for() -> None:
    paths = [path for row in range(9) for path in (f"Rows/{row}/Cells", f"Rows/{row}/Cells/0/Fill")]
    assert shown(paths, each=9, most=4) == [
        "Rows",
        "  0 Cells",
        "    0 Fill",
        "  1 Cells",
        "    0 Fill",
        "  and 7 more",
    ]


def test_a_state_with_a_slash_in_its_name_is_shown_by_its_name() -> None:
    assert [row.label for row in tree(["a%2Fb", "a%2Fb/0/c%2Fd"], {})] == ["a/b", "0 c/d"]


def doc(**fields: Any) -> dict[str, Any]:
    return {"status": "running", "attempts": 0, "last_error": None, "waits_for": {}} | fields


def scope(size: int, done: int = 0, failed: int = 0, **fields: Any) -> dict[str, Any]:
    return doc(scope={"size": size}, tally={"done": done, "failed": failed}, **{"type": "Map"} | fields)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (doc(type="Map"), "waits for its items"),
        (scope(40), "waits for 40 iterations"),
        (scope(40, 12, 1), "12 of 40 iterations done, 1 failed; waits for the other 28"),
        (scope(3, 2, type="Parallel"), "2 of 3 branches done; waits for the last one"),
        (scope(2, 2, type="Parallel"), "2 of 2 branches done; goes on now"),
        (scope(1, type="Parallel"), "waits for 1 branch"),
        (scope(40, 40, 2, status="succeeded"), "40 iterations, 2 failed"),
        (scope(40, 3, 1, status="failed", last_error="Broken: why"), "Broken: why"),
        (doc(type="Wait", not_before="2026-01-02T03:04:35Z"), "waits until 03:04:35 UTC, in 30 s"),
        (doc(type="Wait", not_before="2026-01-04T05:04:05Z"), "waits until 2026-01-04 05:04:05 UTC, in 2 d 2 h"),
        (doc(type="Wait", not_before="2026-01-02T03:04:04Z"), "its time has come; the clock ends it"),
        (
            scope(4, 1, 1, status="pending", last_error="Busy: later", not_before="2026-01-02T03:05:15.5Z"),
            "is tried again in 1 min 11 s: Busy: later",
        ),
        (
            doc(status="pending", last_error="Busy: later", not_before="2026-01-02T03:04:00Z"),
            "ready to be tried again: Busy: later",
        ),
        (doc(status="pending", not_before="2026-01-02T03:04:07Z"), "may be taken in 2 s"),
        (doc(status="pending", not_before="2026-01-02T03:04:00Z"), "ready, taken by nobody yet"),
        (doc(status="pending", waits_for={"A": 0, "B": 7}), "waits for A"),
        (doc(status="pending", waits_for={"A": 7}), "ready, taken by nobody yet"),
    ],
)
def test_a_note_says_what_a_state_waits_for(found: dict[str, Any], words: str) -> None:
    assert note(found, NOW) == words


def test_attempts_are_told_of_what_is_leased_only() -> None:
    assert (attempts(doc()), attempts(scope(2)), attempts(doc(type="Wait"))) == ("0", "", "")
    assert counts(doc()) == ""
