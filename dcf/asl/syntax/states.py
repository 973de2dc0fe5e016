"""Parses, checks and compiles one state. Pure.

Each state type has one reader, and one row in each table of fields: the fields it may have in either query
language. Fields of the other language are reported by name.
"""

from collections.abc import Callable
from typing import Final

from dcf.asl.expressions.intrinsic_syntax import Call
from dcf.asl.expressions.templates import Literal, Template
from dcf.asl.expressions.timestamps import instant
from dcf.asl.machine import Choice, Fail, Machine, Pass, State, Succeed, Task, Wait
from dcf.asl.resources import read_resource
from dcf.asl.states import Branch
from dcf.asl.syntax.briefs import FIELDS as BRIEF
from dcf.asl.syntax.briefs import read_brief
from dcf.asl.syntax.choice import parse_rule
from dcf.asl.syntax.failures import read_catchers, read_retriers
from dcf.asl.syntax.fields import MAX_SECONDS, DefinitionFields
from dcf.asl.syntax.flow import read_assign, read_flow
from dcf.asl.syntax.scopes import MAP, PARALLEL, WORK, WORK_JSONATA, WORK_JSONPATH, read_map, read_parallel
from dcf.asl.syntax.signals import check_signal
from dcf.asl.tasks.extensions import LANGUAGE
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.text_pieces import clip

Nest = Callable[[DefinitionFields], Machine]
"""Parses a machine inside a state."""

_COMMON: Final = frozenset({"Type", "Comment", "QueryLanguage"})
_STEP: Final = _COMMON | {"Next", "End", "Assign"}
_SELECT: Final = frozenset({"InputPath", "OutputPath"})

_BOTH: Final = {
    "Task": WORK | BRIEF | {"Resource", "AgentBinding", "Credentials", "TimeoutSeconds", "HeartbeatSeconds"},
    "Parallel": WORK | PARALLEL,
    "Map": WORK | MAP,
    "Pass": _STEP,
    "Wait": _STEP | {"Seconds", "Timestamp"},
    "Choice": _COMMON | {"Choices", "Default", "Assign"},
    "Succeed": _COMMON,
    "Fail": _COMMON | {"Error", "Cause"},
}

_JSONPATH: Final = {
    "Task": WORK_JSONPATH | {"Parameters", "TimeoutSecondsPath", "HeartbeatSecondsPath"},
    "Parallel": WORK_JSONPATH | {"Parameters"},
    "Map": WORK_JSONPATH
    | {
        "Parameters",
        "ItemsPath",
        "MaxConcurrencyPath",
        "ToleratedFailureCountPath",
        "ToleratedFailurePercentagePath",
    },
    "Pass": _SELECT | {"Parameters", "ResultPath", "Result"},
    "Wait": _SELECT | {"SecondsPath", "TimestampPath"},
    "Choice": _SELECT,
    "Succeed": _SELECT,
    "Fail": frozenset({"ErrorPath", "CausePath"}),
}

_JSONATA: Final = {
    "Task": WORK_JSONATA | {"Arguments"},
    "Parallel": WORK_JSONATA | {"Arguments"},
    "Map": WORK_JSONATA | {"Items"},
    "Pass": frozenset({"Output"}),
    "Wait": frozenset({"Output"}),
    "Choice": frozenset({"Output"}),
    "Succeed": frozenset({"Output"}),
    "Fail": frozenset(),
}

_LANGUAGES: Final = ("JSONPath", "JSONata")


def parse_state(fields: DefinitionFields, nest: Nest) -> State | None:
    """Compile one state; `fields` has the query language of its machine. None when its type is unknown."""
    kind = fields.required_text("Type", f"Use one of: {', '.join(_BOTH)}.")
    if kind not in _READERS:
        if kind:
            fields.choice("Type", tuple(_BOTH))
        return None
    jsonata = _language(fields)
    fields = fields if jsonata is fields.jsonata else replace(fields, jsonata=jsonata)
    mine, others = (_JSONATA, _JSONPATH) if fields.jsonata else (_JSONPATH, _JSONATA)
    known = _BOTH[kind] | mine[kind]
    fields.allow(known | LANGUAGE.fields.keys() if kind == "Task" else known, others[kind])
    fields.text("Comment")
    return _READERS[kind](fields, nest)


def read_language(fields: DefinitionFields) -> bool | None:
    """Return True if QueryLanguage is JSONata, False if it is JSONPath, None if the field is missing."""
    language = fields.choice("QueryLanguage", _LANGUAGES)
    return None if language is None else language == "JSONata"


def _language(fields: DefinitionFields) -> bool:
    own = read_language(fields)
    if fields.jsonata and own is False and fields.document["QueryLanguage"] == "JSONPath":
        message = "QueryLanguage cannot be JSONPath in a machine of JSONata."
        fields.note("QueryLanguage", "wrong_language", message, "Set it to JSONPath for the machine and per state.")
    return fields.jsonata if own is None else own


def _task(fields: DefinitionFields, _: Nest) -> Task:
    if "Resource" in fields.document:
        fields.required_text("Resource", "Name a resource, or leave the field out.")
        if str(fields.document["Resource"]).startswith("{%"):
            fields.note("Resource", "invalid_value", "Resource cannot be an expression.", "Write it out.")
    timeout = fields.number("TimeoutSeconds", 1, MAX_SECONDS)
    heartbeat = fields.number("HeartbeatSeconds", 1, MAX_SECONDS)
    if isinstance(timeout, Literal) and isinstance(heartbeat, Literal) and heartbeat.value >= timeout.value:
        message = "HeartbeatSeconds must be less than TimeoutSeconds."
        fields.note("HeartbeatSeconds", "invalid_value", message, "Make it smaller.")
    flow = read_flow(fields, works=True)
    resource = fields.document.get("Resource")
    served_by = read_resource(resource if isinstance(resource, str) else None)
    if served_by.kind in LANGUAGE.resources:
        LANGUAGE.resources[served_by.kind].check(fields, flow.parameters)
    task = Task(
        flow=flow,
        next=_transition(fields),
        retriers=read_retriers(fields),
        catchers=read_catchers(fields),
        resource=resource,
        agent_binding=fields.value("AgentBinding", dict, "an object"),
        credentials=_credentials(fields),
        timeout=timeout,
        heartbeat=heartbeat,
        brief=read_brief(fields, served_by),
    )
    if served_by.kind == "signal":
        check_signal(fields, flow.parameters)
    return task


def _credentials(fields: DefinitionFields) -> Template | None:
    part = fields.part("Credentials")
    if part is None:
        return None
    if "RoleArn" not in part.document and (part.jsonata or "RoleArn.$" not in part.document):
        part.note(None, "missing_field", "RoleArn is missing.", "Name a role, or leave Credentials out.")
    return fields.query("Credentials") if fields.jsonata else fields.template("Credentials")


def _parallel(fields: DefinitionFields, nest: Nest) -> State:
    return read_parallel(fields, nest, _transition(fields))


def _map(fields: DefinitionFields, nest: Nest) -> State:
    return read_map(fields, nest, _transition(fields))


def _pass(fields: DefinitionFields, _: Nest) -> Pass:
    return Pass(
        flow=read_flow(fields),
        next=_transition(fields),
        result=fields.document.get("Result"),
        has_result="Result" in fields.document,
    )


def _wait(fields: DefinitionFields, _: Nest) -> Wait:
    names = ("Seconds", "Timestamp") if fields.jsonata else ("Seconds", "Timestamp", "SecondsPath", "TimestampPath")
    present = [name for name in names if name in fields.document]
    if not present:
        message = f"the state needs one of {', '.join(names)}."
        fields.note(None, "missing_field", message, "Say how long to wait, or until when.")
    fields.exclusive(*names)
    field = present[0] if present else names[0]
    return Wait(
        flow=read_flow(fields),
        next=_transition(fields),
        seconds=fields.number("Seconds", 0, MAX_SECONDS) if field.startswith("Seconds") else None,
        timestamp=_timestamp(fields, field) if field.startswith("Timestamp") else None,
        field=field,
    )


def _timestamp(fields: DefinitionFields, field: str) -> Template | None:
    if field == "TimestampPath":
        return fields.reference(field)
    if fields.is_expression(field):
        return fields.query(field)
    text = fields.text(field)
    if text is not None and instant(text) is None:
        message = f"Timestamp '{clip(text)}' is not an RFC 3339 timestamp."
        fields.note(field, "invalid_value", message, "Write it as 2026-01-31T12:00:00Z.")
    return Literal(value=text)


def _choice(fields: DefinitionFields, _: Nest) -> Choice:
    rules: list[Json] = fields.value("Choices", list, "an array of rules") or []
    if fields.document.get("Choices", []) == []:
        fields.note(None, "missing_field", "Choices needs at least one rule.", "Add a rule with a Next.")
    branches = [_branch(fields, at, rule) for at, rule in enumerate(rules)]
    return Choice(
        flow=read_flow(fields),
        branches=tuple(branch for branch in branches if branch is not None),
        default=fields.text("Default"),
    )


def _branch(fields: DefinitionFields, at: int, document: Json) -> Branch | None:
    rule = fields.members(f"/Choices/{at}", document, fields.owner)
    if rule is None:
        return None
    target = rule.required_text("Next", "Say where the rule leads, with the name of a state.")
    return Branch(
        rule=parse_rule(rule),
        next=target,
        output=rule.query("Output") if rule.jsonata else None,
        assign=read_assign(rule),
    )


def _succeed(fields: DefinitionFields, _: Nest) -> Succeed:
    return Succeed(flow=read_flow(fields))


def _fail(fields: DefinitionFields, _: Nest) -> Fail:
    return Fail(flow=read_flow(fields), error=_words(fields, "Error"), cause=_words(fields, "Cause"))


def _words(fields: DefinitionFields, field: str) -> Template | None:
    by_path = f"{field}Path"
    if fields.jsonata or by_path not in fields.document:
        text = fields.text(field)
        if text is None:
            return None
        return fields.query(field) if fields.jsonata else Literal(value=text)
    fields.exclusive(field, by_path)
    source = fields.source(by_path)
    if isinstance(source, Call) and not source.function.returns_text:
        message = f"{by_path}: States.{source.name} does not return a string."
        fields.note(by_path, "invalid_path", message, "Use a function such as States.Format.")
    return source


def _transition(fields: DefinitionFields) -> str | None:
    ends = fields.value("End", bool, "true")
    if "Next" in fields.document and ends:
        fields.note("End", "conflicting_fields", "Next and End exclude each other.", "Keep one of the two.")
    elif "Next" not in fields.document and not ends and ("End" not in fields.document or ends is False):
        hint = 'Name the following state in Next, or write "End": true.'
        fields.note(None, "missing_field", "the state needs Next or End.", hint)
    return fields.text("Next")


_READERS: Final[dict[str, Callable[[DefinitionFields, Nest], State]]] = {
    "Task": _task,
    "Parallel": _parallel,
    "Map": _map,
    "Pass": _pass,
    "Wait": _wait,
    "Choice": _choice,
    "Succeed": _succeed,
    "Fail": _fail,
}
