"""Commands take a file of Python with a flow wherever they take a workflow document."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import call
from tests.support.tables import rows

TEXT = '''
from dataclasses import dataclass
from dcf import flow, task

@dataclass
class Page:
    url: str
    words: int

@task
def fetch(url: str) -> Page:
    return Page(url, len(url))

@flow
def count(urls: list[str], topic: str = "storage", most: int = 9) -> str:
    """Count words."""
    pages = [fetch(url) for url in urls]
    first = pages[0].words
    return f"{topic}: {first}"
'''
OTHER = "\n@flow\ndef other(n: int) -> int:\n    return n\n"
PAGES = '{"fetch": [{"output": {"url": "a", "words": 4}}]}'


@pytest.fixture
def flow(tmp_path: Path) -> Callable[[str], str]:
    """Write a file and return its path."""

    def write(text: str) -> str:
        path = tmp_path / "flow.py"
        path.write_text(text)
        return str(path)

    return write


def test_a_flow_is_compiled_to_a_document_that_is_valid_alone(flow: Callable[[str], str], tmp_path: Path) -> None:
    compiled = call("compile", flow(TEXT))
    document = json.loads(compiled.stdout)
    assert (document["workflow_name"], document["StartAt"]) == ("count", "input")
    assert "source" not in document
    assert json.loads(call("compile", tmp_path / "flow.py", "--json").stdout)["places"]["pages"] == "flow.py:17:13"
    (tmp_path / "flow.json").write_text(compiled.stdout)
    for file in ("flow.json", "flow.py", "flow.py:count"):
        assert call("validate", tmp_path / file).exit_code == 0


def test_a_flow_is_drawn_and_simulated_with_named_input(flow: Callable[[str], str], tmp_path: Path) -> None:
    path = flow(TEXT)
    (tmp_path / "urls.json").write_text('["abcd"]')
    assert "pages  (Map)" in call("graph", path).stdout
    named = [f"urls=@{tmp_path / 'urls.json'}", "topic=kv", "most=3"]
    for value in (["--input", named[0], *named[1:]], ["--input", '{"urls": ["abcd"], "topic": "kv"}']):
        result = call("simulate", path, "--mocks", PAGES, "--json", *value)
        assert json.loads(result.stdout)["output"] == "kv: 4"


def test_a_failure_of_an_expression_names_the_line_of_python(flow: Callable[[str], str]) -> None:
    result = call("simulate", flow(TEXT), "urls=[]")
    assert result.exit_code == 1
    assert "at flow.py:18: first = pages[0].words" in result.stdout


def test_an_unknown_option_of_a_step_is_named(flow: Callable[[str], str]) -> None:
    refused = call("compile", flow(TEXT.replace("@task\n", "@task(retries=3)\n", 1)))
    assert refused.exit_code == 2
    assert "@task has no 'retries'. Did you mean 'retry'?" in " ".join(refused.stderr.split())


def test_several_flows_are_told_apart_by_name(flow: Callable[[str], str]) -> None:
    path = flow(TEXT + OTHER)
    refused = call("compile", path)
    assert (refused.exit_code, "several flows: count, other" in refused.stderr) == (2, True)
    assert json.loads(call("compile", f"{path}:other").stdout)["workflow_name"] == "other"


@rows(
    ("values", "reason"),
    [
        (["url=x"], "count has no argument 'url'. Did you mean 'urls'?"),
        (["urls=[1]"], "/urls/0: must be a string"),
        ([], "'urls' is missing"),
        (["x"], "'x' is no argument of the flow."),
        (["--input", "{}", "topic=x"], "Leave one out."),
        (["urls=[]", "most=many"], "The argument most of the flow cannot be read: There is no file many."),
    ],
)
def test_input_that_is_none_of_the_flow_is_refused(flow: Callable[[str], str], values: list[str], reason: str) -> None:
    result = call("simulate", flow(TEXT), *values)
    assert result.exit_code == 2
    assert reason in " ".join(result.stderr.split())


def test_what_cannot_be_compiled_is_listed_with_its_lines(flow: Callable[[str], str]) -> None:
    path = flow(TEXT.replace("fetch(url) for", "fetch(urll=url) for").replace("{first}", "{frist}"))
    for command in ("compile", "validate", "simulate", "graph", "start", "run"):
        result = call(command, path)
        assert result.exit_code == 2
        assert f"{path}:17:25: fetch() has no 'urll'. Did you mean 'url'?" in result.stderr
        assert f"{path}:19:24: 'frist' is not known. Did you mean 'first'?" in result.stderr


def test_a_worker_has_the_functions_of_all_flows_of_a_file(flow: Callable[[str], str]) -> None:
    result = call("worker", flow(TEXT + OTHER), "--agent-id", "me", "--check")
    assert (result.exit_code, "fetch" in result.stderr) == (0, True)


def test_a_file_without_a_flow(flow: Callable[[str], str]) -> None:
    result = call("compile", flow("x = 1\n"))
    assert (result.exit_code, "has no flow" in result.stderr) == (2, True)


def test_a_document_is_not_compiled_and_the_refusal_says_how_it_goes_back(tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text("{}")
    result = call("compile", str(tmp_path / "orders.json"), "--to", "aws")
    assert result.exit_code == 2
    assert "dcf compile takes a flow in Python" in result.stderr.replace("\n", " ")
    assert "AWS takes it once each Task has its Resource again" in " ".join(result.stderr.split())
