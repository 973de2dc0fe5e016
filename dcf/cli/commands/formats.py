"""How the answer of a command is printed: as people read it, as JSON, as YAML, or only the names of what it is about.

`answer_options` gives every command the option, and the commands print their answers with `print_json`. Each command
prints its own text for people.
"""

import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Final, Literal, NamedTuple, TypeAlias

from dcf.cli.text import is_harmless, json_text
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

Format: TypeAlias = Literal["json", "yaml", "table", "name"]


class Chosen(NamedTuple):
    """The format that a command was called with, and the fields that make a name of what it is about."""

    format: Format | None
    ids: tuple[str, ...] = ()


_PEOPLE: Final = Chosen(None)
_CHOSEN: Final[ContextVar[Chosen]] = ContextVar("dcf_format", default=_PEOPLE)


def choose(chosen: Chosen) -> None:
    """Note how this command prints its answer."""
    _CHOSEN.set(chosen)


def is_for_programs(*, as_json: bool) -> bool:
    """Return True if the answer is printed for a program; `as_json` is --json, which is short for -o json."""
    form = _CHOSEN.get().format
    if as_json and form not in {None, "json"}:
        raise InvalidArgument(f"--json is -o json, and -o {form} is another format.", "Leave one of them out.")
    return as_json or form not in {None, "table"}


def print_json(document: Json, *, indent: int | None = 2) -> None:
    """Print an answer in the format that was chosen, and flush it, so that a pipe gets it at once.

    Without an `indent` the document is one of several: its JSON is one line.
    """
    form, ids = _CHOSEN.get()
    if form == "yaml":
        text = ("" if indent else "---\n") + _yaml(document)
    elif form == "name":
        text = "".join(f"{name}\n" for name in _names(document, ids))
    else:
        text = json_text(document, indent=indent) + "\n"
    sys.stdout.write(text)
    sys.stdout.flush()


def _yaml(document: Json) -> str:
    import yaml

    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return text if all(map(is_harmless, text)) else yaml.safe_dump(document, sort_keys=False)


def _names(document: Json, ids: tuple[str, ...]) -> Iterable[str]:
    """Return each name once, in the order of the answer."""
    rows = list(_rows(document, ids))
    if not ids or (not rows and not _is_empty(document)):
        raise InvalidArgument("The answer of this command has no names.", "Print it with -o json.")
    return dict.fromkeys("".join(filter(is_harmless, " ".join(row[name] for name in ids))) for row in rows)


def _is_empty(document: Json) -> bool:
    """Return True for a list that is empty, or an object of which all lists are: an answer with no names in it."""
    lists = [document] if isinstance(document, list) else [part for part in document.values() if isinstance(part, list)]
    return bool(lists) and not any(lists)


def _rows(document: Json, ids: tuple[str, ...]) -> Iterator[dict[str, Json]]:
    """Yield the objects that have a name: those of a list, of the lists of an object, or the object itself."""
    if isinstance(document, list):
        for item in document:
            yield from _rows(item, ids)
    elif isinstance(document, dict) and all(isinstance(document.get(name), str) for name in ids):
        yield document
    elif isinstance(document, dict):
        outer = {name: document[name] for name in ids if isinstance(document.get(name), str)}
        for value in document.values():
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, dict):
                    yield from _rows({**outer, **item}, ids)
