"""docs/guides/python-functions.md: its Python runs, and the idempotency key follows its rule."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from dcf import testing
from dcf.features.task_log import rules as task_log
from dcf.worker import FUNCTIONS
from dcf.worker.context import idempotency_key_of
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "guides" / "python-functions.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(TESTS,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guides/testing.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    for name in ("Charge", "Poll", "Total"):
        monkeypatch.delitem(FUNCTIONS, name, raising=False)
    yield FUNCTIONS
    for name in ("Charge", "Poll", "Total"):
        FUNCTIONS.pop(name, None)


def one(state: str) -> Any:
    return {"StartAt": state, "States": {state: {"Type": "Task", "End": True}}}


def test_its_functions_work(registered: dict[str, Any]) -> None:
    for block in BLOCKS:
        exec(compile(block, "docs/guides/python-functions.md", "exec"), {"__name__": "page"})
    story = testing.run(one("Charge"), {"total": 5})
    assert story.output["paid"] == 5
    assert story.output["key"].startswith("dcf-")
    assert [(line.message, line.fields) for line in story.log] == [("charging", {"total": 5})]
    assert testing.run(one("Charge"), {"total": 0}).error == "NothingToPay"
    assert testing.run(one("Poll"), {"seconds": 0}).output == {"polled": True}
    assert testing.run(one("Total"), [{"item": "pen", "count": 2}, {"item": "ink"}]).output == {"count": 3}
    assert testing.run(one("Total"), [{}]).error == "DCF.InvalidInput"


def test_its_tests_pass() -> None:
    module: dict[str, Any] = {"__name__": "page"}
    exec(compile(TESTS, "docs/guides/testing.md", "exec"), module)
    tests = [result for name, result in module.items() if name.startswith("test_")]
    assert len(tests) == 3
    for each in tests:
        each()


def test_the_key_is_made_of_what_the_page_says() -> None:
    digest = hashlib.sha256(b"orders-7\nEach/17/Score\n1767225600000000").hexdigest()
    assert idempotency_key_of("orders-7", "Each/17/Score", 1_767_225_600_000_000) == f"dcf-{digest[:32]}"


def test_the_limits_of_log_are_those_that_hold() -> None:
    lines, characters, size = task_log.MOST_LINES, task_log.LONGEST_MESSAGE, task_log.MOST_BYTES
    assert f"{lines} lines for each lease, {characters:,} characters and {size:,} bytes" in PAGE
