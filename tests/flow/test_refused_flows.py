"""Code that cannot become a state machine is refused at its place, with the code to write instead."""

import textwrap
from pathlib import Path

import pytest

from dcf.core.definitions.forms import as_workflow, asl_of
from dcf.flow.compiling import compile_flow
from dcf.flow.refusals import Complaint, InvalidFlow
from dcf.workflows.validation import validate
from tests.flow.agreement import load
from tests.flow.corrected import CORRECTED
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


@pytest.mark.filterwarnings("ignore:'return' in a 'finally' block:SyntaxWarning")  # from Python 3.14 on
@rows(("body", "source", "reason", "advice"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_program_that_is_no_flow_is_refused_at_its_place(
    tmp_path: Path, body: str, source: str, reason: str, advice: str
) -> None:
    complaint = complaints_about(body, tmp_path)[0]
    line = FIRST + max(at for at, text in enumerate(body.split("\n")) if source in text)
    assert reason in complaint.message
    assert advice
    assert advice in complaint.advice
    if "await" not in body:  # there the function itself is refused, at its own line
        assert complaint.line == line
        assert complaint.source[complaint.column - 1 : complaint.end - 1] == source


@rows("body", [row[0] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_program_that_follows_the_advice_is_a_flow(tmp_path: Path, body: str) -> None:
    corrected = CORRECTED[body]
    above, follows = ("", corrected) if isinstance(corrected, str) else corrected
    path = tmp_path / f"corrected_{abs(hash(body))}.py"
    head, mark, parameters = PRELUDE.rpartition("@flow\n")
    path.write_text(f"{head}{above}\n\n{mark}{parameters}{textwrap.indent(follows, '    ')}\n", "utf-8")
    machine = asl_of(as_workflow(compile_flow(load(path).main).document))
    assert validate(machine)["problems"] == []


def test_every_refused_program_has_another_form_that_is_none() -> None:
    assert list(CORRECTED) == [row[0] for row in REFUSED]
    assert len(CORRECTED) >= 40


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    body = "a = fetch(urll='x')\nb = sufix\nreturn helper(a)"
    complaints = complaints_about(body, tmp_path)
    assert [complaint.line - FIRST for complaint in complaints] == [0, 1, 2]


@rows(
    "body",
    [
        "answer = human('Ok?', too=['a'])\nif answer.choice == 'x':\n    x = answer.comment\nreturn len(answer) + x",
        "pages = [fetch(urll=u) for u in urls]\nfor page in pages:\n    last = page.url\nreturn last + pages[0].title",
        "double = lambda n: n * 2\nreturn double(n)",
        "xs = [n]\nxs.append(row['m'])\nreturn xs.words",
        "if n:\n    raise Brokn('x')\nelse:\n    x = 1\nreturn x",
        "try:\n    x = n + 1\nexcept Broken:\n    x = 2\nfinally:\n    fetch('a')\nurl = urls[0]\nreturn url",
        "try:\n    page = fetch(urll='a')\nexcept Broken:\n    pass\nreturn len(page)",
    ],
)
def test_what_reads_the_name_of_a_refused_statement_is_no_complaint(tmp_path: Path, body: str) -> None:
    assert len(complaints_about(body, tmp_path)) == 1


def test_a_statement_behind_a_refused_one_that_does_not_read_it_is_judged(tmp_path: Path) -> None:
    body = "pages = fetch(urll='x')\nlast = pages[0]\nreturn row['m']"
    assert [complaint.line - FIRST for complaint in complaints_about(body, tmp_path)] == [0, 2]


def test_the_last_line_of_the_error_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "refused_at_the_end.py"
    path.write_text(PRELUDE + "    raise n\n", "utf-8")

    with pytest.raises(InvalidFlow) as refused:
        compile_flow(load(path).main)

    lines = str(refused.value).split("\n")
    assert set(lines[-2].strip()) == {"^"}
    assert lines[-1] == "Change these lines; nothing was started."
