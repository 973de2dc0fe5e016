"""The pages of the catalogue: what there is to work by, one definition with its picture and source, and its start form.

A workflow that is pasted is validated and drawn, and kept nowhere.
"""

from collections.abc import Mapping
from typing import Final, get_args
from urllib.parse import quote

from dcf.core.definitions.model import read_given
from dcf.errors import DcfError, InvalidArgument
from dcf.features.catalogue.records import DefinitionKindName
from dcf.values.json_text import Json, dump, parse_workflow
from dcf.web.action_table import ACTIONS
from dcf.web.form_fields import Filled, form_of, read_form
from dcf.web.forms import new_request_id
from dcf.web.source_lines import SourceLine, lines_of, lines_of_text, marked, worth_showing
from dcf.web.templating import html, query
from dcf.web.visit import Visit
from dcf.workflows.drawing import draw_svg

KINDS: Final[tuple[str, ...]] = (
    "workflow",
    "skill",
    *(kind for kind in get_args(DefinitionKindName) if kind not in {"workflow", "skill"}),
)
_LISTED: Final = 30
_RUNS: Final = 8
_RUNS_READ: Final = 50
"""Of a workflow that was kept by its starts, the catalogue names the newest version; others are those of its runs."""
_INPUT: Final = "input_json"
_ASKED_LAST: Final = frozenset({"tags_json", "reason"})
"""Arguments of a start that the page asks for once its input is right."""


def workflow_link(name: str, **parameters: str | None) -> str:
    """Return the address of a definition's page."""
    return f"/ui/workflows/{quote(name, safe='')}{query(**parameters)}"


def workflows_page(visit: Visit, parameters: Mapping[str, str]) -> str:
    """Return the catalogue: of one kind, with a search. Raise InvalidArgument for a kind that there is not."""
    kind, text = _kind(parameters), parameters.get("text") or None
    cursor = parameters.get("cursor") or None
    answer = visit.ask("search_definitions", kind=kind, text=text, cursor=cursor, limit=_LISTED)
    further = answer["next_cursor"]
    return html(
        "workflows.html",
        title="Workflows and skills",
        visit=visit,
        kinds=[(kind, f"/ui/workflows{query(kind=kind, text=text)}") for kind in KINDS],
        kind=kind,
        text=text or "",
        rows=[(definition, _link_of(definition)) for definition in answer["definitions"]],
        total=answer["total"],
        is_exact=answer["total_is_exact"],
        further=None if further is None else f"/ui/workflows{query(kind=kind, text=text, cursor=further)}",
        first=None if cursor is None else f"/ui/workflows{query(kind=kind, text=text)}",
        validates=visit.may("validate_workflow"),
    )


def workflow_page(visit: Visit, parameters: Mapping[str, str], name: str) -> str:
    """Return the page of one definition in one version."""
    return _shown(visit, _asked(visit, name, parameters), None, {})


def check_start(visit: Visit, filled: Filled) -> str:
    """Return what a start form would send, to be confirmed, or the form with what is wrong with it."""
    name = filled.get("name", "")
    answer = _asked(visit, name, {"version": filled.get("version", "")})
    value, problems = read_form(_input_schema(answer), _INPUT, filled)
    if problems:
        return _shown(visit, answer, filled, problems)
    more = {name: filled.get(name, "").strip() for name in ("workflow_id", "project")}
    sent = {"definition": _reference(answer), _INPUT: dump(value)} | {
        name: command for name, command in more.items() if command
    }
    return html(
        "checked.html",
        title=f"Start {name}",
        visit=visit,
        tool="start_run",
        label="Start the run",
        request_id=new_request_id(),
        asked=[
            {"given": argument, "value": ""} for argument in ACTIONS["start_run"].given if argument.name in _ASKED_LAST
        ],
        sent=sent,
        documents={_INPUT: value},
        facts={name: value for name, value in sent.items() if name != _INPUT},
        back=workflow_link(name, version=answer["version"]),
        after="/ui/runs",
    )


def check_workflow(visit: Visit, filled: Filled) -> str:
    """Return what is wrong with a workflow document that was pasted, and its picture."""
    text = filled.get("workflow_json", "")
    if not text.strip():
        raise InvalidArgument("There is no document to validate.", "Paste one into the form of the workflows' page.")
    verdict = visit.ask("validate_workflow", workflow_json=text)
    document = _parsed(visit, text)
    lines = lines_of_text(text) if document is None else lines_of(document)
    return html(
        "validated.html",
        title="Validate a workflow",
        visit=visit,
        verdict=verdict,
        lines=_source(lines, verdict),
        count=len(lines),
        svg=_picture(document, "The workflow") if verdict["ok"] else None,
        text=text,
    )


def _asked(visit: Visit, name: str, parameters: Mapping[str, str]) -> Mapping[str, Json]:
    kind, version = _kind(parameters), parameters.get("version") or None
    reference = {"kind": kind, "name": name} | ({} if version is None else {"version": version})
    answer: Mapping[str, Json] = visit.ask("get_definition", **reference)["definition"]
    return answer


def _kind(parameters: Mapping[str, str]) -> str:
    kind = parameters.get("kind") or KINDS[0]
    if kind not in KINDS:
        raise InvalidArgument("There is no such kind of definition.", f"Kinds are: {', '.join(KINDS)}.")
    return kind


def _link_of(row: Mapping[str, Json]) -> str:
    """Return the address of a definition: the newest workflow, or another kind as it is (a skill has only that)."""
    if row["kind"] == KINDS[0]:
        return workflow_link(row["name"])
    return workflow_link(row["name"], kind=row["kind"], version=row["version"])


def _shown(visit: Visit, answer: Mapping[str, Json], filled: Filled | None, problems: Mapping[str, str]) -> str:
    is_workflow, name, content = answer["kind"] == "workflow", answer["name"], answer["content"]
    verdict = _verdict(visit, answer)
    lines = lines_of_text(content) if isinstance(content, str) else lines_of(content)
    kind = None if is_workflow else answer["kind"]
    is_startable = is_workflow and answer["source"] == "kept" and answer["project"] in {None, visit.caller.project}
    runs = visit.ask("list_runs", workflow=name, limit=_RUNS_READ)["runs"] if is_workflow else None
    versions = dict.fromkeys([*answer["versions"], answer["version"], *(run["version"] for run in runs or ())])
    return html(
        "workflow.html",
        title=name,
        visit=visit,
        found=answer,
        versions=[(version, workflow_link(name, kind=kind, version=version)) for version in versions if version],
        facts=_facts(answer),
        verdict=verdict,
        lines=_source(lines, verdict),
        count=len(lines),
        svg=_picture(content, f"Workflow {name}") if is_workflow else None,
        runs=None if runs is None else runs[:_RUNS],
        all_runs=f"/ui/runs{query(workflow=name)}",
        is_startable=is_startable,
        form=form_of(_input_schema(answer), _INPUT, "Input", filled) if is_startable else None,
        filled=filled or {},
        problems=problems,
        reference=_reference(answer),
    )


def _verdict(visit: Visit, answer: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """Return what is wrong with a workflow or skill; None for what has no rules, or where nothing is validated."""
    tool, argument = _VALIDATED.get(str(answer["kind"]), ("", ""))
    return visit.ask(tool, **{argument: answer["content"]}) if tool and visit.may(tool) else None


_VALIDATED: Final = {
    "workflow": ("validate_workflow", "workflow_json"),
    "skill": ("validate_skill_manifest", "skill_json"),
}


def _facts(answer: Mapping[str, Json]) -> list[tuple[str, Json]]:
    names = ("kind", "version", "description", "tags", "project", "updated_at", "expires_at")
    shown = [(name.replace("_", " "), answer.get(name)) for name in names]
    return [*((name, value) for name, value in shown if value), ("hash", answer["sha256"][:12])]


def _input_schema(answer: Mapping[str, Json]) -> Json:
    content = answer["content"]
    return content.get("workflow_input_schema") if isinstance(content, dict) else None


def _reference(answer: Mapping[str, Json]) -> str:
    """Return how a start names exactly this version: by name and version, else by its hash."""
    return f"{answer['name']}@{answer['version']}" if answer["version"] else str(answer["sha256"])


def _source(lines: list[SourceLine], verdict: Mapping[str, Json] | None) -> list[SourceLine]:
    return worth_showing(marked(lines, () if verdict is None else verdict["problems"]))


def _parsed(visit: Visit, text: str) -> Json:
    """Return a document that can be shown line by line; None for text that is no JSON."""
    try:
        return parse_workflow(text, name="The document", max_bytes=visit.application.settings.max_document_bytes)
    except InvalidArgument:
        return None


def _picture(document: Json, title: str) -> str | None:
    """Return the picture of a workflow; None where it cannot be read, or is too large to be drawn."""
    try:
        return draw_svg(read_given(document).machine, title=title, style=False)
    except DcfError:
        return None
