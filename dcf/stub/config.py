"""The configuration of a stub server: tools by server, each with cases. `dcf.authoring` writes the document.

Parsed strictly. Invalid names of tools and servers are refused, not changed: an agent must find a tool under the name
that its skill gives.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from dcf.stub.matching import STRATEGIES, Predicate, compile_match, compile_path
from dcf.stub.templates import Rendering, compile_template
from dcf.values.json_text import Json, parts_of
from dcf.values.located import Located, LocatedFields, Report
from dcf.values.records import record

SERVER_NAME: Final = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+){0,20}")
TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
SERVER_RULE: Final = "letters and digits, with single '-' or '_' between them"
TOOL_RULE: Final = "1 to 64 letters, digits, '_' or '-'"
ERROR_MODES: Final = ("throw", "timeout", "http_500", "flaky")
DEFAULT_LATENCY_MS: Final = 100
DEFAULT_FLAKY_RATE: Final = 0.1
DEFAULT_CASE: Final = "(default)"
"""Name of the default response in metrics; no case can have this name."""

_CASE_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_LONGEST_NAME: Final = 64
_MAX_MS: Final = 600_000
_MAX_RPS: Final = 100_000
_MAX_CASES: Final = 500
_TOOL_FIELDS: Final = (
    "version",
    "description",
    "paramsSchema",
    "resultSchema",
    "defaultResponse",
    "rateLimit",
    "latencyMs",
    "cases",
    "meta",
)
_CASE_FIELDS: Final = (
    "caseId",
    "match",
    "response",
    "responseTemplate",
    "latencyMsOverride",
    "errorMode",
    "flakyRate",
    "weight",
)


@record(frozen=True, slots=True, kw_only=True)
class Case:
    """One possible answer of a tool, and the calls it is for. `document` is its form in the configuration."""

    case_id: str
    document: Mapping[str, Json]
    fits: Predicate = field(compare=False, repr=False)
    render: Rendering = field(compare=False, repr=False)
    latency_ms: float | None
    error_mode: str | None
    flaky_rate: float
    weight: float
    always: bool


@record(frozen=True, slots=True, kw_only=True)
class StubTool:
    """One tool of one server, its cases in the order they are tried. `rps` are calls per second; 0 means no limit."""

    server: str
    name: str
    description: str
    params_schema: Mapping[str, Json]
    result_schema: Mapping[str, Json] | None
    default_response: Json
    latency_ms: float
    rps: float
    cases: tuple[Case, ...]
    document: Mapping[str, Json]

    @property
    def key(self) -> str:
        """Name of the tool in metrics and messages."""
        return f"{self.server}:{self.name}"


@record(frozen=True, slots=True, kw_only=True)
class StubConfig:
    """All tools of a stub by server and name, both sorted."""

    servers: Mapping[str, Mapping[str, StubTool]]

    @property
    def tools(self) -> Iterator[StubTool]:
        """All tools, in a fixed order."""
        for tools in self.servers.values():
            yield from tools.values()

    def as_json(self) -> dict[str, Json]:
        """Return the configuration document. Equal tools give equal documents, wherever they were written."""
        return {
            "servers": {
                server: {"tools": {name: dict(tool.document) for name, tool in tools.items()}}
                for server, tools in self.servers.items()
            }
        }


def read_config(node: Located, report: Report) -> StubConfig:
    """Read a configuration document. Use the result only if the report has no problems."""
    root = LocatedFields(node, report, ("servers",))
    root.require("servers")
    servers: dict[str, dict[str, StubTool]] = {}
    for server, part in sorted(root.pairs("servers")):
        inner = LocatedFields(part, report, ("description", "tools"))
        tools = {name: read_tool(server, name, tool, report) for name, tool in sorted(inner.pairs("tools"))}
        servers[server] = tools
    return StubConfig(servers=servers)


def read_tool(server: str, name: str, node: Located, report: Report) -> StubTool:
    """Read one tool."""
    fields = LocatedFields(node, report, _TOOL_FIELDS)
    _check_name(fields, SERVER_NAME, server, "server id", SERVER_RULE)
    _check_name(fields, TOOL_NAME, name, "tool name", TOOL_RULE)
    fields.require("description")
    params = _schema(fields, "paramsSchema") or {"type": "object", "properties": {}}
    result = _schema(fields, "resultSchema")
    cases = tuple(_read_cases(fields))
    default = fields.members["defaultResponse"].plain() if "defaultResponse" in fields else None
    tool = StubTool(
        server=server,
        name=name,
        description=fields.text("description", longest=2000),
        params_schema=params,
        result_schema=result,
        default_response=default,
        latency_ms=_inner(fields, "latencyMs", "default", DEFAULT_LATENCY_MS, _MAX_MS),
        rps=_inner(fields, "rateLimit", "rps", 0, _MAX_RPS),
        cases=tuple(sorted(cases, key=lambda case: -case.weight)),
        document={},
    )
    _check_answers(fields, result)
    _check_reachable(fields, tool.cases)
    return _written(tool, fields, cases)


def _written(tool: StubTool, fields: LocatedFields, cases: tuple[Case, ...]) -> StubTool:
    """Return the tool with its document, in which all defaults are written out."""
    document: dict[str, Json] = {
        "version": fields.text("version", "0.1.0", longest=100),
        "description": tool.description,
        "paramsSchema": tool.params_schema,
        "resultSchema": tool.result_schema,
        "defaultResponse": tool.default_response,
        "rateLimit": {"rps": tool.rps},
        "latencyMs": {"default": tool.latency_ms},
        "cases": [dict(case.document) for case in cases],
        "meta": {"originalToolName": tool.name},
    }
    return replace(tool, document=document)


def _check_name(fields: LocatedFields, pattern: re.Pattern[str], name: str, noun: str, rule: str) -> None:
    if not pattern.fullmatch(name) or len(name) > _LONGEST_NAME:
        message = f"The {noun} '{name[:80]}' cannot be used."
        fields.report.refuse(fields.place, "invalid_name", message, f"Use {rule}.")


def _inner(fields: LocatedFields, name: str, inner: str, default: float, high: float) -> float:
    return LocatedFields(fields.part(name), fields.report, (inner,)).number(inner, default, high=high)


def _schema(fields: LocatedFields, name: str) -> dict[str, Json] | None:
    """Read a JSON Schema of an object, which MCP requires; report and return None for any other."""
    if name not in fields:
        return None
    schema = fields.members[name].plain()
    if not isinstance(schema, dict) or schema.get("type") != "object":
        hint = 'Write a schema with "type": "object" at its top.'
        fields.report.refuse(fields.place_of(name), "invalid_schema", f"{name} is no schema of an object.", hint)
        return None
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        hint = "Correct it; the draft is 2020-12."
        fields.report.refuse(fields.place_of(name), "invalid_schema", f"{name} is no JSON Schema.", hint)
        return None
    if any(not ref.startswith("#") for ref in _refs(schema)):
        message = f"{name} refers to another document, which is never fetched."
        fields.report.refuse(fields.place_of(name), "invalid_schema", message, "Write that part here, below $defs.")
        return None
    return schema


def _refs(schema: Json) -> Iterator[str]:
    """Yield the references in a schema."""
    for part in parts_of(schema):
        if isinstance(part, dict):
            yield from (str(part[name]) for name in ("$ref", "$dynamicRef") if name in part)


def validator(schema: Mapping[str, Json]) -> Draft202012Validator:
    """Return a validator that never fetches documents. It raises Unresolvable for a $ref without a target."""
    return Draft202012Validator(schema, registry=EMPTY_REGISTRY)


def _read_cases(fields: LocatedFields) -> Iterator[Case]:
    seen: set[str] = set()
    for node in fields.items("cases", most=_MAX_CASES):
        case = _read_case(node, fields.report)
        if case.case_id in seen:
            message, hint = f"The case '{case.case_id}' is written twice.", "Give each case of a tool its own id."
            fields.report.refuse(node.place, "duplicate_case", message, hint)
        seen.add(case.case_id)
        yield case


def _read_case(node: Located, report: Report) -> Case:
    fields = LocatedFields(node, report, _CASE_FIELDS)
    fields.require("caseId", "match")
    match = LocatedFields(fields.part("match"), report, ("strategy", "expr", "value"))
    if "match" in fields:
        match.require("strategy")
    # An unknown strategy is reported once; `always` then avoids a second problem about a missing value.
    strategy = match.choice("strategy", STRATEGIES, "always")
    expr = match.text("expr", longest=500)
    value = match.members["value"].plain() if "value" in match else None
    if "response" in fields and "responseTemplate" in fields:
        hint = "Keep one of them."
        report.refuse(fields.place, "two_responses", "The case has both response and responseTemplate.", hint)
    error_mode = fields.choice("errorMode", ERROR_MODES, "throw") if fields.text("errorMode") else None
    if error_mode in {None, "flaky"} and not fields.members.keys() & {"response", "responseTemplate"}:
        report.refuse(fields.place, "missing_field", "The case has no response.", "Write response, or an errorMode.")
    weight, latency = fields.number("weight", 0, low=-1e6, high=1e6), None
    if "latencyMsOverride" in fields:
        latency = fields.number("latencyMsOverride", 0, high=_MAX_MS)
    case = Case(
        case_id=fields.name("caseId", _CASE_ID, "1 to 80 letters, digits, '_', '.' or '-'"),
        document={},
        fits=_predicate(match, strategy, expr, value),
        render=_rendering(fields),
        latency_ms=latency,
        error_mode=error_mode,
        flaky_rate=fields.number("flakyRate", DEFAULT_FLAKY_RATE, high=1),
        weight=weight,
        always=match.text("strategy") == "always",
    )
    matched = {"strategy": strategy, "expr": expr, "value": value}
    return replace(case, document=_shown(case, fields, matched))


def _shown(case: Case, fields: LocatedFields, match: Mapping[str, Json]) -> dict[str, Json]:
    """Return the document of a case, without the fields that it does not have."""
    name = "responseTemplate" if "responseTemplate" in fields else "response"
    optional: dict[str, Json] = {
        "latencyMsOverride": case.latency_ms,
        "errorMode": case.error_mode,
        "flakyRate": case.flaky_rate if case.error_mode == "flaky" else None,
        "weight": case.weight or None,
    }
    shown: dict[str, Json] = {"caseId": case.case_id, "match": match}
    if name in fields.members:
        shown[name] = fields.members[name].plain()
    return shown | {key: value for key, value in optional.items() if value is not None}


def _predicate(match: LocatedFields, strategy: str, expr: str, value: Json) -> Predicate:
    column = "expr"
    try:
        compile_path(expr)
        column = "value"
        return compile_match(strategy, expr, value)
    except ValueError as error:
        message = f"The match cannot be used: {error}."
        match.report.refuse(match.place_of(column), "invalid_match", message, "Correct it.")
        return lambda _: False


def _rendering(fields: LocatedFields) -> Rendering:
    if "responseTemplate" not in fields:
        fixed = fields.members["response"].plain() if "response" in fields else None
        return lambda _: fixed
    try:
        return compile_template(fields.members["responseTemplate"].plain())
    except ValueError as error:
        place = fields.place_of("responseTemplate")
        fields.report.refuse(place, "invalid_template", f"The template cannot be used: {error}.", "Correct it.")
        return lambda _: None


def _check_answers(fields: LocatedFields, result: Mapping[str, Json] | None) -> None:
    """Report fixed answers that do not match the tool's result schema, as MCP clients check them too."""
    if result is None:
        return
    check = validator(result)
    answers = [fields.members.get("defaultResponse", Located(None, fields.place))]
    for case in fields.items("cases", most=_MAX_CASES):
        members = case.value if isinstance(case.value, dict) else {}
        if "response" in members:
            answers.append(members["response"])
    for answer in answers:
        if not _is_valid(check, answer.plain()):
            message, hint = "The response does not fit resultSchema.", "Correct the response or the schema."
            fields.report.refuse(answer.place, "response_mismatch", message, hint)


def _is_valid(check: Draft202012Validator, value: Json) -> bool:
    try:
        return bool(check.is_valid(value))
    except (Unresolvable, RecursionError):
        return False


def _check_reachable(fields: LocatedFields, ordered: tuple[Case, ...]) -> None:
    """Report cases that come after a case that matches every call."""
    taker = next((at for at, case in enumerate(ordered) if case.always), len(ordered))
    places = {
        node.value["caseId"].value: node.place
        for node in fields.items("cases", most=_MAX_CASES)
        if isinstance(node.value, dict) and "caseId" in node.value
    }
    for case in ordered[taker + 1 :]:
        message = f"The case '{case.case_id}' is never reached: '{ordered[taker].case_id}' takes every call before it."
        hint = "Give it a larger weight, or put it before."
        fields.report.refuse(places.get(case.case_id, fields.place), "unreachable_case", message, hint)
