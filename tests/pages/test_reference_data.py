"""The data of the reference: every code and event that the source has is described, and nothing else."""

import ast
from collections.abc import Iterator
from functools import cache
from typing import TypeGuard

from dcf import errors
from dcf.core.documents.notices import TO_RUNS, NoticeKind
from dcf.core.listing.event_kinds import HISTORY, INBOX
from dcf.errors import DcfError
from dcf.tools.mcp.reference import OF_EVERY_TOOL
from dcf.tools.mcp.selection import documented_tools
from dcf.verbs.answers.refusal_codes import REFUSALS, REPEATABLE
from deploy.reference import client
from tests.support.paths import ROOT

EVENTS = frozenset({"RunHeld", "RunReleased", "RunSealed", "GroupSealed"})
"""Events whose type the source chooses of two."""


@cache
def calls() -> tuple[ast.Call, ...]:
    files = (ROOT / "dcf").rglob("*.py")
    return tuple(node for file in files for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))


def events() -> Iterator[tuple[str, set[str]]]:
    """The types of events that the source makes, with their fields."""
    for call in calls():
        names = {word.arg: word.value for word in call.keywords}
        if isinstance(call.func, ast.Name) and call.func.id == "Event" and isinstance(names.get("type"), ast.Constant):
            data = names.get("data")
            written = data.keys if isinstance(data, ast.Dict) else ()
            fields = {str(key.value) for key in written if isinstance(key, ast.Constant)}
            if isinstance(data, ast.Call):  # request.told(name=value)
                fields = {word.arg for word in data.keywords if word.arg is not None}
            yield str(ast.literal_eval(names["type"])), fields
        is_told = isinstance(call.func, ast.Attribute) and call.func.attr == "_tell"
        if is_told and isinstance(call.args[0], ast.Constant) and str(call.args[0].value).startswith("State"):
            yield str(call.args[0].value), set()


def test_every_event_of_a_history_is_described_with_its_fields() -> None:
    made = list(events())
    assert {name for name, _ in made} | EVENTS == set(HISTORY)
    assert [(name, fields) for name, fields in made if not fields <= set(HISTORY[name].fields)] == []


def test_every_event_of_an_inbox_is_described() -> None:
    of_talk = {kind.value for kind in NoticeKind if kind.value in INBOX} - {NoticeKind.FINISHED.value}
    types = {"workflow_event", "run_finished", "run_stalled", "run_over", "lease_lost"}
    assert set(INBOX) == types | of_talk
    assert of_talk.isdisjoint(kind.value for kind in TO_RUNS)


def classes(kind: type[DcfError]) -> Iterator[type[DcfError]]:
    for below in kind.__subclasses__():
        yield below
        yield from classes(below)


def test_every_code_that_a_tool_declares_is_described_once() -> None:
    declared = {code for spec in documented_tools() for code in spec.codes} | set(OF_EVERY_TOOL)
    of_classes = {kind.code for kind in classes(DcfError)}
    assert declared - of_classes - set(REFUSALS) == set()
    assert of_classes & set(REFUSALS) == set()
    assert set(REFUSALS) >= REPEATABLE


def codes_of_refusals() -> Iterator[str]:
    """The codes of the rows of refusals, and of refusals that are made directly."""
    for call in calls():
        match call:
            case ast.Call(ast.Attribute(ast.Name(kind), "kind"), [ast.Constant(str(code)), *_]) if "Refus" in kind:
                yield code
            case ast.Call(ast.Name(kind), keywords=words) if kind.endswith("Refusal"):
                yield from (str(word.value.value) for word in words if word.arg == "code" and is_constant(word.value))


def is_constant(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant)


def test_every_code_of_a_refusal_in_the_source_is_described() -> None:
    made = set(codes_of_refusals())
    assert {"lease_held", "not_found"} <= made
    assert made - set(REFUSALS) - {kind.code for kind in classes(DcfError)} == set()


def test_the_page_of_errors_has_every_class_of_error() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text("utf-8")
    of_module = [kind for kind in classes(DcfError) if kind.__module__ == errors.__name__ and kind.code != "error"]
    assert [kind.__name__ for kind in of_module if f"| `{kind.__name__}` |" not in page] == []


def test_the_page_of_the_client_shows_what_a_method_returns_and_takes() -> None:
    page = client.render()
    assert "def get(workflow_id: str) -> RunDetails: ..." in page
    assert ") -> Iterator[ListedRun]: ..." in page
    assert "### dcf.client.RunDetails" in page
    assert "created_at: datetime | None" in page
    assert "Generator[" not in page
