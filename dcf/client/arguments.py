"""Writes what a program hands over as tools take it: JSON as text, so that a text stays a text, and times as texts."""

import inspect
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from dcf.errors import InvalidArgument
from dcf.steps.plain_values import plain
from dcf.steps.vocabulary import Flow
from dcf.values.json_paths import MISSING
from dcf.values.json_text import MAX_WORKFLOW_DEPTH, YAML_SUFFIXES, Json, check, dump, parse_workflow

if TYPE_CHECKING:
    from dcf.flow.compiling import CompiledFlow

Workflow: TypeAlias = Mapping[str, Json] | Path | str | Flow[..., Any]
"""A flow, a document, its file, or a workflow that was started before: `name@version`, `name`, or its hash."""

Agents: TypeAlias = str | Mapping[str, str | Sequence[str]]
"""Who does what: one agent for all Tasks, or an agent, or a pool of them, for each (`*` is all others)."""

Moment: TypeAlias = datetime | str
"""A time with its zone, or its text."""

Askees: TypeAlias = str | Mapping[str, str] | Sequence[str | Mapping[str, str]]
"""Whom a question is for: "planner", the id of a person, a group (`{"group": name}`), or several of these."""


class DataclassObject(Protocol):
    """An object of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


class ModelObject(Protocol):
    """An object of a pydantic model."""

    def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
        """Return its fields."""
        ...


JsonObject: TypeAlias = Mapping[str, Json] | DataclassObject | ModelObject
"""An object of JSON: a mapping, a dataclass or a pydantic model."""

Span: TypeAlias = int | timedelta
"""A length of time: seconds, or a timedelta of whole seconds."""

_FILES: Final = (".json", ".py", ".yaml", ".yml")
"""Ends the names of files with workflows, and of no workflow."""

_MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes that a client sends at most; what the server takes, it decides itself."""


def given(**arguments: Json) -> dict[str, Json]:
    """Return the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def listed(texts: Sequence[str] | None) -> list[str] | None:
    """Return texts as a list, or None without any; a single text is one, and not its letters."""
    return [texts] if isinstance(texts, str) else list(texts or ()) or None


def listed_if_any(texts: Sequence[str] | None) -> list[str] | None:
    """Return texts as a list, which may be empty and then takes away those that are there; None leaves them."""
    return None if texts is None else listed(texts) or []


def array_text(values: Sequence[Json] | None, name: str) -> str | None:
    """Return values as the text of a JSON array, or None without one."""
    return None if values is None else json_text(list(values), name)


def json_text(value: Json, name: str) -> str:
    """Return a value as JSON text, dataclasses and models as objects; raise InvalidArgument for what is no JSON."""
    return dump(check(plain(value), name=name, max_bytes=_MOST_BYTES))


def object_text(value: JsonObject | None, name: str) -> str | None:
    """Return an object as JSON text, or None without one."""
    return None if value is None else json_text(value, name)


def name_or_object(value: str | Mapping[str, Json], name: str) -> str:
    """Return an object as JSON text, and a text, which names where it is, as it is."""
    return value if isinstance(value, str) else json_text(dict(value), name)


def rows(objects: Sequence[Mapping[str, Json]] | None) -> list[dict[str, Json]] | None:
    """Return objects as a list, or None without any."""
    return [plain(dict(row)) for row in objects or ()] or None


def askees(askees: Askees) -> str:
    """Return whom a question is for: a name as it is, a group or several of these as JSON text."""
    if isinstance(askees, str):
        return askees
    return json_text(dict(askees) if isinstance(askees, Mapping) else list(askees), "ask")


def seconds(span: Span | None) -> int | None:
    """Return a length of time in seconds; raise InvalidArgument for a part of a second."""
    if not isinstance(span, timedelta):
        return span
    whole = span // timedelta(seconds=1)
    if timedelta(seconds=whole) != span:
        raise InvalidArgument(f"{span} is no whole number of seconds.", "Leave out the part of a second.")
    return whole


def request_id_for(request_id: str | None) -> str:
    """Return the caller's id of a request or a new one: the call may be repeated after a broken connection."""
    return request_id or f"client-{secrets.token_hex(16)}"


def workflow_arguments(workflow: Workflow) -> dict[str, Json]:
    """Return the arguments that name a workflow or carry its document."""
    if isinstance(workflow, str):
        return {"definition": _name(workflow)}
    if isinstance(workflow, Flow):
        return {"workflow_json": document_text(_compiled(workflow).document)}
    return {"workflow_json": document_text(workflow)}


def _name(workflow: str) -> str:
    """Return the name of a workflow; raise InvalidArgument for the name of a file, and for a document as text."""
    if workflow.lower().endswith(_FILES):
        raise InvalidArgument(
            f"'{workflow}' names a file, and a text is the name of a workflow that was started before.",
            f'Pass the path of the file: `pathlib.Path("{workflow}")`.',
        )
    if workflow.lstrip().startswith("{"):
        raise InvalidArgument(
            "The workflow is a document as text, and a text is the name of a workflow that was started before.",
            "Pass the document itself: `json.loads(text)`.",
        )
    return workflow


def document_text(workflow: Mapping[str, Json] | Path) -> str:
    """Return a workflow document as JSON text; a plain state machine in a file is named after it."""
    if isinstance(workflow, Path):
        return _read(workflow)
    if not isinstance(workflow, Mapping):
        raise InvalidArgument(
            f"A workflow is no {type(workflow).__name__}.",
            "Pass the document as a dict, or the file of one as a pathlib.Path.",
        )
    return dump(check(dict(workflow), name="workflow", max_bytes=_MOST_BYTES, max_depth=MAX_WORKFLOW_DEPTH))


def input_text(workflow: Workflow, run_input: Json) -> str | None:
    """Return the input of a run as JSON text; that of a flow must fit its signature."""
    if isinstance(workflow, Flow):
        from dcf.steps.arguments import checked_input  # noqa: PLC0415 - only flows need it

        values = {} if run_input is MISSING else plain(run_input)
        if run_input is not MISSING and not isinstance(run_input, Mapping):
            _refuse_argument(workflow, values)
        run_input = checked_input(workflow, values)
    return None if run_input is MISSING else json_text(run_input, "input")


def _refuse_argument(flow: Flow[..., Any], values: Json) -> None:
    """Raise InvalidArgument for a value that is one argument of a flow, and not the object of all of them."""
    names = list(inspect.signature(flow.function).parameters)
    if not isinstance(values, Mapping) or not values.keys() <= {*names}:
        raise InvalidArgument(
            f"The input of {flow.name} is an object with its arguments by name, and this is a value of one.",
            f"Write `client.start({flow.name}, {flow.name}.input({', '.join(f'{name}=...' for name in names)}))`.",
        )


def agents_of(workflow: Workflow, agents: Agents | None) -> Agents | None:
    """Return who does what; one agent for a flow does its functions, and the agents that the flow names do the rest."""
    if isinstance(workflow, Flow) and isinstance(agents, str):
        return dict.fromkeys(_compiled(workflow).functions, agents)
    return agents


def _compiled(flow: Flow[..., Any]) -> "CompiledFlow":
    from dcf.flow.compiling import compile_flow  # noqa: PLC0415 - only flows need it

    return compile_flow(flow)


def agents_text(agents: Agents | None) -> str | None:
    """Return who does what as JSON text."""
    if agents is None:
        return None
    if isinstance(agents, str):
        return dump({"*": agents})
    pools = {state: pool if isinstance(pool, str) else list(pool) for state, pool in agents.items()}
    return json_text(pools, "agents")


def moment_text(moment: Moment | None) -> str | None:
    """Return a time as text; raise InvalidArgument for one without a zone."""
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        raise InvalidArgument("A time has no zone.", "Make it with one: datetime.now(UTC).")
    return moment.isoformat()


def _read(file: Path) -> str:
    if file.suffix == ".py":
        raise InvalidArgument(
            f"{file.name} is Python, and the client reads documents only.",
            f"Import the flow from it, and pass that: `from {file.stem} import ...`.",
        )
    from dcf.core.definitions.forms import as_workflow  # noqa: PLC0415 - only files need it

    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"{file.name} cannot be read as UTF-8 text.", "Check the path.") from None
    if file.suffix in YAML_SUFFIXES:
        from dcf.authoring.yaml_documents import json_of_yaml  # noqa: PLC0415 - only YAML needs its parser

        text = json_of_yaml(text, file.name)
    return dump(as_workflow(parse_workflow(text, name=file.name, max_bytes=_MOST_BYTES), file.stem))
