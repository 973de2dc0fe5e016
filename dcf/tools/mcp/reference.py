"""Generates the reference of all tools from the registry, so that it always agrees with the tools.

`python -m dcf.tools.mcp.reference > docs/tools.md`, or `dcf tools --markdown`.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping

from dcf.core.access.model import MEANINGS
from dcf.tools.mcp.selection import PROFILES, select_tools
from dcf.values.json_text import Json, dump
from dcf.verbs.examples import smallest_call
from dcf.verbs.registry import Answer, ToolSpec
from dcf.verbs.schemas import parameters_of
from dcf.verbs.unlisted import KEYWORD

_HEAD = """# Tools

Made by `dcf tools --markdown`; do not edit.

Every answer has `status`, `code`, and where it is not `ok` an `error` that begins with the code, and often `hint` and
`retry_after_s`. `next` are the calls to make now, `{"tool", "arguments", "why"}`, ready to be sent but for what stands
in angle brackets. Below are the fields that a tool adds. Every tool takes `redis_url` as well, and some take arguments
marked *unlisted*: they are for callers made for older servers, and no list of tools has them. Where an agent is marked
*who calls*, a key that is bound to an agent may name no other.
"""
_COMMON = frozenset(Answer.model_fields)
_UNTOLD = "redis_url"


def markdown_of(specs: Iterable[ToolSpec]) -> str:
    """Return the reference of these tools as Markdown."""
    chosen = list(specs)
    parts = [_HEAD, _scopes(), _profiles()]
    for toolset in dict.fromkeys(spec.toolset for spec in chosen):
        parts.append(f"## {toolset}\n")
        parts.extend(_tool(spec) for spec in chosen if spec.toolset == toolset)
    return "\n".join(parts)


def surface(specs: Iterable[ToolSpec]) -> dict[str, Json]:
    """Return what callers depend on: names, scopes, parameters with their types, and fields of answers."""
    return {
        spec.name: {
            "scope": spec.scope.value,
            "acts_as": spec.acts_as,
            "parameters": {name: _parameter(schema, spec, name) for name, schema in _properties(spec)},
            "answer": sorted(set(spec.answer.model_fields)),
        }
        for spec in specs
    }


def _scopes() -> str:
    rows = "\n".join(f"| `{scope.value}` | {meaning} |" for scope, meaning in MEANINGS.items())
    return f"| scope | grants |\n|---|---|\n{rows}\n"


def _profiles() -> str:
    rows = "\n".join(
        f"| `{name}` | {'every tool' if names is None else ', '.join(f'`{one}`' for one in sorted(names))} |"
        for name, names in PROFILES.items()
    )
    return f"| profile (`DCF_PROFILE`) | tools |\n|---|---|\n{rows}\n"


def _tool(spec: ToolSpec) -> str:
    head = [f"### {spec.name}\n", f"{spec.description}\n", _facts(spec), ""]
    return "\n".join([*head, *_table(spec), *_example(spec), *_adds(spec)])


def _facts(spec: ToolSpec) -> str:
    facts = [f"Scope `{spec.scope.value}`"]
    if spec.read_only:
        facts.append("changes nothing")
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
        told = _parameter(schema, spec, name)
        default = "**required**" if told["required"] else f"`{dump(told['default'])}`"
        speaker = " *Who calls.*" if name == spec.acts_as else ""
        speaker += " *Unlisted.*" if KEYWORD in schema else ""
        description = schema.get("description", "").replace("|", "\\|")
        yield f"| `{name}` | {told['type']} | {default} | {description}{speaker} |"
    yield ""


def _example(spec: ToolSpec) -> Iterator[str]:
    call = smallest_call(spec)
    if call:
        yield f"The smallest call: `{dump(call)}`\n"


def _adds(spec: ToolSpec) -> Iterator[str]:
    added = [name for name in spec.answer.model_fields if name not in _COMMON]
    if added:
        yield f"Answers with {', '.join(f'`{name}`' for name in added)}.\n"


def _properties(spec: ToolSpec) -> Iterator[tuple[str, Mapping[str, Json]]]:
    yield from parameters_of(spec)["properties"].items()


def _parameter(schema: Mapping[str, Json], spec: ToolSpec, name: str) -> dict[str, Json]:
    needed = spec.arguments.model_fields[name].is_required()
    return {"type": _type(schema), "required": needed, "default": None if needed else schema.get("default")}


def _type(schema: Mapping[str, Json]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return "any"
    low, high = schema.get("minimum"), schema.get("maximum")
    return f"{kind} {low} to {high}" if low is not None and high is not None else str(kind)


if __name__ == "__main__":
    sys.stdout.write(markdown_of(select_tools((), read_only=False)))
