"""Jobs of DeepWork: `job.yml` read into steps and workflows, and a workflow made into a machine of dcf. Pure.

A workflow is its steps in a row. Members of a concurrent group are steps of their own, one after the other: each is
reported separately, with its own gate, and none can be left out. The helper on the agent's machine puts the text of
`instructions_file` into `instructions` before it registers a job.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dcf.authoring.yaml_text import read_yaml
from dcf.core.documents.stored_values import list_of, object_of, objects_of, text_of, texts_of
from dcf.profiles.profile import NotDone, refuse
from dcf.values.json_text import Json
from dcf.values.located import Report
from dcf.values.records import record

GATE: Final = "quality"
MOST_STEPS: Final = 200
QUALITY_GATE: Final = "quality-gate"
"""The reviewer if the project has a command that reviews: a name that no agent of a job has."""
NOBODY: Final = "nobody"
"""The reviewer if a user works alone, without a command that reviews."""
MOST_ATTEMPTS: Final = 3
"""Failed reviews of one step, after which people decide."""
_MOST_BY_COMMAND: Final = 100
"""Failed reviews by a command, after which people decide: before that it is run again each time."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,79}\Z")
_LONGEST: Final = 15_000
"""Most characters of instructions in the workflow; a run's input has the whole text."""


@record(frozen=True, slots=True, kw_only=True)
class JobStep:
    """One step of a job."""

    id: str
    instructions: str
    outputs: tuple[str, ...]
    criteria: tuple[str, ...]

    def as_json(self) -> dict[str, Json]:
        """Return the step for the run's input, so that later edits of the job do not change a run in progress."""
        members = {"instructions": self.instructions, "outputs": list(self.outputs), "criteria": list(self.criteria)}
        return {"id": self.id, **members}


@record(frozen=True, slots=True, kw_only=True)
class JobWorkflow:
    """A workflow of a job: its groups of steps, each of one step or of several that are concurrent."""

    name: str
    summary: str
    groups: tuple[tuple[str, ...], ...]


@record(frozen=True, slots=True, kw_only=True)
class DeepWorkJob:
    """A job."""

    name: str
    summary: str
    description: str | None
    steps: Mapping[str, JobStep]
    workflows: Mapping[str, JobWorkflow]
    reviewers: tuple[str, ...] = ()


def document_of(text: str) -> dict[str, Json]:
    """Return the document that a job's YAML is; raise NotDone where it is none."""
    report = Report()
    yaml_document = read_yaml(text, "job.yml", report)
    if yaml_document is None:
        problem = report.problems[0]
        raise _wrong(f"line {problem.place.line}: {problem.message} {problem.hint}")
    document = yaml_document.plain()
    if not isinstance(document, dict):
        raise _wrong("it is no mapping")
    return document


def read_job(document: Mapping[str, Json]) -> DeepWorkJob:
    """Return a job; raise NotDone with what is wrong with it."""
    name = _named(document.get("name"), "name")
    has_steps = isinstance(document.get("steps"), list)
    workflows = dict(_workflows(document.get("workflows"), document))
    steps = {step.id: step for step in (_seed_steps(document) if has_steps else _inline_steps(document))}
    if not has_steps:
        workflows = {key: item for key, item in workflows.items() if item.groups}
    if not steps or len(steps) > MOST_STEPS:
        raise _wrong(f"it has {len(steps)} steps; 1 to {MOST_STEPS} can be served")
    if not workflows:
        workflows = {
            name: JobWorkflow(name=name, summary=text_of(document.get("summary")), groups=tuple((s,) for s in steps))
        }
    for workflow in workflows.values():
        used = [step for group in workflow.groups for step in group]
        _check_steps(workflow.name, used, steps)
    description = document.get("description") or document.get("common_job_info_provided_to_all_steps_at_runtime")
    return DeepWorkJob(
        name=name,
        summary=text_of(document.get("summary")),
        description=description if isinstance(description, str) else None,
        steps=steps,
        workflows=workflows,
        reviewers=tuple(texts_of(document.get("reviewers"))),
    )


def _check_steps(workflow: str, used: Sequence[str], steps: Mapping[str, JobStep]) -> None:
    if not used:
        raise _wrong(f"workflow '{workflow}' has no steps")
    for step in used:
        if step not in steps:
            raise _wrong(
                f"workflow '{workflow}' names the step '{step}', which is not among the steps: {', '.join(steps)}"
            )
        if used.count(step) > 1:
            raise _wrong(f"workflow '{workflow}' names the step '{step}' twice")


def machine_of(job: DeepWorkJob, workflow: JobWorkflow, reviewed_by: str | None = None) -> dict[str, Json]:
    """Return the workflow as a document of dcf, in which each step is a Task with its instructions and its gate.

    `reviewed_by` is the quality gate or `nobody`; reviewers that the job names review instead of them. By default any
    agent but the author reviews.
    """
    order = order_of(workflow)
    states: dict[str, Json] = {}
    for at, step in enumerate(job.steps[name] for name in order):
        follows = {"Next": order[at + 1]} if at + 1 < len(order) else {"End": True}
        instructions = step.instructions[:_LONGEST].replace("{%", "{ %").replace("%}", "% }")
        is_judged = bool(step.criteria) and (reviewed_by != NOBODY or bool(job.reviewers))
        gates = {"Gates": [_gate(step, job.reviewers, reviewed_by)]} if is_judged else {}
        states[step.id] = {
            "Type": "Task",
            **({"Instructions": instructions} if instructions.strip() else {}),
            **gates,
            **follows,
        }
    machine = {"Comment": workflow.summary, "StartAt": order[0], "States": states}
    return {"workflow_name": f"{job.name}.{workflow.name}", "asl": machine}


def order_of(workflow: JobWorkflow) -> list[str]:
    """Return the steps in the order in which they are carried out."""
    return [step for group in workflow.groups for step in group]


def _gate(step: JobStep, reviewers: Sequence[str], reviewed_by: str | None) -> dict[str, Json]:
    is_by_command = reviewed_by == QUALITY_GATE and not reviewers
    judges = [QUALITY_GATE] if is_by_command else list(reviewers)
    attempts = _MOST_BY_COMMAND if is_by_command else MOST_ATTEMPTS
    gate: dict[str, Json] = {"name": GATE, "kind": "review", "criteria": list(step.criteria)}
    gate |= {"max_attempts": attempts, "then": "ask", "author_may_override": True}  # who has the scope: as there
    return gate | ({"reviewers": judges} if judges else {})


def _workflows(workflows: Json, document: Mapping[str, Json]) -> Iterator[tuple[str, JobWorkflow]]:
    """Yield workflows of both forms: a list whose steps are ids, or a mapping whose steps are written out."""
    if isinstance(workflows, Mapping):
        every = _inline_names(document)
        for name, flow in workflows.items():
            workflow = object_of(flow)
            alone = tuple((_id_of(name, step, every),) for step in objects_of(workflow.get("steps")))
            summary = text_of(workflow.get("summary"))
            yield name, JobWorkflow(name=_named(name, "workflow"), summary=summary, groups=alone)
        return
    for flow in objects_of(workflows):
        name = _named(flow.get("name"), "workflow")
        steps = flow.get("steps")
        groups = tuple(tuple(map(str, part)) if isinstance(part, list) else (str(part),) for part in list_of(steps))
        yield name, JobWorkflow(name=name, summary=text_of(flow.get("summary")), groups=groups)


def _seed_steps(document: Mapping[str, Json]) -> Iterator[JobStep]:
    for step in objects_of(document.get("steps")):
        outputs = [
            part["file"] if isinstance(part, Mapping) and "file" in part else part
            for part in list_of(step.get("outputs"))
        ]
        yield JobStep(
            id=_named(step.get("id"), "step"),
            instructions=text_of(step.get("instructions")) or text_of(step.get("description")),
            outputs=tuple(map(str, outputs)),
            criteria=tuple(_criteria(step.get("quality_criteria"))),
        )


def _inline_steps(document: Mapping[str, Json]) -> Iterator[JobStep]:
    """Yield the steps of the form in which each workflow has its own."""
    every = _inline_names(document)
    for name, workflow in object_of(document.get("workflows")).items():
        for step in objects_of(object_of(workflow).get("steps")):
            if "sub_workflow" in step:
                sub = object_of(step["sub_workflow"])
                instructions = (
                    f"Start the workflow {sub.get('workflow_name')} of job {sub.get('workflow_job', 'this one')}."
                )
            else:
                instructions = text_of(step.get("instructions"))
            yield JobStep(
                id=_id_of(name, step, every),
                instructions=instructions,
                outputs=tuple(object_of(step.get("outputs"))),
                criteria=tuple(map(str, object_of(step.get("process_requirements")).values())),
            )


def _inline_names(document: Mapping[str, Json]) -> "Counter[str]":
    """Count how many steps of all workflows have each name."""
    flows = object_of(document.get("workflows")).values()
    return Counter(text_of(step.get("name")) for flow in flows for step in objects_of(object_of(flow).get("steps")))


def _id_of(workflow: str, step: Mapping[str, Json], every: Mapping[str, int]) -> str:
    """Return the id of a step: its name, with that of its workflow where another one has a step of this name."""
    name = _named(step.get("name"), "step")
    return name if every[name] == 1 else f"{workflow}.{name}"


def _criteria(criteria: Json) -> list[str]:
    """Return the questions of a step; later forms name them."""
    return [str(criterion) for criterion in criteria.values()] if isinstance(criteria, Mapping) else texts_of(criteria)


def _named(value: Json, noun: str) -> str:
    if not isinstance(value, str) or not _NAME.match(value):
        label = "job" if noun == "name" else noun
        raise _wrong(f"the name of a {label} is not like 'my_{label}': lower-case letters, digits and _")
    return value


def _wrong(problem: str) -> NotDone:
    message = f"The job definition is not valid: {problem.rstrip('.')}."
    return refuse("invalid_argument", message, "Correct it, and call again.")
