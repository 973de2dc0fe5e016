"""The tool by which a planner validates a workflow before anything is created."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.data import find_directory
from dcf.values.json_text import Json, parse
from dcf.verbs.answers import planner_steps
from dcf.verbs.answers.beginnings import AGENTS_MAP, WORKFLOW, WORKFLOW_FORMS
from dcf.verbs.registry import ONLY_CONFIGURED, Answer, Arguments, JsonObject, refuse_other, tool
from dcf.verbs.unlisted import UNLISTED
from dcf.workflows.validation import Validation
from dcf.workflows.validation.given import validate_given
from dcf.workflows.validation.schema import SCHEMA_NAME, configured_schema
from dcf.workflows.validation.schema_files import read_schema
from dcf.workflows.validation.verdict import EXIT_CODES

_SHOWN: Final = 50


class ValidateWorkflow(Arguments):
    """Validate a Letta-ASL workflow before you start it: repeat until exit_code is 0.

    Checks its form, loads what it imports, looks up every agent and skill that its Tasks name, and checks every rule
    of the language; `problems` lists all that is wrong, each with a JSON Pointer and what to do.
    """

    workflow_json: JsonObject = Field(description=WORKFLOW_FORMS, examples=[WORKFLOW])
    agents_map_json: JsonObject | None = Field(default=None, description=AGENTS_MAP)
    schema_path: str | None = Field(
        default=None, max_length=1000, description=ONLY_CONFIGURED.format("schema"), json_schema_extra=UNLISTED
    )
    imports_base_dir: str | None = Field(
        default=None,
        max_length=1000,
        description=ONLY_CONFIGURED.format("directory for af_imports"),
        json_schema_extra=UNLISTED,
    )
    skills_base_dir: str | None = Field(
        default=None,
        max_length=1000,
        description=ONLY_CONFIGURED.format("directory for skill_imports"),
        json_schema_extra=UNLISTED,
    )


class WorkflowValidated(Answer):
    """The verdict, the seed's pattern A: exit_code is 0 valid, 1 schema, 2 imports or references, 3 graph, 4 other.

    `defaulted`: what the workflow leaves open, and what a run would take instead.
    """

    ok: bool = False
    exit_code: int = EXIT_CODES["input"]
    schema_errors: list[str] = Field(default_factory=list)
    resolution: dict[str, Any] = Field(default_factory=dict)
    graph: dict[str, Any] = Field(default_factory=dict)
    warnings: list[str] = Field(default_factory=list)
    defaulted: list[str] = Field(default_factory=list)
    problems: list[dict[str, str]] = Field(default_factory=list)


@tool(
    toolset="planning",
    scope=Scope.READ,
    profiles=("planner", "operator"),
    arguments=ValidateWorkflow,
    answer=WorkflowValidated,
    read_only=True,
    of_no_run=True,
)
def validate_workflow(app: Application, args: ValidateWorkflow) -> WorkflowValidated:
    """Validate a workflow document."""
    settings = app.settings
    refuse_other("imports_base_dir", args.imports_base_dir, settings.workflows_dir)
    refuse_other("skills_base_dir", args.skills_base_dir, settings.manifests_dir)
    schema = configured_schema(settings.workflow_schema, settings.schemas_dir, SCHEMA_NAME)
    refuse_other("schema_path", args.schema_path, schema or Path("schemas") / SCHEMA_NAME)
    agents = None if args.agents_map_json is None else parse(args.agents_map_json, name="agents_map_json")
    verdict = validate_given(
        args.workflow_json,
        assigned=agents,
        imports_base_dir=settings.workflows_dir,
        skills_base_dir=find_directory(settings.manifests_dir),
        agents_dir=find_directory(settings.agents_dir),
        schema=None if schema is None else read_schema(schema),
    )
    return _answer(verdict, agents or {})


def _answer(verdict: Validation, agents: Mapping[str, Json]) -> WorkflowValidated:
    found = verdict.as_json() | {"problems": [one.as_json() for one in verdict.problems[:_SHOWN]]}
    if verdict.ok:
        steps = planner_steps.after_validation(verdict.open_tasks, agents, has_templates=verdict.has_templates)
        return WorkflowValidated(status="The workflow is valid.", next=[one.as_json() for one in steps], **found)
    first, code = verdict.problems[0], "invalid_argument" if verdict.stage == "input" else "invalid_definition"
    more = f" There are {len(verdict.problems) - 1} more in problems." if len(verdict.problems) > 1 else ""
    error = f"{code}: {first.message}{more}"
    steps = [planner_steps.describe_language()]
    return WorkflowValidated(error=error, code=code, hint=first.hint, next=[one.as_json() for one in steps], **found)
