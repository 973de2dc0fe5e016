"""How a file of task functions is read: a name that no Task has is told with the Task that was meant."""

from pathlib import Path

import pytest

from dcf.cli.processes.functions import load_functions
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
