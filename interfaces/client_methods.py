"""The methods of the clients: for each verb a function with its signature and docstring, as if written by hand."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from textwrap import fill, indent
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from dcf.values.json_paths import MISSING
from dcf.verbs.description.verb import VERBS, Parameter, Verb, paged
from dcf.verbs.wording.named import renamed

_OF_A_CALLER: Final[Mapping[str, str]] = {
    "json": "Json",
    "value": "Json",
    "unread": "Json",
    "array": "Sequence[Json]",
    "places": "Sequence[str | Mapping[str, str]]",
    "object": "JsonObject",
    "rows": "Sequence[Mapping[str, Json]]",
    "records": "Sequence[Mapping[str, Json]]",
    "askees": "Askees",
    "document": "str | Mapping[str, Json]",
    "span": "Span",
    "moment": "Moment",
    "assignment": "Agents",
    "workflow": "Mapping[str, Json] | Path",
}
"""How a caller of Python writes the forms that are not plain."""

_SENT: Final[Mapping[str, str]] = {
    "object": "object_text({name}, {quoted})",
    "names": "listed({name})",
    "texts": "listed({name})",
    "several": "listed({name})",
    "array": "array_text({name}, {quoted})",
    "places": "array_text({name}, {quoted})",
    "rows": "rows({name})",
    "records": "rows({name})",
    "askees": "askees({name})",
    "span": "seconds({name})",
    "moment": "moment_text({name})",
    "request": "request_id_for({name})",
    "document": "name_or_object({name}, {quoted})",
    "assignment": "agents_text({name})",
    "workflow": "document_text({name})",
}
"""How the client sends the forms that are not plain."""

_OF_PAGES: Final = ("limit", "cursor", "offset")
"""Arguments that say which page is meant. The client yields the items of all pages."""

_MOST_OF_A_PAGE: Final = 100

_WIDTH: Final = 116
"""Characters in a line of a docstring."""

_IN_JSON: Final = re.compile(r"`?\b([a-z_]+)=(true|false)\b`?")
"""An argument with a value, as a description writes it."""

_IMPORTED: Final[Mapping[str, tuple[str, ...]]] = {
    "collections.abc": ("Mapping", "Sequence"),
    "pathlib": ("Path",),
    "typing": ("Any", "Literal"),
    "dcf.client.arguments": (
        "Agents",
        "Askees",
        "JsonObject",
        "Moment",
        "Span",
        "agents_text",
        "array_text",
        "askees",
        "document_text",
        "json_text",
        "listed",
        "listed_if_any",
        "moment_text",
        "name_or_object",
        "object_text",
        "request_id_for",
        "rows",
        "seconds",
    ),
    "dcf.client.exchange": ("Conversation", "Stream"),
    "dcf.client.calls": ("call_pages", "call_tool"),
    "dcf.values.json_paths": ("MISSING",),
    "dcf.values.json_text": ("Json",),
}
"""Where the names of the derived source come from, by module."""


def client_source(toolset: str, verbs: list[Verb]) -> str:
    """Return the module with the functions for the verbs of a toolset."""
    body = "\n\n\n".join(map(_function, verbs))
    head = f'"""Methods of the clients for the verbs of the toolset {toolset}. Derived from their descriptions."""'
    return "\n".join([head, "", *_imports(verbs, body), "", "", body, ""])


def method_of(verb: Verb) -> str:
    """Return the name of the client's method."""
    return verb.method or verb.name


def _imports(verbs: list[Verb], body: str) -> Iterator[str]:
    words = set(re.findall(r"\w+", body))
    for home, names in (*_IMPORTED.items(), *_records(verbs)):
        used = words.intersection(names)
        if used:
            yield f"from {home} import {', '.join(sorted(used))}"


def _records(verbs: list[Verb]) -> Iterator[tuple[str, set[str]]]:
    """Yield the modules of the records of answers, with the names that signatures may have of them."""
    for home in sorted({verb.record.__module__ for verb in verbs}):
        module = sys.modules[home]
        imported = {name for name, value in vars(module).items() if is_dataclass(value)}
        yield home, names_of_records(module) | imported


def names_of_records(module: ModuleType) -> set[str]:
    """Return the names of the records, and of the literal types, that a module of records defines."""
    literals = {name for name in module.__annotations__ if _is_literal(vars(module)[name])}
    own = vars(module).items()
    return literals | {name for name, value in own if is_dataclass(value) and value.__module__ == module.__name__}


def _function(verb: Verb) -> str:
    own = [item for item in verb.parameters if verb.pages is None or item.name not in _OF_PAGES]
    positional = [_parameter(verb, item) for item in own if item.is_positional]
    options = [_parameter(verb, item) for item in own if not item.is_positional]
    parameters = [*positional, *(["*", *options] if options else [])]
    sent = [f"{item.tool_name}={_sent(verb, item)}" for item in own]
    if verb.pages is None:
        kind = verb.record.__name__
        returned, call, fixed = f"Conversation[{kind}]", "call_tool", [kind, repr(verb.name)]
    else:
        kind = type_text(verb.item, {})
        returned, call = f"Stream[{kind}]", "call_pages"
        fixed = [kind, repr(verb.name), repr(verb.pages), *_limit(verb)]
    return (
        f"def {method_of(verb)}({', '.join(parameters)}) -> {returned}:\n"
        f"{indent(_docstring(verb), '    ')}\n"
        f"    return {call}({', '.join([*fixed, *sent])})"
    )


def _limit(verb: Verb) -> list[str]:
    """Return the size of the pages that are read, where it can be chosen."""
    limits = (item for item in verb.parameters if item.name == "limit" and item.argument.le is not None)
    return [f"{item.tool_name}={min(int(item.argument.le or 0), _MOST_OF_A_PAGE)}" for item in limits]


def _docstring(verb: Verb) -> str:
    text = paged(verb.documentation, "Pages are read as they are needed.") if verb.pages else verb.documentation
    text = renamed(text, lambda name: f"`{method_of(VERBS[name]) if name in VERBS else name}`")
    text = _IN_JSON.sub(lambda match: f"`{match[1]}={match[2].title()}`", text.replace("``", "`"))
    lines = "\n\n".join(map(_wrapped, f'"""{text}'.split("\n\n")))
    return f'{lines}\n"""' if "\n" in lines or len(lines) > _WIDTH - 3 else f'{lines}"""'


def _wrapped(paragraph: str) -> str:
    return fill(" ".join(paragraph.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)


def _parameter(verb: Verb, parameter: Parameter) -> str:
    kind = _OF_A_CALLER.get(parameter.argument.form) or type_text(parameter.type, _named_literals(verb))
    if parameter.is_required:
        return f"{parameter.name}: {kind}{' | None' if _may_be_empty(parameter) else ''}"
    left_out = parameter.default is MISSING or parameter.argument.form == "unread"
    if parameter.default is None and not left_out and not kind.endswith("None"):
        kind += " | None"
    default = "MISSING" if left_out else repr(parameter.default)
    return f"{parameter.name}: {kind} = {default}"


def _is_literal(value: Any) -> bool:
    return get_origin(value) is Literal


def _sent(verb: Verb, parameter: Parameter) -> str:
    name, form = parameter.name, parameter.argument.form
    if form in {"json", "unread"}:
        return _sent_json(verb, parameter)
    if _may_be_empty(parameter):
        return f"object_text({name} or {{}}, {name!r})"
    if form in {"names", "texts"} and parameter.default is None:
        return f"listed_if_any({name})"
    if form in _SENT:
        text = _SENT[form].format(name=name, quoted=repr(name))
        return f"None if {name} is None else {text}" if form == "workflow" and parameter.default is None else text
    return f"{name} or None" if parameter.default is False else name


def _sent_json(verb: Verb, parameter: Parameter) -> str:
    name = parameter.name
    text = f"json_text({name}, {name!r})"
    if parameter.argument.form == "unread" and any(item.name == "as_text" for item in verb.parameters):
        text = f"{name} if as_text else {text}"
    return text if parameter.is_required else f"None if {name} is MISSING else {text}"


def _may_be_empty(parameter: Parameter) -> bool:
    """Return True for an object that must be sent, and may be None: that is an empty one."""
    return parameter.is_required and parameter.argument.form == "object" and NoneType in get_args(parameter.type)


def _named_literals(verb: Verb) -> Mapping[Any, str]:
    """Return the literal types that have a name in the module of the answer, with that name."""
    return {value: name for name, value in vars(sys.modules[verb.record.__module__]).items() if _is_literal(value)}


def type_text(kind: Any, names: Mapping[Any, str]) -> str:
    """Return a type as it is written in source; `names` are those of literal types."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return names.get(kind) or f"Literal[{', '.join(map(repr, inner))}]"
    if origin in (Union, UnionType):
        kinds = [type_text(item, names) for item in inner]
        return " | ".join(item for item in kinds if item != "int" or "float" not in kinds)  # a float may be an int
    if origin is Annotated:
        return type_text(inner[0], names)
    if kind is NoneType:
        return "None"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(type_text(item, names) for item in inner)}]"
    return str(kind.__name__)


def methods_source(modules: Mapping[str, list[Verb]]) -> str:
    """Return the module with the methods of both clients; `modules` has the verbs by the derived module's name."""
    head = '"""The methods of the clients: one for each verb. Each is made when it is first asked for."""'
    homes = _homes_of_methods(modules)
    lines = [head, "", "from typing import TYPE_CHECKING", "", _METHOD_IMPORT, "", "if TYPE_CHECKING:"]
    lines += [
        f"    from {place.rpartition('.')[0]} import {place.rpartition('.')[2]} as {name}" for name, place in homes
    ]
    lines += ["else:", *(f"    {name} = Later({place!r})" for name, place in homes)]
    lines += ["", "", "class VerbMethods:", '    """A method for each verb of dcf."""', ""]
    for home, verbs in sorted(modules.items()):
        kinds = ((verb, "Iteration" if verb.pages else "Method") for verb in verbs)
        lines += [f"    {method_of(verb)} = {kind}({_place(home, verb)})" for verb, kind in kinds]
    return "\n".join([*lines, ""])


_METHOD_IMPORT: Final = "from dcf.client.methods import Iteration, Later, Method"


def _homes_of_methods(modules: Mapping[str, list[Verb]]) -> list[tuple[str, str]]:
    """Return the modules with the functions of the verbs, after the names that they have in the source."""
    by_hand = {verb.steps.partition(":")[0] for verbs in modules.values() for verb in verbs if verb.steps}
    derived = {home for home, verbs in modules.items() if any(verb.steps is None for verb in verbs)}
    return [
        *((f"{home}_verbs", f"dcf.client.derived.{home}") for home in sorted(derived)),
        *((f"{home.rpartition('.')[2]}_steps", home) for home in sorted(by_hand)),
    ]


def _place(home: str, verb: Verb) -> str:
    if verb.steps is None:
        return f"{home}_verbs.{method_of(verb)}"
    module, _, function = verb.steps.partition(":")
    return f"{module.rpartition('.')[2]}_steps.{function}"
