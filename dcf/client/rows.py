"""The verbs of the client that are one call of a tool, or a list in pages: each is made of its row when it is needed.

`make verbs` derives the rows (`derived/methods.json`) from the descriptions, which a client does not import: they come
with the tools. Type checkers and readers have the signatures in `derived/methods.pyi`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from dcf.client import arguments
from dcf.client.calls import call_pages, call_tool
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, load

_FILE: Final = Path(__file__).parent / "derived" / "methods.json"


class ParameterRow(NamedTuple):
    """A parameter of a method, and the argument of the tool if its name differs; `sent` is an entry of `SENT`.

    If None is one of its values, a caller leaves it out by not naming it: `is_left_out`.
    """

    name: str
    type: str
    argument: str | None = None
    sent: str | None = None
    is_option: bool = False
    is_required: bool = False
    default: Json = None
    is_left_out: bool = False


class MethodRow(NamedTuple):
    """A method: its verb, the record of the answer or of an item, and what the signature says.

    Names of Python objects are `module:name`. `parameters` are members of `ParameterRow`. The items of a list are in
    the field `pages` of the answer, and `page_size` is the argument for how many one has. `steps` names a function for
    a verb that takes several calls.
    """

    verb: str = ""
    record: str = ""
    documentation: str = ""
    parameters: Sequence[Mapping[str, Json]] = ()
    is_list: bool = False
    pages: str | None = None
    page_size: Mapping[str, int] = {}
    steps: str | None = None


def read_rows() -> Mapping[str, Mapping[str, Json]]:
    """Return the members of each method's row, by the method's name."""
    rows: Mapping[str, Mapping[str, Json]] = load(_FILE.read_bytes())
    return rows


def named(place: str) -> Any:
    """Return the object that a row names; its module is imported."""
    module, _, name = place.partition(":")
    # nosemgrep: nothing-of-a-caller-is-executed - only modules that rows name
    return getattr(import_module(module), name)


def verb_of(name: str, members: Mapping[str, Json]) -> Callable[..., Any]:
    """Return the function with the steps of a verb, whose signature is that of the method."""
    row = MethodRow(**members)
    if row.steps is not None:
        steps: Callable[..., Any] = named(row.steps)
        return steps
    record = named(row.record)
    parameters = [ParameterRow(**parameter) for parameter in row.parameters]
    returned = f"Iterator[{record.__name__}]" if row.is_list else record.__name__
    signature = inspect.Signature([*map(_parameter, parameters)], return_annotation=returned)

    def verb(*args: Any, **kwargs: Any) -> Any:
        values = _bound(name, signature, args, kwargs)
        sent = {item.argument or item.name: _sent(item, values) for item in parameters}
        if row.pages is None:
            return call_tool(record, row.verb, **sent)
        return call_pages(record, row.verb, row.pages, **row.page_size, **sent)

    verb.__name__ = verb.__qualname__ = name
    verb.__doc__ = row.documentation
    verb.__signature__ = signature  # type: ignore[attr-defined]
    return verb


def _parameter(item: ParameterRow) -> inspect.Parameter:
    default = tuple(item.default) if isinstance(item.default, list) else item.default
    if item.is_required or item.is_left_out:
        default = inspect.Parameter.empty if item.is_required else MISSING
    kind = inspect.Parameter.KEYWORD_ONLY if item.is_option else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(item.name, kind, default=default, annotation=item.type)


def _bound(name: str, signature: inspect.Signature, args: Any, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the value of each parameter; raise TypeError as a call of the function `name` does."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None
    bound.apply_defaults()
    return bound.arguments


def _sent(item: ParameterRow, values: Mapping[str, Any]) -> Json:
    """Return the value of a parameter as the tool takes it; None if the caller left it out."""
    value = values[item.name]
    if value is MISSING:
        return None
    if item.sent is None or (item.sent == "json_or_text" and values["as_text"]):
        return value
    return SENT[item.sent](value, item.name)


SENT: Final[Mapping[str, Callable[[Any, str], Json]]] = {
    "array": arguments.array_text,
    "askees": lambda value, _: arguments.askees(value),
    "assignment": lambda value, _: arguments.agents_text(value),
    "document": arguments.name_or_object,
    "flag": lambda value, _: value or None,
    "json": arguments.json_text,
    "json_or_text": arguments.json_text,
    "moment": lambda value, _: arguments.moment_text(value),
    "object": arguments.object_text,
    "object_or_empty": lambda value, name: arguments.object_text(value or {}, name),
    "request": lambda value, _: arguments.request_id_for(value),
    "rows": lambda value, _: arguments.rows(value),
    "span": lambda value, _: arguments.seconds(value),
    "texts": lambda value, _: arguments.listed(value),
    "texts_if_any": lambda value, _: arguments.listed_if_any(value),
    "workflow": lambda value, _: arguments.document_text(value),
    "workflow_if_any": lambda value, _: None if value is None else arguments.document_text(value),
}
"""How values are sent that are not sent as they are: by the name of their form, and some of these in another way."""
