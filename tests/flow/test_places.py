"""An expression that fails in a run, or is wrong in the document, is named by its own line."""

import json
from pathlib import Path
from typing import Any

from dcf import testing
from dcf.core.definitions.forms import as_workflow
from dcf.core.definitions.sources import SOURCE, line_of, place_of, position_of
from dcf.flow.compiling import compile_flow
from tests.flow.agreement import load
from tests.support.tables import rows

FLOW = """
from typing import Any
from dcf import flow, task

@task
def one(n: int, m: int) -> dict[str, int]:
    return {"n": n}

@flow
def main(n: int, d: dict[str, int]) -> Any:
    x = one(
        n,
        d["m"],
    )
    y = x["n"] // d["zero"]
    if n > 5:
        return 5
    elif n > 4 and (
        d["e"] > 2
    ):
        return 4
    for q in [
        d["q"],
    ]:
        one(q, 1)
    return {
        "a": n,
        "b": [
            1,
            d["c"],
        ],
    }
"""
GOOD = {"m": 1, "zero": 1, "e": 1, "q": 1, "c": 1}


def failed(folder: Path, run_input: dict[str, Any]) -> str | None:
    path = folder / "lines.py"
    path.write_text(FLOW, "utf-8")
    flow = load(path).main
    story = testing.run(flow, run_input)
    last = next(event for event in reversed(story.events) if event["event"] == "failed")
    document = compile_flow(flow).document
    lines = {line_of(form, str(last["path"]), last["cause"]) for form in (document, as_workflow(document))}
    assert len(lines) == 1, "runs keep the machine of a document in its field asl"
    return lines.pop()


@rows(
    ("n", "missing", "line"),
    [
        (1, "m", 'lines.py:13: d["m"],'),
        (1, "zero", 'lines.py:15: y = x["n"] // d["zero"]'),
        (5, "e", "lines.py:18: elif n > 4 and ("),
        (1, "q", 'lines.py:23: d["q"],'),
        (1, "c", 'lines.py:30: d["c"],'),
    ],
)
def test_the_line_of_the_expression_that_failed_is_told(tmp_path: Path, n: int, missing: str, line: str) -> None:
    keys = {key: value for key, value in GOOD.items() if key != missing}
    assert failed(tmp_path, {"n": n, "d": keys}) == line


def compiled(folder: Path) -> dict[str, Any]:
    path = folder / "lines.py"
    path.write_text(FLOW, "utf-8")
    return compile_flow(load(path).main).document


def test_pointers_into_the_document_have_the_line_of_the_nearest_field(tmp_path: Path) -> None:
    document = compiled(tmp_path)
    assert position_of(document, "/States/one/Arguments/m") == ("lines.py", 13, 9)
    assert position_of(document, "/States/one/Assign/y") == ("lines.py", 15, 9)
    assert position_of(document, "/States/one/Resource") == ("lines.py", 11, 9)
    assert position_of(document, "/Version") is None


def test_a_cause_that_is_none_of_the_state_names_the_state(tmp_path: Path) -> None:
    document = compiled(tmp_path)
    cause = "The JSONata expression '$other' specified for the field 'Assign/y' returned nothing (undefined)."
    assert place_of(document, "one", cause) == "lines.py:11"
    assert place_of(document, "one", "States.Timeout") == "lines.py:11"


def test_places_of_fields_stand_only_where_their_line_is_another_one(tmp_path: Path) -> None:
    source = compiled(tmp_path)[SOURCE]
    assert source["fields"]["one"] == {
        "Arguments/n": "lines.py:12:9",
        "Arguments/m": "lines.py:13:9",
        "Assign/y": "lines.py:15:9",
    }
    assert "one 2" not in source["fields"]
    assert type(compiled(tmp_path)["States"]["one"]["Assign"]["y"]) is str
    assert json.loads(json.dumps(source)) == source
