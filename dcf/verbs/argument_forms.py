"""How a tool takes the values that are written in a form of their own: which types it accepts, and how each is read.

Forms that are `plain` in the description, and forms that are not listed, are taken as their types say.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dcf.errors import InvalidArgument
from dcf.values.json_text import check, parse, parse_object
from dcf.values.records import record
from dcf.verbs.description.verb import Form
from dcf.verbs.registry import read_names


@record(frozen=True, slots=True)
class ToolForm:
    """The type that a tool accepts, and what reads a value: it gets the value, the argument's name and a limit.

    Without a type the tool accepts that of the parameter.
    """

    type: Any
    read: Callable[[Any, str, int], Any]


def _json(value: Any, name: str, most: int) -> Any:
    return parse(value, name=name, max_bytes=most)


def _value(value: Any, name: str, most: int) -> Any:
    return check(value, name=name, max_bytes=most)


def _object(value: Any, name: str, most: int) -> Mapping[str, Any]:
    return parse_object(value, name=name, max_bytes=most)


def _names(value: Any, name: str, _: int) -> tuple[str, ...]:
    return read_names(value, name=name)


def _texts(value: Any, name: str, most: int) -> tuple[str, ...]:
    texts = parse(value, name=name, max_bytes=most)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidArgument(f"{name} is not an array of texts.", f'Send {name} as ["a", "b"].')
    return tuple(texts)


def _several(value: Any, name: str, _: int) -> tuple[Any, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values:
        raise InvalidArgument(f"{name} is an empty array.", f"Leave {name} out, or send a value.")
    return tuple(dict.fromkeys(values))


def _array(value: Any, name: str, most: int) -> list[Any]:
    values = parse(value, name=name, max_bytes=most)
    if not isinstance(values, list):
        raise InvalidArgument(f"{name} is no array.", f'Send {name} as ["A", "B"].')
    return values


def _rows(value: Any, name: str, most: int) -> tuple[Mapping[str, Any], ...]:
    rows = parse(value, name=name, max_bytes=most)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidArgument(f"{name} is not an array of objects.", f'Send {name} as [{{"name": "value"}}].')
    return tuple(rows)


def _as_it_is(value: Any, _: str, __: int) -> Any:
    return value


FORMS: Final[Mapping[Form, ToolForm]] = {
    "json": ToolForm(Any, _json),
    "value": ToolForm(Any, _value),
    "object": ToolForm(str | dict[str, Any], _object),
    "array": ToolForm(str | list[Any], _array),
    "names": ToolForm(str | list[Any], _names),
    "texts": ToolForm(str | list[Any], _texts),
    "several": ToolForm(None, _several),
    "rows": ToolForm(str | list[dict[str, Any]], _rows),
    "places": ToolForm(str | list[Any], _array),
    "assignment": ToolForm(str | dict[str, Any], _as_it_is),
    "workflow": ToolForm(str | dict[str, Any], _as_it_is),
}
"""The forms that a tool does not take as their types say."""
