"""Code that cannot become a state machine is refused at its place, with the code to write instead."""

import textwrap
from pathlib import Path

import pytest

from dcf.flow.compiling import compile_flow
from dcf.flow.refusals import Complaint, InvalidFlow
from tests.flow.agreement import load
from tests.flow.refused import PRELUDE, REFUSED
from tests.support.tables import rows

FIRST = PRELUDE.count("\n") + 1
"""The line of the first statement of the flow."""


def complaints_about(body: str, folder: Path) -> tuple[Complaint, ...]:
    path = folder / f"refused_{abs(hash(body))}.py"
    text = PRELUDE + textwrap.indent(body, "    ") + "\n"
    path.write_text(text.replace("def main", "async def main") if "await" in body else text, "utf-8")
    with pytest.raises(InvalidFlow) as refused:
        compile_flow(load(path).main)
    return refused.value.complaints


@rows(("body", "source", "reason", "advice"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_program_that_is_no_flow_is_refused_at_its_place(
    tmp_path: Path, body: str, source: str, reason: str, advice: str
) -> None:
    complaint = complaints_about(body, tmp_path)[0]
    line = FIRST + max(at for at, text in enumerate(body.split("\n")) if source in text)
    assert reason in complaint.message
    assert advice in complaint.advice
    if "await" not in body:  # there the function itself is refused, at its own line
        assert complaint.line == line
        assert complaint.source[complaint.column - 1 : complaint.end - 1] == source


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    body = "a = fetch(urll='x')\nb = sufix\nreturn helper(a)"
    complaints = complaints_about(body, tmp_path)
    assert [complaint.line - FIRST for complaint in complaints] == [0, 1, 2]
