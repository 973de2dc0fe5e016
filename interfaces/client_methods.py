"""The methods of the clients: for each verb a row of data, by which it is called, and a signature for type checkers."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from textwrap import fill, indent
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from dcf.client.arguments import Agents, Askees, JsonObject, Moment, Span
from dcf.client.rows import MethodRow, ParameterRow
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.verbs.description.verb import VERBS, Parameter, Verb, paged
from dcf.verbs.wording.named import renamed
from interfaces.data import json_source, members

_OF_A_CALLER: Final[Mapping[str, Any]] = {
    "json": Json,
    "value": Json,
    "unread": Json,
    "array": Sequence[Json],
    "places": Sequence[str | Mapping[str, str]],
    "object": JsonObject,
    "rows": Sequence[Mapping[str, Json]],
    "records": Sequence[Mapping[str, Json]],
    "askees": Askees,
    "document": str | Mapping[str, Json],
    "span": Span,
    "moment": Moment,
    "assignment": Agents,
    "workflow": Mapping[str, Json] | Path,
}
"""The types with which a caller of Python writes the forms that are not plain."""

_ALIASES: Final[Mapping[Any, str]] = {
    Json: "Json",
    JsonObject: "JsonObject",
    Askees: "Askees",
    Span: "Span",
    Moment: "Moment",
    Agents: "Agents",
}
"""The names that type checkers are shown for these types."""

_SENT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("json", "unread"), "json"),
    **dict.fromkeys(("names", "texts", "several"), "texts"),
    **dict.fromkeys(("array", "places"), "array"),
    **dict.fromkeys(("rows", "records"), "rows"),
    **{form: form for form in ("object", "askees", "span", "moment", "request", "document", "assignment", "workflow")},
}
"""How the client sends the forms that are not plain, by the names of `dcf.client.rows.SENT`."""

_OF_PAGES: Final = ("limit", "cursor", "offset")
"""Arguments that say which page is meant. The client yields the items of all pages."""

_MOST_OF_A_PAGE: Final = 100

_WIDTH: Final = 116
"""Characters in a line of a description."""

_INDENTED: Final = 107
"""Characters in a line of a docstring in a class."""

_IN_JSON: Final = re.compile(r"`?\b([a-z_]+)=(true|false)\b`?")
"""An argument with a value, as a description writes it."""

_IMPORTED: Final[Mapping[str, tuple[str, ...]]] = {
    "collections.abc": ("Callable", "Iterator", "Mapping", "Sequence"),
    "pathlib": ("Path",),
    "typing": ("Any", "Concatenate", "Literal", "ParamSpec", "TypeVar"),
    "dcf.client.arguments": ("Agents", "Askees", "JsonObject", "Moment", "Span"),
    "dcf.client.methods": ("Iteration", "Method"),
    "dcf.values.json_text": ("Json",),
}
"""Where the names of the derived signatures come from, by module."""

_HEAD: Final = '''"""The methods of the clients, for type checkers and readers, as a client that blocks has them.

Derived from the descriptions of the verbs by `make verbs`; do not edit. `methods.json` has the same for a process.
"""

'''

_BEFORE: Final = '''
P = ParamSpec("P")
T = TypeVar("T")

def _method(described: Callable[Concatenate[Any, P], T]) -> Method[P, T]: ...
def _iteration(described: Callable[Concatenate[Any, P], Iterator[T]]) -> Iteration[P, T]: ...

class VerbMethods:
    """A method for each verb of dcf."""

'''


def rows_source(verbs: list[Verb]) -> str:
    """Return the file with the row of each method."""
    return json_source({method_of(verb): _row(verb) for verb in verbs})


def signatures_source(verbs: list[Verb]) -> str:
    """Return the stub with the signatures of the methods."""
    by_hand = sorted({verb.steps.partition(":")[0] for verb in verbs if verb.steps})
    body = "\n".join(indent(_signature(verb), "    ") for verb in verbs)
    steps = "".join(f"from {home.rpartition('.')[0]} import {home.rpartition('.')[2]}\n" for home in by_hand)
    imported = "".join(f"{line}\n" for line in _imports(verbs, _BEFORE + body))
    return f"{_HEAD}{imported}{steps}{_BEFORE}{body}\n"


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


def _row(verb: Verb) -> MethodRow:
    if verb.steps is not None:
        return MethodRow(steps=verb.steps, is_list=verb.pages is not None)
    record = verb.record if verb.pages is None else verb.item
    return MethodRow(
        verb=verb.name,
        record=f"{record.__module__}:{record.__name__}",
        documentation=_documentation(verb, _WIDTH),
        parameters=[members(_parameter_row(verb, item)) for item in _parameters(verb)],
        is_list=verb.pages is not None,
        pages=verb.pages,
        page_size=dict(_page_size(verb)),
    )


def _parameters(verb: Verb) -> list[Parameter]:
    """Return what the caller gives, in the order of the signature."""
    parameters = [item for item in verb.parameters if verb.pages is None or item.name not in _OF_PAGES]
    return sorted(parameters, key=lambda item: not item.is_positional)


def _parameter_row(verb: Verb, item: Parameter) -> ParameterRow:
    return ParameterRow(
        name=item.name,
        type=_type(item, {}),
        argument=None if item.tool_name == item.name else item.tool_name,
        sent=_sent(verb, item),
        is_option=not item.is_positional,
        is_required=item.is_required,
        default=None if item.is_required or _is_left_out(item) else item.default,
        is_left_out=_is_left_out(item),
    )


def _page_size(verb: Verb) -> Iterator[tuple[str, int]]:
    """Yield the size of the pages that are read, where it can be chosen."""
    if verb.pages is not None:
        limits = (item for item in verb.parameters if item.name == "limit" and item.argument.le is not None)
        yield from ((item.tool_name, min(int(item.argument.le or 0), _MOST_OF_A_PAGE)) for item in limits)


def _signature(verb: Verb) -> str:
    if verb.steps is not None:
        module, _, function = verb.steps.partition(":")
        kind = "Iteration" if verb.pages else "Method"
        return f"{method_of(verb)} = {kind}({module.rpartition('.')[2]}.{function})"
    parameters = _parameters(verb)
    positional = [_parameter(verb, item) for item in parameters if item.is_positional]
    options = [_parameter(verb, item) for item in parameters if not item.is_positional]
    written = ["self", *positional, *(["*", *options] if options else [])]
    kind = verb.record.__name__ if verb.pages is None else f"Iterator[{type_text(verb.item, {})}]"
    decorator = "_method" if verb.pages is None else "_iteration"
    return f"@{decorator}\ndef {method_of(verb)}({', '.join(written)}) -> {kind}:\n{indent(_docstring(verb), '    ')}"


def _docstring(verb: Verb) -> str:
    text = _documentation(verb, _INDENTED, before='"""')
    return f'{text}\n"""' if "\n" in text or len(text) > _INDENTED - 3 else f'{text}"""'


def _documentation(verb: Verb, width: int, before: str = "") -> str:
    """Return the description of a method in lines of a width; `before` is the beginning of the first."""
    text = paged(verb.documentation, "Pages are read as they are needed.") if verb.pages else verb.documentation
    text = renamed(text, lambda name: f"`{method_of(VERBS[name]) if name in VERBS else name}`")
    text = _IN_JSON.sub(lambda match: f"`{match[1]}={match[2].title()}`", text.replace("``", "`"))
    paragraphs = (" ".join(paragraph.split()) for paragraph in f"{before}{text}".split("\n\n"))
    return "\n\n".join(fill(item, width, break_long_words=False, break_on_hyphens=False) for item in paragraphs)


def _parameter(verb: Verb, parameter: Parameter) -> str:
    kind = _type(parameter, {**_ALIASES, **_named_literals(verb)})
    if parameter.is_required:
        return f"{parameter.name}: {kind}"
    return f"{parameter.name}: {kind} = {'...' if _is_left_out(parameter) else repr(parameter.default)}"


def _type(parameter: Parameter, names: Mapping[Any, str]) -> str:
    kind = type_text(_OF_A_CALLER.get(parameter.argument.form, parameter.type), names)
    may_be_none = parameter.default is None and not _is_left_out(parameter)
    if _may_be_empty(parameter) or (may_be_none and not kind.endswith("None")):
        kind += " | None"
    return kind


def _is_left_out(parameter: Parameter) -> bool:
    """Return True for an argument of which None is a value, so that another one stands for none."""
    return not parameter.is_required and (parameter.default is MISSING or parameter.argument.form == "unread")


def _is_literal(value: Any) -> bool:
    return get_origin(value) is Literal


def _sent(verb: Verb, parameter: Parameter) -> str | None:
    form = parameter.argument.form
    if _may_be_empty(parameter):
        return "object_or_empty"
    if form == "unread" and any(item.name == "as_text" for item in verb.parameters):
        return "json_or_text"
    if form in {"names", "texts"} and parameter.default is None:
        return "texts_if_any"
    if form == "workflow" and parameter.default is None:
        return "workflow_if_any"
    return "flag" if parameter.default is False else _SENT.get(form)


def _may_be_empty(parameter: Parameter) -> bool:
    """Return True for an object that must be sent, and may be None: that is an empty one."""
    return parameter.is_required and parameter.argument.form == "object" and NoneType in get_args(parameter.type)


def _named_literals(verb: Verb) -> Mapping[Any, str]:
    """Return the literal types that have a name in the module of the answer, with that name."""
    return {value: name for name, value in vars(sys.modules[verb.record.__module__]).items() if _is_literal(value)}


def type_text(kind: Any, names: Mapping[Any, str]) -> str:
    """Return a type as it is written in source; `names` are those of types that have one."""
    return names.get(kind) or _type_without_name(kind, names)


def _type_without_name(kind: Any, names: Mapping[Any, str]) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
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
