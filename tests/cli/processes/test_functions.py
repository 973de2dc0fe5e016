"""A file of task functions is read: a name without a Task is reported with the Task that was probably meant."""

import os
from pathlib import Path

import pytest

from dcf.cli.processes.functions import import_source, load_functions
from dcf.errors import InvalidArgument
from dcf.worker import FUNCTIONS


def test_a_name_that_no_task_has_is_told_with_the_task_that_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [])
    for name in list(FUNCTIONS):
        monkeypatch.delitem(FUNCTIONS, name)
    file = tmp_path / "misnamed_functions.py"
    file.write_text('from dcf.worker import task\n@task("Pricng")\ndef price(given): ...\n')
    try:
        with pytest.raises(InvalidArgument, match="registers no function for the state 'Pricing'") as refused:
            load_functions(str(file), ["Pricing", "Invoice"])
    finally:
        FUNCTIONS.pop("Pricng", None)
    assert refused.value.hint == "No Task is called 'Pricng': write @task(\"Pricing\") there."


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("from dcf import agnet\n", "Correct the import. Did you mean 'agent'?"),
        ("from dcf.testing import Aftr\n", "Correct the import. Did you mean 'After'?"),
        ("def main():\n    return await work()\n", "Leave await out: a flow waits for each of its steps."),
        ("x = y\n", "Correct the file."),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_with_what_to_write(tmp_path: Path, text: str, hint: str) -> None:
    file = tmp_path / "broken_file.py"
    file.write_text(text)
    with pytest.raises(InvalidArgument, match="cannot be imported") as refused:
        import_source(str(file))
    assert refused.value.hint == hint


def test_a_correction_counts_even_in_the_second_of_the_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a file and its size stay: Python would run the bytecode of the mistake."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    file = tmp_path / "quick_correction.py"
    for text in ("value = 1\n", "value = 2\n"):
        file.write_text(text)
        os.utime(file, (1_700_000_000, 1_700_000_000))
        module = import_source(str(file))
    assert module.value == 2
