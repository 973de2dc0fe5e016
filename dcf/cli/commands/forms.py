"""How the command line writes the values of each form: the type of its option, and the conversions of its value.

Forms that are `plain` in the description, and forms that are not listed, are written as their types say.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dcf.cli.authorship import user_name
from dcf.cli.documents import read_given, read_object, read_text_or_json
from dcf.errors import InvalidArgument
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, dump
from dcf.values.spans import read_span
from dcf.verbs.description.verb import Form


@dataclass(frozen=True, slots=True)
class CommandForm:
    """The type of an option, the reader of its value (with the option's name), and the writer for the verb's tool.

    `metavar` stands for the value in help, where the argument's name does not. With `has_value`, there is a value also
    where the option is left out.
    """

    type: Any
    read: Callable[[Any, str], Any]
    send: Callable[[Any], Json]
    metavar: str | None = None
    has_value: bool = False


def _read_json(value: str | None, option: str) -> Json:
    return MISSING if value is None else read_given(value, option)


def _send_json(value: Json) -> Json:
    return None if value is MISSING else dump(value)


def _read_rows(value: str | None, option: str) -> tuple[Mapping[str, Json], ...] | None:
    if value is None:
        return None
    rows = read_given(value, option)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidArgument(f"{option} is no list of JSON objects.", f'Write {option} \'[{{"name": "value"}}]\'.')
    return tuple(rows)


def _read_array(value: str | None, option: str) -> list[Json] | None:
    values = None if value is None else read_given(value, option)
    if values is not None and not isinstance(values, list):
        raise InvalidArgument(f"{option} is no JSON array.", f'Write {option} \'["A", "B"]\'.')
    return values


def read_place(text: str) -> Json:
    """Return a directory as a tool takes it: PATH as it is, MACHINE=PATH as an object."""
    machine, equals, path = text.partition("=")
    return {"path": path, "machine": machine} if equals and "/" not in machine else text


def _read_span(value: str | None, option: str) -> int | None:
    span = None if value is None else read_span(value)
    if span is None and value is not None:
        raise InvalidArgument(f"{option} is no length of time.", "Write it as 15m, 12h, 30s or 1d.")
    return span


def read_assignment(value: Sequence[str] | None, option: str) -> dict[str, list[str]] | None:
    """Return the agents of each state; `*` is all of them."""
    pools: dict[str, list[str]] = {}
    for state, agent in assigned(value or (), option):
        pools.setdefault(state or "*", []).append(agent)
    return pools or None


def assigned(texts: Sequence[str], option: str) -> Iterator[tuple[str, str]]:
    """Yield the state and the agent of each STATE=AGENT; an AGENT alone is for no state, and so for all Tasks."""
    for text in texts:
        state, equals, agent = text.rpartition("=")
        if equals and not state:
            raise InvalidArgument(f"{option} names no state.", f"Write {option} STATE=AGENT, or AGENT for all Tasks.")
        yield state, agent


def _read_list(value: Sequence[str] | None, _: str) -> tuple[str, ...] | None:
    return tuple(value) if value else None


def _as_it_is(value: Any) -> Any:
    return value


def _read_askees(value: Sequence[str] | None, _: str) -> list[Json] | None:
    groups = {text: text.removeprefix("group:") for text in value or () if text.startswith("group:")}
    return [{"group": groups[text]} if text in groups else text for text in value or ()] or None


FORMS: Final[Mapping[Form, CommandForm]] = {
    "json": CommandForm(str | None, _read_json, _send_json),
    "value": CommandForm(str, lambda value, _: read_text_or_json(Path(value)), _as_it_is, "FILE"),
    "object": CommandForm(str | None, read_object, _as_it_is),
    "array": CommandForm(str | None, _read_array, _as_it_is),
    "names": CommandForm(list[str] | None, _read_list, list),
    "texts": CommandForm(list[str] | None, _read_list, list),
    "several": CommandForm(list[str] | None, _read_list, list),
    "places": CommandForm(list[str] | None, lambda value, _: tuple(map(read_place, value or ())) or None, list),
    "words": CommandForm(list[str] | None, lambda value, _: " ".join(value or ()) or None, _as_it_is),
    "rows": CommandForm(str | None, _read_rows, list),
    "records": CommandForm(str | None, _read_rows, list),
    "askees": CommandForm(list[str] | None, _read_askees, _as_it_is),
    "span": CommandForm(str | None, _read_span, _as_it_is),
    "person": CommandForm(
        str | None, lambda value, option: user_name(option) if value is None else value, _as_it_is, has_value=True
    ),
    "assignment": CommandForm(list[str] | None, read_assignment, _as_it_is),
}
"""The forms that the command line does not write as their types say."""
