"""The benchmark of both forms works: two servers take turns at the same runs, and text takes less room."""

from pathlib import Path

from benchmarks import workloads
from benchmarks.forms import FORMS, measure, table


def test_both_forms_take_turns_at_the_same_work(short_directory: Path) -> None:
    turns, version = measure(short_directory / "turns", {"chain": workloads.chain(5)}, 2)
    assert version[0].isdigit()
    json, text = (turns["chain"][form] for form in FORMS)
    assert [(turn.steps, turn.server_cpu > 0) for turn in (*json, *text)] == [(5, True)] * 4
    assert text[0].bytes_of_state < json[0].bytes_of_state
    head, _, *rows = table(turns)
    assert head == "| | documents in RedisJSON | documents as JSON text | text : RedisJSON |"
    assert [row.count("|") for row in rows] == [5] * 6
