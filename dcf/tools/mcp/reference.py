"""Generates the reference of all tools from the registry, so that it always agrees with the tools.

`dcf agents tools --markdown` prints it, and `make reference` writes it to docs/reference/tools.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill
from typing import Final

from dcf.values.json_text import Json, dump
from dcf.verbs.answers.schemas import answer_schema
from dcf.verbs.examples import smallest_call
from dcf.verbs.registry import Answer, ToolSpec
from dcf.verbs.schemas import parameters_of
from dcf.verbs.unlisted import KEYWORD
from dcf.verbs.wording.tools import former_names, in_tools

_HEAD = """# Tools

Made by `make reference`; do not edit.

Below are the MCP tools by toolset (`DCF_TOOLSETS`). `dcf agents tools` lists them on a terminal. [Scopes](scopes.md)
explains scopes and profiles.

**Answers.** Every answer has `status` and `code`: `ok`, or what is wrong. Where it is not `ok`, `error` begins with the
code, and there may be a `hint` and `retry_after_s`. Each tool lists its own codes. Every tool may also answer
OF_EVERY_TOOL.
`next` are the calls to make now, `{"tool", "arguments", "why"}`, ready to be sent but for values in angle
brackets. `problems` are all that is wrong with what was sent, where that can be several things. Below are the fields
that a tool adds. One without a value is null, as most are where the call is refused; one with `?` is left out instead.
The same is to be had as JSON Schema: from `dcf agents tools --json`, and in the list of tools as `outputSchema`, where
the client asks for it with the header `X-DCF-Output-Schemas: true`, or the server has `DCF_OUTPUT_SCHEMAS=1`.

**Arguments.** Arguments that carry JSON take JSON text and native values alike. Every tool takes `redis_url` as well.
Some take arguments marked *unlisted*: they are seldom used, or for callers made for older servers, and no list of tools
has them. Where an agent is marked *the caller*, a key that is bound to an agent may name no other. Tools whose profile
is *none* are for programs: they can be called, and are on no list.

A server also has prompts (plan a workflow, work as an agent, find out why a run does not move), resources
(`dcf://language`, `dcf://runs`, `dcf://runs/ID` with `/graph`, `/events` and `/definition`, to which clients can
subscribe), completions of their arguments, and skills as files (`skill://NAME/SKILL.md`).
"""

OF_EVERY_TOOL: Final = (
    *("invalid_argument", "too_large", "forbidden", "unauthorized", "rate_limited"),
    *("store_unavailable", "store_unsuitable", "capability_missing", "platform_unavailable"),
    *("unknown_outcome", "internal_error"),
)
"""Codes that any tool may answer: the call is wrong, or may not be made, or could not be carried out."""

_COMMON = frozenset(Answer.model_fields)
_UNTOLD = "redis_url"


def markdown_of(specs: Iterable[ToolSpec]) -> str:
    """Return the reference of these tools as Markdown."""
    by_toolset: dict[str, list[ToolSpec]] = {}
    for spec in specs:
        by_toolset.setdefault(spec.toolset, []).append(spec)
    parts = [_HEAD.replace("OF_EVERY_TOOL", fill(_quoted(OF_EVERY_TOOL), 119))]
    for toolset, tools in by_toolset.items():
        parts += [f"## {toolset}\n", _overview(tools), *map(_tool, tools)]
    return "\n".join(
        [*parts, *_former(name for tools in by_toolset.values() for name in (tool.name for tool in tools))]
    )


def surface(specs: Iterable[ToolSpec]) -> dict[str, Json]:
    """Return what callers depend on: names, scopes, parameters with their types, and the schemas of answers."""
    return {
        spec.name: {
            "scope": spec.scope.value,
            "acts_as": spec.acts_as,
            "parameters": {name: _parameter(schema, spec, name) for name, schema in _properties(spec)},
            "answer": answer_schema(spec),
        }
        for spec in specs
    }


def _former(tools: Iterable[str]) -> Iterator[str]:
    """Say what the tools were called that are merged into one of these."""
    present_names = set(tools)
    rows = [f"| `{name}` | `{call}` |" for name, (tool, call) in former_names().items() if tool in present_names]
    if rows:
        yield "## Former names\n"
        yield "These are on no list. They can be called for one release more, and take what they took.\n"
        yield "\n".join(["| before | now |", "|---|---|", *rows]) + "\n"


def _overview(specs: Iterable[ToolSpec]) -> str:
    lines = ["| tool | scope | profiles | does |", "|---|---|---|---|"]
    for spec in specs:
        first = in_tools(spec.description).partition(". ")[0].rstrip(".").replace("|", "\\|")
        lines.append(f"| [`{spec.name}`](#{spec.name}) | {spec.scope} | {_profiles(spec)} | {first} |")
    return "\n".join(lines) + "\n"


def _profiles(spec: ToolSpec) -> str:
    return "none" if spec.for_programs else ", ".join(sorted(spec.profiles)) or "all"


def _tool(spec: ToolSpec) -> str:
    head = [f"### {spec.name}\n", f"{in_tools(spec.description)}\n", _facts(spec), ""]
    return "\n".join([*head, *_table(spec), *_example(spec), *_answers(spec), *_refusals(spec)])


def _facts(spec: ToolSpec) -> str:
    facts = [f"Scope `{spec.scope.value}`"]
    if spec.read_only:
        facts.append("reads only")
    if spec.destructive:
        facts.append("destroys")
    if not spec.read_only:
        facts.append("may be repeated" if spec.idempotent else "repeating it does it again")
    return "; ".join(facts) + "."


def _table(spec: ToolSpec) -> Iterator[str]:
    rows = [(name, schema) for name, schema in _properties(spec) if name != _UNTOLD]
    if not rows:
        return
    yield "| parameter | type | default | |"
    yield "|---|---|---|---|"
    for name, schema in rows:
        parameter = _parameter(schema, spec, name)
        default = "**required**" if parameter["required"] else f"`{dump(parameter['default'])}`"
        speaker = " *The caller.*" if name == spec.acts_as else ""
        speaker += " *Unlisted.*" if KEYWORD in schema else ""
        description = in_tools(schema.get("description", "")).replace("|", "\\|")
        yield f"| `{name}` | {parameter['type']} | {default} | {description}{speaker} |"
    yield ""


def _example(spec: ToolSpec) -> Iterator[str]:
    call = smallest_call(spec)
    if call:
        yield f"The smallest call: `{dump(call)}`\n"


def _answers(spec: ToolSpec) -> Iterator[str]:
    schema = answer_schema(spec)
    added = [name for name in schema["properties"] if name not in _COMMON]
    if not added:
        return
    yield f"**Answer.** {' '.join((spec.answer.__doc__ or '').split())}\n"
    yield "| field | type |"
    yield "|---|---|"
    for name in added:
        yield f"| {_field(name, schema)} | {_type_of_field(schema['properties'][name])} |"
    yield ""


def _field(name: str, record: Mapping[str, Json]) -> str:
    return f"`{name}`" if name in record.get("required", ()) else f"`{name}`?"


def _type_of_field(schema: Mapping[str, Json]) -> str:
    """Return the type of a field of an answer; a type with records is code, and is read as a whole."""
    shape = _shape(schema)
    return f"`{shape.replace('`', '')}`" if "{" in shape else shape


def _shape(schema: Mapping[str, Json]) -> str:
    """Return the type of a field of an answer, with the fields of the records in it."""
    if "anyOf" in schema:
        return " or ".join(_shape(kind) for kind in schema["anyOf"] if kind != {"type": "null"})
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if "items" in schema:
        return f"list of {_shape(schema['items'])}"
    if "properties" in schema:
        fields = [f"{_field(name, schema)} {_shape(part)}" for name, part in schema["properties"].items()]
        more = [", and more"] if schema.get("additionalProperties") else []
        return "{" + "".join([", ".join(fields), *more]) + "}"
    if "additionalProperties" in schema:
        return f"object of {_shape(schema['additionalProperties'])}"
    kinds = schema.get("type", "any")
    return kinds if isinstance(kinds, str) else " or ".join(kind for kind in kinds if kind != "null")


def _refusals(spec: ToolSpec) -> Iterator[str]:
    if spec.codes:
        yield f"Its own codes: {_quoted(spec.codes)}.\n"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _properties(spec: ToolSpec) -> Iterator[tuple[str, Mapping[str, Json]]]:
    yield from parameters_of(spec)["properties"].items()


def _parameter(schema: Mapping[str, Json], spec: ToolSpec, name: str) -> dict[str, Json]:
    needed = spec.arguments.model_fields[name].is_required()
    return {"type": _type(schema), "required": needed, "default": None if needed else schema.get("default")}


def _type(schema: Mapping[str, Json]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(branch) for branch in schema["anyOf"] if branch.get("type") != "null"))
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return "any"
    low, high = schema.get("minimum"), schema.get("maximum")
    return f"{kind} {low} to {high}" if low is not None and high is not None else str(kind)
