"""One state as written, checked and compiled.

A state type is one reader and one row in each of the two tables of fields. What the language knows and dcf
does not run yet stands in the `later` table, so that it is refused by name instead of ignored.
"""

from collections.abc import Callable
from typing import Final

from dcf.asl.choice_syntax import parse_rule
from dcf.asl.fields import SCOPE, Fields
from dcf.asl.machine import Branch, Choice, Fail, Pass, State, Succeed, Task
from dcf.asl.paths import Path
from dcf.core.json_text import Json

_COMMON: Final = frozenset({"Type", "Comment", "QueryLanguage"})
_FLOW: Final = _COMMON | {"InputPath", "OutputPath"}
_STEP: Final = _FLOW | {"Parameters", "ResultPath", "Next", "End"}

_KNOWN: Final = {
    "Task": _STEP | {"ResultSelector", "Resource", "AgentBinding"},
    "Pass": _STEP | {"Result"},
    "Choice": _FLOW | {"Choices", "Default"},
    "Succeed": _FLOW,
    "Fail": _COMMON | {"Error", "ErrorPath", "Cause", "CausePath"},
}

_TIMEOUTS: Final = frozenset(f"{name}Seconds{suffix}" for name in ("Timeout", "Heartbeat") for suffix in ("", "Path"))

_LATER: Final[dict[str, frozenset[str]]] = {
    "Task": _TIMEOUTS | {"Retry", "Catch", "Credentials", "Assign", "Arguments", "Output"},
    "Pass": frozenset({"Assign", "Output"}),
    "Choice": frozenset({"Assign", "Output"}),
    "Succeed": frozenset({"Output"}),
    "Fail": frozenset(),
}

_LATER_TYPES: Final = ("Wait", "Parallel", "Map")


def parse_state(fields: Fields) -> State | None:
    """Compile one state; None when it has no type that dcf runs."""
    kind = fields.required_text("Type", f"Use one of: {', '.join((*_KNOWN, *_LATER_TYPES))}.")
    if kind not in _READERS:
        _refuse_type(fields, kind)
        return None
    fields.allow(_KNOWN[kind], _LATER[kind])
    fields.text("Comment")
    check_query_language(fields)
    return _READERS[kind](fields)


def check_query_language(fields: Fields) -> None:
    """Refuse JSONata by name, and what is no query language at all."""
    if fields.document.get("QueryLanguage") == "JSONata":
        fields.note("QueryLanguage", "unsupported", "JSONata is not supported yet.", SCOPE)
    else:
        fields.choice("QueryLanguage", ("JSONPath",))


def _refuse_type(fields: Fields, kind: str) -> None:
    if kind in _LATER_TYPES:
        fields.note("Type", "unsupported", f"the type {kind} is not supported yet.", SCOPE)
    elif kind:
        fields.choice("Type", tuple(_KNOWN))


def _task(fields: Fields) -> Task:
    if "Resource" in fields.document:
        fields.required_text("Resource", "Name a resource, or leave the field out.")
    return Task(
        input_path=fields.selection("InputPath"),
        parameters=fields.template("Parameters"),
        result_selector=fields.template("ResultSelector"),
        result_path=fields.destination("ResultPath"),
        output_path=fields.selection("OutputPath"),
        next=_transition(fields),
        resource=fields.document.get("Resource"),
        agent_binding=fields.value("AgentBinding", dict, "an object"),
    )


def _pass(fields: Fields) -> Pass:
    return Pass(
        input_path=fields.selection("InputPath"),
        parameters=fields.template("Parameters"),
        result=fields.document.get("Result"),
        has_result="Result" in fields.document,
        result_path=fields.destination("ResultPath"),
        output_path=fields.selection("OutputPath"),
        next=_transition(fields),
    )


def _choice(fields: Fields) -> Choice:
    rules: list[Json] = fields.value("Choices", list, "an array of rules") or []
    if fields.document.get("Choices", []) == []:
        fields.note(None, "missing_field", "Choices needs at least one rule.", "Add a rule with a Next.")
    branches = [_branch(fields, at, rule) for at, rule in enumerate(rules)]
    return Choice(
        input_path=fields.selection("InputPath"),
        output_path=fields.selection("OutputPath"),
        branches=tuple(branch for branch in branches if branch is not None),
        default=fields.text("Default"),
    )


def _branch(fields: Fields, at: int, document: Json) -> Branch | None:
    rule = fields.members(f"/Choices/{at}", document, fields.owner)
    if rule is None:
        return None
    target = rule.required_text("Next", "Say where the rule leads, with the name of a state.")
    return Branch(rule=parse_rule(rule), next=target)


def _succeed(fields: Fields) -> Succeed:
    return Succeed(input_path=fields.selection("InputPath"), output_path=fields.selection("OutputPath"))


def _fail(fields: Fields) -> Fail:
    return Fail(error=_words(fields, "Error"), cause=_words(fields, "Cause"))


def _words(fields: Fields, field: str) -> str | Path | None:
    by_path = f"{field}Path"
    if by_path not in fields.document:
        return fields.text(field)
    if field in fields.document:
        message = f"{field} and {by_path} exclude each other."
        fields.note(by_path, "conflicting_fields", message, "Keep one of the two.")
    return fields.path(by_path)


def _transition(fields: Fields) -> str | None:
    ends = fields.value("End", bool, "true")
    if "Next" in fields.document and ends:
        fields.note("End", "conflicting_fields", "Next and End exclude each other.", "Keep one of the two.")
    elif "Next" not in fields.document and not ends and ("End" not in fields.document or ends is False):
        hint = 'Name the following state in Next, or write "End": true.'
        fields.note(None, "missing_field", "the state needs Next or End.", hint)
    return fields.text("Next")


_READERS: Final[dict[str, Callable[[Fields], State]]] = {
    "Task": _task,
    "Pass": _pass,
    "Choice": _choice,
    "Succeed": _succeed,
    "Fail": _fail,
}
