"""Reads jobs from `.deepwork/jobs/NAME/job.yml`, in both of their forms, with the instructions that they name.

The earlier form has `steps` with outputs, dependencies and files of instructions; the later one `step_arguments` and
`workflows` with steps of their own. The definition keeps the unchanged file, its form, and the texts of the
instructions. All problems of a file are reported. This module must not write files.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from dcf.authoring.files import SourceFiles
from dcf.authoring.yaml_text import read_yaml
from dcf.features.catalogue.model import DefinitionKind, NewDefinition, Owner
from dcf.values.located import Located, LocatedFields, Report, SourcePlace

HIDDEN: Final = ".deepwork"
PATTERN: Final = "jobs/*/job.yml"

STEPS: Final = "steps"
ARGUMENTS: Final = "step_arguments"
"""The two forms, by the member that only one of them has."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_NAME_MEANS: Final = "a lower-case letter, then lower-case letters, digits or _"
_VERSION: Final = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}")
_LONGEST_SUMMARY: Final = 200
_DOC_SPECS: Final = ".deepwork/doc_specs/"
_AUTHOR: Final = "files"

_JOB: Final = ("name", "version", "summary", "description", "workflows", "changelog", "steps")
_STEP: Final = (
    *("id", "name", "description", "instructions_file", "inputs", "outputs", "dependencies", "quality_criteria"),
    *("hooks", "agent", "exposed", "hidden", "stop_hooks"),
)
_HOOKS: Final = ("after_agent", "before_tool", "before_prompt")
_HOOK: Final = ("prompt", "prompt_file", "script")
_LATER_JOB: Final = ("name", "summary", "step_arguments", "workflows")
_LATER_WORKFLOW: Final = (
    *("summary", "steps", "agent", "common_job_info_provided_to_all_steps_at_runtime"),
    "post_workflow_instructions",
)
_LATER_STEP: Final = ("name", "instructions", "sub_workflow", "inputs", "outputs", "process_requirements")
_REVIEW: Final = ("strategy", "instructions", "agent", "additional_context")


def read_job(files: SourceFiles, name: str, owner: Owner) -> NewDefinition | None:
    """Read one job; None, and reported problems, if it is none."""
    text = files.read(name)
    node = None if text is None else read_yaml(text, name, files.report)
    if node is None:
        return None
    is_later = isinstance(node.value, dict) and ARGUMENTS in node.value
    fields = LocatedFields(node, files.report, _LATER_JOB if is_later else _JOB)
    fields.require("name", "summary", "workflows" if is_later else "version")
    job = fields.name("name", _NAME, _NAME_MEANS)
    folder = PurePosixPath(name).parent
    if job != folder.name and "name" in fields:
        files.report.warn(fields.place_of("name"), f"The folder is called '{folder.name}', the job '{job}'.")
    instructions: dict[str, str] = {}
    if is_later:
        _read_later(fields)
    else:
        fields.require(STEPS)
        instructions = _read_steps(files, fields, folder)
    return NewDefinition(
        kind=DefinitionKind.JOB,
        name=job,
        content={"form": ARGUMENTS if is_later else STEPS, "job": node.plain(), "instructions": instructions},
        author=_AUTHOR,
        owner=owner,
        version=None if is_later else fields.name("version", _VERSION, "a version such as 1.0.0") or None,
        description=fields.text("summary", longest=_LONGEST_SUMMARY),
        source=f"{HIDDEN}/{name}",
        relabel=True,
    )


def circle_in(needs: Mapping[str, Iterable[str]]) -> str | None:
    """Return a name that depends on itself, directly or by others; None if none does."""
    left = {name: set(need) & set(needs) for name, need in needs.items()}
    while left:
        free = {name for name, needed in left.items() if not needed}
        if not free:
            return min(left)
        left = {name: needed - free for name, needed in left.items() if name not in free}
    return None


def _read_steps(files: SourceFiles, fields: LocatedFields, folder: PurePosixPath) -> dict[str, str]:
    """Check the steps and workflows of the earlier form; return the texts of the instructions by step."""
    report, instructions = files.report, dict[str, str]()
    steps = [LocatedFields(node, report, _STEP) for node in fields.items(STEPS, most=200)]
    if not steps:
        report.refuse(fields.place_of(STEPS), "missing_field", "A job has one step at least.", "Write a step.")
    needs: dict[str, tuple[str, ...]] = {}
    for step in steps:
        step.require("id", "name", "description", "instructions_file", "outputs")
        step_id = step.name("id", _NAME, _NAME_MEANS)
        _refuse_twice(needs, step_id, "steps", step.place_of("id"), report)
        needs[step_id] = step.texts("dependencies")
        if "instructions_file" in step:
            file = str(folder / step.text("instructions_file", longest=400))
            text = files.read(file, named_at=step.place_of("instructions_file"))
            instructions[step_id] = text or ""
        _check_outputs(step)
        _check_hooks(step, files, folder)
    for step in steps:
        _check_needs(step, needs)
    circle = circle_in(needs)
    if circle is not None:
        message = f"Step '{circle}' depends on itself, directly or by others."
        report.refuse(fields.place_of(STEPS), "circle", message, "Remove one of the dependencies.")
    _check_workflows(fields, set(needs))
    return instructions


def _refuse_twice(seen: Collection[str], name: str, nouns: str, place: SourcePlace, report: Report) -> None:
    if name in seen:
        report.refuse(place, "twice", f"There are two {nouns} '{name}'.", "Rename one of them.")


def _check_needs(step: LocatedFields, needs: Mapping[str, tuple[str, ...]]) -> None:
    """Report dependencies that are no steps, and files of steps that this one does not depend on."""
    own = step.texts("dependencies")
    for need in own:
        if need not in needs:
            hint = f"Steps are: {', '.join(sorted(needs))}."
            step.report.refuse(step.place_of("dependencies"), "unknown_step", f"There is no step '{need}'.", hint)
    for node in step.items("inputs"):
        need_fields = LocatedFields(node, step.report, ("name", "description", "file", "from_step"))
        if "file" in need_fields or "from_step" in need_fields:
            need_fields.require("file", "from_step")
            source = need_fields.text("from_step")
            if source not in own:
                message = f"The file comes from step '{source}', which this step does not depend on."
                step.report.refuse(need_fields.place, "not_a_dependency", message, "Add the step to dependencies.")
        else:
            need_fields.require("name", "description")


def _check_outputs(step: LocatedFields) -> None:
    for node in step.items("outputs"):
        if isinstance(node.value, str):
            continue
        output = LocatedFields(node, step.report, ("file", "doc_spec"))
        output.require("file")
        output.text("file", longest=400)
        if "doc_spec" in output and not output.text("doc_spec").startswith(_DOC_SPECS):
            message = f"doc_spec is not below {_DOC_SPECS}."
            step.report.refuse(output.place_of("doc_spec"), "invalid_value", message, "Correct the path.")


def _check_hooks(step: LocatedFields, files: SourceFiles, folder: PurePosixPath) -> None:
    hooks = LocatedFields(step.part("hooks"), step.report, _HOOKS)
    for when in _HOOKS:
        for node in hooks.items(when):
            hook = LocatedFields(node, step.report, _HOOK)
            chosen = [name for name in _HOOK if name in hook]
            if len(chosen) != 1:
                message = "A hook has one of prompt, prompt_file and script."
                step.report.refuse(hook.place, "invalid_value", message, "Write one of them.")
            elif chosen != ["prompt"]:
                files.read(str(folder / hook.text(chosen[0], longest=400)), named_at=hook.place_of(chosen[0]))


def _check_workflows(fields: LocatedFields, steps: set[str]) -> None:
    seen: set[str] = set()
    for node in fields.items("workflows"):
        flow = LocatedFields(node, fields.report, ("name", "summary", "steps"))
        flow.require("name", "summary", "steps")
        name = flow.name("name", _NAME, _NAME_MEANS)
        flow.text("summary", longest=_LONGEST_SUMMARY)
        _refuse_twice(seen, name, "workflows", flow.place_of("name"), fields.report)
        seen.add(name)
        listed = [member for entry in flow.items("steps") for member in _members(entry, fields.report)]
        for item in sorted(set(listed) - steps):
            hint = f"Steps are: {', '.join(sorted(steps))}."
            fields.report.refuse(flow.place_of("steps"), "unknown_step", f"There is no step '{item}'.", hint)
        for item in sorted({name for name in listed if listed.count(name) > 1}):
            fields.report.refuse(flow.place_of("steps"), "twice", f"Step '{item}' stands there twice.", "Remove one.")


def _members(entry: Located, report: Report) -> list[str]:
    """Return the steps of an entry: one, or several that run side by side."""
    group = entry.value if isinstance(entry.value, list) else [entry]
    for step in group:
        if not isinstance(step.value, str):
            report.refuse(step.place, "wrong_type", "This must be the id of a step.", "Write the id of a step.")
    return [item.value for item in group if isinstance(item.value, str)]


def _read_later(fields: LocatedFields) -> None:
    """Check the arguments and workflows of the later form."""
    report, arguments = fields.report, set[str]()
    for node in fields.items(ARGUMENTS, most=500):
        item = LocatedFields(node, report, ("name", "description", "type", "review", "json_schema"))
        item.require("name", "description", "type")
        item.choice("type", ("string", "file_path"), "string")
        _refuse_twice(arguments, item.text("name"), "arguments", item.place, report)
        arguments.add(item.text("name"))
        _check_review(item)
    for _, node in fields.pairs("workflows"):
        flow = LocatedFields(node, report, _LATER_WORKFLOW)
        flow.require("summary", "steps")
        flow.text("summary", longest=_LONGEST_SUMMARY)
        seen: set[str] = set()
        for entry in flow.items("steps", most=200):
            _check_later_step(LocatedFields(entry, report, _LATER_STEP), arguments, seen)


def _check_later_step(step: LocatedFields, arguments: set[str], seen: set[str]) -> None:
    report = step.report
    step.require("name")
    name = step.text("name")
    _refuse_twice(seen, name, "steps", step.place, report)
    seen.add(name)
    if ("instructions" in step) == ("sub_workflow" in step):
        message = "A step has either instructions or a sub_workflow."
        report.refuse(step.place, "invalid_value", message, "Write one of them.")
    nested = LocatedFields(step.part("sub_workflow"), report, ("workflow_name", "workflow_job"))
    if "sub_workflow" in step:
        nested.require("workflow_name")
    for side, known in (("inputs", ("required",)), ("outputs", ("required", "review"))):
        for argument, node in step.pairs(side):
            if argument not in arguments:
                hint = f"Arguments are: {', '.join(sorted(arguments))}."
                report.refuse(node.place, "unknown_argument", f"There is no argument '{argument}'.", hint)
            fields = LocatedFields(Located(node.value or {}, node.place), report, known)
            fields.flag("required", default=True)
            _check_review(fields)
    for _, node in step.pairs("process_requirements"):
        if not isinstance(node.value, str):
            report.refuse(node.place, "wrong_type", "A requirement is a sentence.", "Write a sentence.")


def _check_review(owner: LocatedFields) -> None:
    if "review" not in owner:
        return
    review = LocatedFields(owner.part("review"), owner.report, _REVIEW)
    review.require("strategy", "instructions")
    review.choice("strategy", ("individual", "matches_together"), "individual")
