"""The tool as a function: what a server does with every tool is tested elsewhere."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dcf.application.application import Application
from dcf.errors import InvalidArgument
from dcf.settings.process import Settings
from dcf.verbs.examples import smallest_call
from dcf.verbs.registry import TOOLS
from tests.support.tables import rows

GOOD = {
    "workflow_id": "w",
    "workflow_name": "Small",
    "version": "1.0.0",
    "af_imports": [{"uri": "worker.af"}],
    "asl": {
        "StartAt": "A",
        "States": {"A": {"Type": "Task", "AgentBinding": {"agent_template_ref": {"name": "worker"}}, "End": True}},
    },
}


@pytest.fixture
def application(tmp_path: Path) -> Application:
    (tmp_path / "worker.af").write_text('{"agents": [{"id": "agent-0", "name": "worker"}]}')
    settings = Settings(workflows_dir=tmp_path, manifests_dir=tmp_path)
    return cast("Application", SimpleNamespace(settings=settings))


def ask(application: Application, workflow_json: Any = GOOD, **arguments: Any) -> Any:
    spec = TOOLS["validate_workflow"]
    spec.build()
    return spec.run(application, spec.arguments.model_validate({"workflow_json": workflow_json, **arguments}))


def test_it_is_a_tool_of_the_planner_that_changes_nothing() -> None:
    spec = TOOLS["validate_workflow"]
    assert (spec.toolset, spec.read_only) == ("planning", True)
    assert spec.description.startswith("Validate a workflow")


def test_a_valid_workflow_is_ok_as_text_and_as_an_object(application: Application) -> None:
    for workflow in (GOOD, json.dumps(GOOD)):
        answer = ask(application, workflow)
        assert (answer.ok, answer.exit_code, answer.error, answer.code) == (True, 0, None, "ok")
        assert answer.status == "The workflow is valid."


def test_the_smallest_call_that_hints_show_is_valid_with_what_is_shipped() -> None:
    shipped = cast("Application", SimpleNamespace(settings=Settings()))
    assert ask(shipped, **smallest_call(TOOLS["validate_workflow"])).ok


@rows(
    ("change", "exit_code"),
    [
        ({"surplus": 1}, 1),
        ({"af_imports": [{"uri": "none.af", "version": "2"}]}, 2),
        ({"asl": {"StartAt": "Z", "States": GOOD["asl"]["States"]}}, 3),  # type: ignore[index]
    ],
)
def test_an_invalid_one_is_answered_with_its_problems(application: Application, change: Any, exit_code: int) -> None:
    answer = ask(application, GOOD | change)
    assert (answer.ok, answer.exit_code, answer.code, answer.status) == (False, exit_code, "invalid_definition", None)
    assert str(answer.error).startswith("invalid_definition: ")
    assert answer.hint == answer.problems[0]["hint"]


def test_what_is_no_json_has_exit_code_4(application: Application) -> None:
    answer = ask(application, "{")
    assert (answer.exit_code, answer.code) == (4, "invalid_argument")


@rows("name", ["schema_path", "imports_base_dir", "skills_base_dir"])
@rows("path", ["/etc", "..", "/", "a\x00b"])
def test_a_caller_cannot_choose_another_path(application: Application, name: str, path: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name} may not be chosen"):
        ask(application, **{name: path})


def test_a_caller_may_repeat_the_configured_paths(application: Application, tmp_path: Path) -> None:
    schema = "schemas/letta_asl_workflow_schema_v2.2.0.json"
    assert ask(application, imports_base_dir=str(tmp_path), skills_base_dir=f"{tmp_path}/", schema_path=schema).ok


def test_a_configured_schema_takes_the_place_of_the_shipped_one(tmp_path: Path, application: Application) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"required": ["owner"]}')
    settings = application.settings.model_copy(update={"workflow_schema": path})
    answer = ask(cast("Application", SimpleNamespace(settings=settings)))
    assert [*answer.schema_errors] == ["<root>: owner is missing."]


def test_a_directory_of_schemas_takes_the_place_of_the_shipped_ones(tmp_path: Path, application: Application) -> None:
    settings = application.settings.model_copy(update={"schemas_dir": tmp_path})
    other = cast("Application", SimpleNamespace(settings=settings))
    assert ask(other).ok, "what the directory does not have is the shipped one"
    (tmp_path / "letta_asl_workflow_schema_v2.2.0.json").write_text('{"required": ["owner"]}')
    assert [*ask(other).schema_errors] == ["<root>: owner is missing."]


def test_no_more_problems_are_shown_than_can_be_read(application: Application) -> None:
    answer = ask(application, GOOD | {f"surplus-{at}": 1 for at in range(200)})
    assert len(answer.problems) == 50
    assert "199 more in problems" in str(answer.error)
