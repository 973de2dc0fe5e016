"""The four sources of templates, in the order of create_worker_agents: what is valid can be created."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcf.workflows.validation import Validation, validate_document
from dcf.workforce.crew.templates import read_staffing
from tests.support.tables import rows

SOURCES = ("embedded", "external", "disk", "inline")
Workflow = Callable[..., dict[str, Any]]


def bundle(*agents: dict[str, Any]) -> dict[str, Any]:
    return {"agents": list(agents), "blocks": [], "tools": []}


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    """Makes a document whose Task names this template; each source has the agent of its name and `shared`."""
    imports, templates = tmp_path / "imports", tmp_path / "templates"
    for directory in (imports, templates):
        directory.mkdir()
    (imports / "all.af").write_text(json.dumps(bundle(*agents("external"))))
    for agent in agents("disk"):
        (templates / f"{agent['name']}.af").write_text(json.dumps(bundle(agent)))

    def make(name: str, *, field: str = "agent_template_ref", sources: tuple[str, ...] = SOURCES) -> dict[str, Any]:
        task = {"Type": "Task", "AgentBinding": {field: {"name": name}}, "End": True}
        made: dict[str, Any] = {"workflow_id": "w", "workflow_name": "A workflow", "version": "1.0.0"}
        if "embedded" in sources:
            made["af_v2_entities"] = bundle(*agents("embedded"))
        if "external" in sources:
            made["af_imports"] = [{"uri": "all.af", "version": "2"}]
        if "inline" in sources:
            made["agents"] = [{"agent_name": world["name"], "agent_config": world} for world in agents("inline")]
        return made | {"asl": {"StartAt": "A", "States": {"A": task}}}

    return make


def agents(source: str) -> list[dict[str, Any]]:
    return [{"name": name, "tags": [f"from:{source}"]} for name in (source, "shared")]


def judged(place: Path, document: dict[str, Any]) -> Validation:
    imports = place / "imports"
    return validate_document(
        document, imports_base_dir=imports, skills_base_dir=imports, agents_dir=place / "templates"
    )


def made_from(place: Path, document: dict[str, Any]) -> Any:
    (staffing,) = read_staffing(document, import_dirs=(place / "imports",), agents_dir=place / "templates")
    assert staffing.description is not None
    return staffing.description.agent["tags"]


@rows("field", ["agent_template_ref", "agent_ref"])
@rows("source", SOURCES)
def test_each_source_is_valid_and_is_what_the_agent_is_made_from(
    tmp_path: Path, workflow: Workflow, source: str, field: str
) -> None:
    document = workflow(source, field=field)
    assert judged(tmp_path, document).problems == ()
    assert made_from(tmp_path, document) == [f"from:{source}"]


@rows("first", range(3))
def test_the_first_source_that_has_the_name_is_used(tmp_path: Path, workflow: Workflow, first: int) -> None:
    """The directory of templates is always there: after it comes only what it does not have."""
    document = workflow("shared", sources=SOURCES[first:])
    assert judged(tmp_path, document).ok
    assert made_from(tmp_path, document) == [f"from:{SOURCES[first]}"]


@rows("name", ["nobody", "../templates/disk", ".disk", "templates/disk"])
def test_a_name_in_no_source_is_unresolved(tmp_path: Path, workflow: Workflow, name: str) -> None:
    verdict = judged(tmp_path, workflow(name))
    assert verdict.exit_code == 2
    assert [problem.code for problem in verdict.problems] == ["unresolved_agent"]


@rows("embedded", [{"agents": {}}, [], {"blocks": []}])
def test_embedded_agents_of_the_wrong_form_are_refused(tmp_path: Path, workflow: Workflow, embedded: Any) -> None:
    verdict = judged(tmp_path, workflow("inline") | {"af_v2_entities": embedded})
    assert verdict.exit_code == 1
    assert "/af_v2_entities" in {problem.path[:15] for problem in verdict.problems}
