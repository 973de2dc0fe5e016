"""Runs the stages of validation in order, each that can run, so that one call finds every problem.

Only an invalid schema is an error of the caller. Whatever the document is, the answer is a Validation.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from dcf.core.definitions.forms import asl_of, is_linear
from dcf.core.definitions.model import check_names
from dcf.core.definitions.open_tasks import open_tasks_warning
from dcf.core.documents.stored_values import object_of
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.values.json_text import SEND_COMPILED, Json, is_python, parse_workflow, parts_of
from dcf.workflows.validation.graph import check_graph
from dcf.workflows.validation.imports import Imported, load_imports
from dcf.workflows.validation.references import References, check_references, is_worked, tasks_of
from dcf.workflows.validation.schema import check_schema, schema_text
from dcf.workflows.validation.verdict import Finding, Validation, findings_of, found, in_order

MAX_DOCUMENT: Final = 1024 * 1024
_MARKS_OF_A_DOCUMENT: Final = frozenset({"asl", "workflow_id", "workflow_name", "af_imports", "skill_imports"})
_ABOUT_A_MACHINE: Final = frozenset(
    {
        *("asl", "workflow_id", "workflow_name", "version", "workflow_schema_version"),
        *("description", "author", "tags", "created_at", "updated_at"),
    }
)
_OF_EVERY_DOCUMENT: Final = frozenset({"asl", "workflow_id", "workflow_name", "version"})
_BINDING: Final = "AgentBinding"
_SEND_JSON: Final = "Give a JSON object, or UTF-8 text that holds one."


def validate_document(
    workflow: Json,
    *,
    imports_base_dir: Path,
    skills_base_dir: Path,
    agents_dir: Path | None = None,
    schema: Mapping[str, Json] | None = None,
) -> Validation:
    """Validate a Letta-ASL document, given as JSON text or as a native value.

    Agent files are searched in `imports_base_dir`, then in `agents_dir`, which also has the templates on disk.
    """
    document, refusal = read_text(workflow)
    if refusal is not None:
        return Validation(problems=(refusal,))
    verdict = judge(document, document, (imports_base_dir, skills_base_dir, agents_dir), schema)
    return replace(verdict, warnings=(*verdict.warnings, *_open_tasks(object_of(document).get("asl"))))


def judge(
    document: Json, in_form: Json, places: tuple[Path, Path, Path | None], schema: Mapping[str, Json] | None
) -> Validation:
    """Return the verdict about a document; `in_form` is the form of it that the schema checks.

    `places` are the directories for agent files, for skills, and another one for agent files.
    """
    imports_base_dir, skills_base_dir, agents_dir = places
    form = check_schema(in_form, schema)
    fields: dict[str, Json] = object_of(document)
    agent_places = (imports_base_dir,) if agents_dir is None else (imports_base_dir, agents_dir)
    imported = load_imports(fields, agent_places, skills_base_dir, agents_dir)
    references = check_references(fields.get("asl"), imported)
    graph, doubts, summary = check_graph(fields["asl"], "/asl") if "asl" in fields else ([], [], {})
    problems = [
        *form,
        *findings_of("static", check_names(fields)),
        *imported.problems,
        *references.problems,
        *_not_said_before(form, graph),
    ]
    return Validation(
        problems=in_order(problems),
        warnings=(*imported.warnings, *references.warnings, *doubts),
        schema_errors=tuple(schema_text(finding) for finding in form),
        resolution=_resolution(imported, references),
        graph=summary,
    )


def validate(definition: Json) -> dict[str, Json]:
    """Validate a plain ASL machine, or a Letta-ASL document without its imports; text or native JSON.

    Returns `{ok, exit_code, problems}` with everything that is wrong; never raises. Faults that only a run can show
    are not found: a run that enters 12,500 states in a row (25,000 events) without a Task or a Wait fails, as in AWS.
    """
    document, refusal = read_text(definition)
    if refusal is not None:
        verdict = Validation(problems=(refusal,))
    elif _binds_agents(document):
        form = check_schema(document)
        graph = check_graph(document["asl"], "/asl")[0] if "asl" in document else []
        names = findings_of("static", check_names(document))
        verdict = Validation(problems=in_order([*form, *names, *_not_said_before(form, graph)]))
    else:
        verdict = judge_machine(document)
    shown = verdict.as_json()
    return {name: shown[name] for name in ("ok", "exit_code", "problems")}


def is_document(definition: Json) -> bool:
    """Return True for a Letta-ASL document, False for a plain machine, which may have a name; text or native JSON."""
    return _binds_agents(read_text(definition)[0])


def _binds_agents(document: Json) -> bool:
    if not isinstance(document, dict) or is_linear(document) or _MARKS_OF_A_DOCUMENT.isdisjoint(document):
        return False
    return not is_named_machine(document) or has_binding(document["asl"])


def has_binding(machine: Json) -> bool:
    """Return True if any Task of a machine, nested ones included, has a binding."""
    return any(isinstance(part, dict) and _BINDING in part for part in parts_of(machine))


def is_named_machine(document: Mapping[str, Json]) -> bool:
    """Return True for a machine with some facts about it, but not all that a document has, and nothing imported."""
    return "asl" in document and document.keys() <= _ABOUT_A_MACHINE and not document.keys() >= _OF_EVERY_DOCUMENT


def judge_machine(machine: Json) -> Validation:
    """Return the verdict about a plain ASL machine, with or without a name, or a list of steps."""
    if is_linear(machine):
        try:
            own = {name: machine[name] for name in ("workflow_id", "workflow_name") if name in machine}
            machine = own | {"asl": asl_of(machine)}
        except InvalidDefinition as error:
            return Validation(problems=tuple(findings_of("static", error.problems)))
    is_named = isinstance(machine, dict) and is_named_machine(machine)
    problems, doubts, summary = check_graph(machine["asl"], "/asl") if is_named else check_graph(machine)
    names = findings_of("static", check_names(machine)) if is_named else []
    return Validation(problems=in_order([*names, *problems]), warnings=tuple(doubts), graph=summary)


def read_text(workflow: Json) -> tuple[Json, Finding | None]:
    """Return the value in a text, or a native value; a finding for an invalid one."""
    try:
        text_or_native = workflow.decode() if isinstance(workflow, bytes | bytearray) else workflow
        return parse_workflow(text_or_native, name="The document", max_bytes=MAX_DOCUMENT), None
    except InvalidArgument as error:
        hint = SEND_COMPILED if is_python(workflow) else _SEND_JSON
        return None, found("input", "", "invalid_json", error.message, hint)
    except UnicodeDecodeError:
        return None, found("input", "", "invalid_json", "The document is not UTF-8 text.", _SEND_JSON)


def _open_tasks(machine: Json) -> Iterator[str]:
    """Yield the warning about Tasks that are bound to no agent, if there are any."""
    unbound = [
        name
        for _, name, task in tasks_of(machine, "/asl")
        if is_worked(task) and not isinstance(task.get("AgentBinding"), dict)
    ]
    warning = open_tasks_warning(unbound, "Bind it with AgentBinding, or name agents when the run is created.")
    if warning is not None:
        yield warning


def _not_said_before(form: Iterable[Finding], graph: Iterable[Finding]) -> list[Finding]:
    """Return the graph's findings without those that the schema has reported already."""
    messages: dict[tuple[str, str], list[str]] = {}
    for finding in form:
        messages.setdefault((finding.path, finding.code), []).append(finding.message)
    return [graph for graph in graph if not _repeats(graph, messages.get((graph.path, graph.code), []))]


def _repeats(finding: Finding, messages: list[str]) -> bool:
    # One object may lack several fields; any other problem can occur only once at a place.
    if finding.code == "missing_field":
        return any(finding.message.endswith(message) for message in messages)
    return bool(messages)


def _resolution(imported: Imported, references: References) -> dict[str, Json]:
    return {
        **imported.records,
        "agents_index_size": len(imported.agents),
        "skills_index_size": len(imported.skills),
        "unresolved_agent_refs": references.unresolved_agent_refs,
        "unresolved_skill_ids": references.unresolved_skill_ids,
        "state_skill_map": references.state_skill_map,
    }
