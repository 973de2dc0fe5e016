"""docs/reference/python.md: its programs run, and it names everything there is, with the pages of methods."""

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import dcf
from dcf.client import Client, records
from dcf.client.rows import read_rows
from dcf.features.external import records as outside_records
from dcf.tools.mcp.selection import select_tools
from dcf.verbs.registry import TOOLS
from tests.python.conftest import greeter
from tests.python.workflows import EMPTY, FAILING, HELLO
from tests.support.paths import ROOT
from tests.support.redis.restricted import RestrictedRedis

PAGES = ("python.md", "python-methods.md", "python-other-methods.md")
PAGE, *_METHODS = ((ROOT / "docs" / "reference" / name).read_text("utf-8") for name in PAGES)
METHODS = "".join(_METHODS)
PROGRAMS: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
ROWS: list[str] = re.findall(r"^\| (`.+?) \|", METHODS, re.MULTILINE)
LONGEST = 200
"""Lines of one page."""


def program(word: str) -> str:
    (program,) = (item for item in PROGRAMS if word in item)
    return program


def defined(word: str) -> dict[str, Any]:
    """The definitions of a program of the page."""
    names: dict[str, Any] = {"dcf": dcf}
    exec(program(word), names)
    return names


def test_the_page_is_one_page_and_every_program_on_it_is_tested_here() -> None:
    assert len(PAGE.splitlines()) <= LONGEST
    words = ("HELLO", "failed_runs", "output_or_reason", "Charge")
    assert sorted(map(program, words)) == sorted(PROGRAMS)


def test_the_first_program_has_ten_lines_and_prints_what_the_page_says(
    python_redis: RestrictedRedis, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for line in program("HELLO").splitlines() if line]
    assert len(lines) <= 10
    monkeypatch.setenv("REDIS_URL", python_redis.url)
    exec(program("HELLO"), {"__name__": "__main__"})
    printed = capsys.readouterr()
    assert printed.err == ""
    assert f"It prints `{printed.out.strip()}`" in PAGE


def test_failed_runs_are_listed_as_the_page_does_it(
    python_redis: RestrictedRedis, served: Client, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.start(HELLO, workflow_id=run_id)
    served.resolve(run_id, "Greet", error="Broken")
    monkeypatch.setenv("REDIS_URL", python_redis.url)
    assert run_id in asyncio.run(defined("failed_runs")["failed_runs"]())


def test_errors_are_handled_as_the_page_does_it(served: Client, run_id: str, agent: str) -> None:
    page = defined("output_or_reason")
    with greeter(served, agent):
        served.start(FAILING, workflow_id=run_id, agents=agent)
        assert page["output_or_reason"](served, run_id) == "failed: NoName: the input has no name"
    assert page["output_or_reason"](served, "nobody") == "`client.list()` lists the runs."
    served.start(EMPTY, 5, workflow_id=f"{run_id}-2")
    assert page["output_or_reason"](served, f"{run_id}-2") == 5
    assert page["cancelled"](served, run_id)
    served.start(HELLO, workflow_id=f"{run_id}-3")
    assert page["cancelled"](served, f"{run_id}-3")


def test_the_function_on_the_page_is_served(served: Client, run_id: str, agent: str) -> None:
    charge = defined("Charge")["charge"]
    workflow = {"asl": {"StartAt": "Charge", "States": {"Charge": {"Type": "Task", "End": True}}}}
    with served.serve({"Charge": charge}, agent):
        served.start(workflow, {"amount": 7}, workflow_id=run_id, agents=agent)
        assert served.result(run_id, timeout_s=60) == {"paid": 7, "attempt": 1}


def test_every_method_is_on_the_page_with_all_its_arguments() -> None:
    shown = {
        name: set(re.findall(r"\w+", arguments))
        for row in ROWS
        for name, arguments in re.findall(r"`(\w+)\((.*?)\)`", row)
    }
    methods = {name: result for name, result in inspect.getmembers(Client, inspect.isfunction) if name[0] != "_"}
    of_all = {"self", "reason", "request_id"}
    assert shown == {name: set(inspect.signature(method).parameters) - of_all for name, method in methods.items()}


def test_a_method_gives_a_tool_only_arguments_that_it_takes() -> None:
    sent = {
        (str(call.args[1].value), argument.arg)
        for file in Path(inspect.getfile(Client)).parent.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "call_tool"
        if isinstance(call.args[1], ast.Constant)
        for argument in call.keywords
        if argument.arg is not None
    } | {
        (row["verb"], parameter.get("argument") or parameter["name"])
        for row in read_rows().values()
        for parameter in row.get("parameters", ())
    }
    select_tools((), read_only=False)  # which makes them known
    assert ("cancel_run", "reason") in sent
    assert [item for item in sent if item[1] not in TOOLS[item[0]].arguments.model_fields] == []


def test_every_name_of_the_package_and_every_record_of_a_method_is_on_the_page() -> None:
    assert not [
        name for name in dcf.__all__ if not re.search(rf"\b{name}\b", (PAGE + METHODS).replace("dcf.client", ""))
    ]
    returned = {
        result for row in re.findall(r"\| ([^|]+) \|$", METHODS, re.MULTILINE) for result in re.findall(r"\w+", row)
    }
    modules = (records, outside_records)
    mine = {
        name
        for module in modules
        for name, kind in vars(module).items()
        if inspect.isclass(kind) and kind.__module__ == module.__name__
    }
    parts = {
        "StateDetails",
        "WaitingSignal",
        "ParentState",
    }
    assert mine - returned == parts
