"""`dcf validate` and `dcf run` say the same of a workflow: of all in the documents, and of broken ones."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from dcf.cli.documents import read_definition_of
from dcf.errors import DcfError
from tests.support.command_line import call
from tests.support.paths import ROOT
from tests.support.tables import rows

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FILES = sorted(
    [*ROOT.glob("workflows/*.json"), *ROOT.glob("examples/**/*.json"), *ROOT.glob("dcf/cli/scaffold/asl_*.json*")]
)


def workflows_in(text: str) -> Iterator[Any]:
    """Every workflow or machine on lines or in backquotes of a page, also as an argument of a tool."""
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    for result in [*blocks, *re.findall(r"`(\{.+\})`", text)]:
        document = parsed(result)
        inner = document.get("workflow_json", document) if isinstance(document, dict) else None
        if isinstance(inner, dict) and ("States" in inner or "asl" in inner):
            yield inner


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def documents() -> Iterator[tuple[str, Any]]:
    for page in PAGES:
        for number, document in enumerate(workflows_in(page.read_text("utf-8")), 1):
            yield f"{page.parent.name}/{page.name}-{number}", document
    for file in FILES:
        document = parsed(file.read_text("utf-8").replace("$$.", "$."))
        if isinstance(document, dict) and "asl" in document:
            yield file.name, document


DOCUMENTS = dict(documents())


def verdicts(path: Path) -> tuple[bool, bool]:
    """The verdict of `dcf validate`, and whether `dcf run` would begin."""
    valid = call("validate", path).exit_code == 0
    try:
        read_definition_of(path)
    except DcfError:
        return valid, False
    return valid, True


def broken(document: Any) -> Iterator[Any]:
    """The document with one thing wrong, in several ways."""
    for change in ("start", "type", "next", "no states"):
        wrong = deepcopy(document)
        machine = wrong.get("asl", wrong)
        first = machine["States"][machine["StartAt"]]
        if change == "start":
            machine["StartAt"] = "Nowhere at all"
        elif change == "type":
            first["Type"] = "Tusk"
        elif change == "next":
            first.pop("End", None)
            first["Next"] = "Nowhere at all"
        else:
            machine["States"] = {}
        yield wrong


def test_the_documents_are_found() -> None:
    assert {"guides/runs.md-1", "reference/tools.md-1", "reference/tools.md-2", "asl_workflow.json.txt"} <= set(
        DOCUMENTS
    )
    assert {"order_processing.json", "customer_support.json"} <= set(DOCUMENTS)


@rows("name", DOCUMENTS)
def test_what_the_documents_show_is_valid_and_runs_also_as_a_bare_machine(tmp_path: Path, name: str) -> None:
    path = tmp_path / "w.json"
    for document in (DOCUMENTS[name], DOCUMENTS[name].get("asl", DOCUMENTS[name])):
        path.write_text(json.dumps(document))
        assert verdicts(path) == (True, True)


@rows(
    "facts",
    [{}, {"version": "1.0.0"}, {"workflow_id": "w", "description": "Small."}, {"author": {"name": "Ada"}, "tags": []}],
)
def test_a_machine_may_come_with_facts_about_it(tmp_path: Path, facts: dict[str, Any]) -> None:
    path = tmp_path / "w.json"
    machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}
    path.write_text(json.dumps({"workflow_name": "x", "asl": machine} | facts))
    assert verdicts(path) == (True, True)


@rows("name", DOCUMENTS)
def test_what_is_broken_is_refused_by_both(tmp_path: Path, name: str) -> None:
    path = tmp_path / "w.json"
    for document in (DOCUMENTS[name], DOCUMENTS[name].get("asl", DOCUMENTS[name])):
        for wrong in broken(document):
            path.write_text(json.dumps(wrong))
            assert verdicts(path) == (False, False), wrong


@rows(
    ("steps", "good"),
    [
        (["a", "b"], True),
        ([{"step_id": "One"}, {"step_id": "Two"}], True),
        ([{"step_id": "A"}] * 2, False),
        ([], False),
    ],
)
def test_a_list_of_steps_is_judged_alike(tmp_path: Path, steps: Any, good: bool) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"workflow_name": "linear", "steps": steps}))
    assert verdicts(path) == (good, good)
    assert good or "✘" in call("validate", path).output
    assert call("graph", path).exit_code == (0 if good else 2)


@rows("text", ["{", "[]", "7", "null", "{}", '{"asl": 7}', '{"States": {}}', '{"asl": {}}', ""])
def test_what_is_no_workflow_is_refused_by_both(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.json"
    path.write_text(text)
    assert verdicts(path) == (False, False)
