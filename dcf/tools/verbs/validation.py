"""The verb by which a planner validates a workflow before anything is created."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from dcf.data import find_directory
from dcf.tools.verbs.arguments import Assigned, Workflow
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers import planner_steps
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, RefusedWith, verb
from dcf.verbs.records.validation import ValidatedWorkflow
from dcf.verbs.registry import ONLY_CONFIGURED, refuse_other
from dcf.workflows.validation import Validation
from dcf.workflows.validation.given import validate_given
from dcf.workflows.validation.schema import SCHEMA_NAME, configured_schema
from dcf.workflows.validation.schema_files import read_schema
from dcf.workflows.validation.verdict import EXIT_CODES

if TYPE_CHECKING:
    from dcf.application.application import Application

_SHOWN: Final = 50

Configured = Annotated[str | None, Argument(means="", max_length=1000, listed=False)]
"""A path that the server knows, and no caller chooses."""


@verb(
    toolset="planning",
    scope="read",
    lists=("planner", "operator"),
    effect="reads",
    says=lambda _: "The workflow is valid.",
    codes=("invalid_definition",),
    method="validate",
    steps="dcf.client.steps.validation:validate",
    of_no_run=True,
    in_refusals={
        "ok": False,
        "exit_code": EXIT_CODES["input"],
        "schema_errors": [],
        "resolution": {},
        "graph": {},
        "warnings": [],
        "defaulted": [],
        "problems": [],
    },
    command_by_hand="validate",
)
def validate_workflow(
    on: "Application",
    workflow: Workflow,
    *,
    agents: Assigned = None,
    schema_path: Annotated[Configured, Argument(means=ONLY_CONFIGURED.format("schema"))] = None,
    imports_base_dir: Annotated[Configured, Argument(means=ONLY_CONFIGURED.format("directory for af_imports"))] = None,
    skills_base_dir: Annotated[
        Configured, Argument(means=ONLY_CONFIGURED.format("directory for skill_imports"))
    ] = None,
) -> Answered[ValidatedWorkflow] | RefusedWith:
    """Validate a workflow, with all that it names, before you start it: repeat until exit_code is 0.

    `problems` lists all that is wrong, each with a JSON Pointer and what to do.
    """
    settings = on.settings
    refuse_other("imports_base_dir", imports_base_dir, settings.workflows_dir)
    refuse_other("skills_base_dir", skills_base_dir, settings.manifests_dir)
    schema = configured_schema(settings.workflow_schema, settings.schemas_dir, SCHEMA_NAME)
    refuse_other("schema_path", schema_path, schema or Path("schemas") / SCHEMA_NAME)
    assigned = None if agents is None else parse(agents, name="agents_map_json")
    return _answer(judged(on, workflow, assigned, None if schema is None else read_schema(schema)), assigned or {})


def judged(on: "Application", workflow: Json, assigned: Json, schema: Mapping[str, Json] | None) -> Validation:
    """Return the verdict about a workflow, with what it imports from the configured directories."""
    settings = on.settings
    return validate_given(
        workflow,
        assigned=assigned,
        imports_base_dir=settings.workflows_dir,
        skills_base_dir=find_directory(settings.manifests_dir),
        agents_dir=find_directory(settings.agents_dir),
        schema=schema,
    )


def _answer(verdict: Validation, agents: Mapping[str, Json]) -> Answered[ValidatedWorkflow] | RefusedWith:
    members = verdict.as_json() | {"problems": [problem.as_json() for problem in verdict.problems[:_SHOWN]]}
    if verdict.ok:
        steps = planner_steps.after_validation(verdict.open_tasks, agents, has_templates=verdict.has_templates)
        return Answered(ValidatedWorkflow, {**members, "next": [step.as_json() for step in steps]})
    first, code = verdict.problems[0], "invalid_argument" if verdict.stage == "input" else "invalid_definition"
    more = f" There are {len(verdict.problems) - 1} more in problems." if len(verdict.problems) > 1 else ""
    refusal = Refusal(code=code, message=f"{first.message}{more}", hint=first.hint)
    return RefusedWith(refusal, {**members, "next": [planner_steps.describe_language().as_json()]})


add_tools(__name__)
