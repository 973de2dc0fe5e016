"""Reads units as callers write them. Every problem is found in one pass and told with its place. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.asl.syntax.briefs import LONGEST_AREA, MOST_AREAS
from dcf.errors import InvalidArgument, InvalidDefinition, Problem
from dcf.features.growing.definition import problems_of
from dcf.features.growing.model import BRIEF_FIELDS, MOST_AT_ONCE, MOST_DEPENDENCIES, NewUnit, Unit
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json, byte_length
from dcf.values.names import escaped, hidden_in
from dcf.values.text_pieces import clip

LONGEST_NAME: Final = 80
LONGEST_TITLE: Final = 200
MOST_AGENTS: Final = 50
MAX_INPUT: Final = 256 * 1024
"""Most bytes of the input of a unit."""

_FIELDS: Final = frozenset(
    {"name", "kind", "group", "parent", "depends_on", "title", "input", "agents", "areas", "claim", *BRIEF_FIELDS}
)
_OF_GROUPS: Final = frozenset({"name", "kind", "group", "depends_on", "title", "agents"})
_KINDS: Final = ("unit", "group")


def read_units(document: Json) -> tuple[NewUnit, ...]:
    """Read an array of units; raise InvalidDefinition with everything that is wrong with them."""
    if not isinstance(document, list) or not document:
        raise InvalidArgument("units is not an array of units.", 'Send [{"name": "Build"}].')
    if len(document) > MOST_AT_ONCE:
        raise InvalidArgument(f"units has more than {MOST_AT_ONCE} units.", "Add them with several calls.")
    problems: list[Problem] = []
    for at, item in enumerate(document):
        problems += _wrong(item, f"/units/{at}")
    if problems:
        raise InvalidDefinition(problems)
    return tuple(_read(element).identified() for element in document if isinstance(element, dict))


def _read(document: Mapping[str, Any]) -> NewUnit:
    brief = {name: document[field] for field, name in BRIEF_FIELDS.items() if document.get(field) is not None}
    unit = Unit(
        name=document["name"],
        kind=document.get("kind") or "unit",
        group=document.get("group"),
        parent=document.get("parent"),
        depends_on=tuple(dict.fromkeys(document.get("depends_on") or ())),
        title=document.get("title"),
        areas=tuple(dict.fromkeys(document.get("areas") or ())),
        told=brief,
    )
    agents = document.get("agents") or ()
    pool = (agents,) if isinstance(agents, str) else tuple(dict.fromkeys(agents))
    return NewUnit(unit=unit, given=document.get("input", {}), agents=pool, claim=document.get("claim") is True)


def _wrong(document: Json, path: str) -> Iterator[Problem]:
    if not isinstance(document, dict):
        yield _problem(path, "wrong_type", "A unit is an object.", 'Send {"name": "Build"}.')
        return
    allowed = _OF_GROUPS if document.get("kind") == "group" else _FIELDS
    for name in document:
        if name not in allowed:
            hint = f"These belong here: {', '.join(sorted(allowed))}."
            yield _problem(f"{path}/{clip(name)}", "unknown_field", f"'{escaped(name)}' does not belong here.", hint)
    if document.get("kind", "unit") not in _KINDS:
        yield _problem(f"{path}/kind", "invalid_value", "kind is neither unit nor group.", "Leave it out for a unit.")
    yield from _wrong_names(document, path)
    yield from _wrong_texts(document, path)
    yield from _wrong_work(document, path)


def _wrong_names(document: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for field in ("name", "group", "parent"):
        value = document.get(field)
        if value is None and field != "name":
            continue
        why = _no_name(value)
        if why is not None:
            yield _problem(f"{path}/{field}", "invalid_name", f"{field} {why}.", _NAME)
    waits = document.get("depends_on")
    if waits is None:
        return
    if not isinstance(waits, list) or len(waits) > MOST_DEPENDENCIES:
        hint = f"Give an array of at most {MOST_DEPENDENCIES} names."
        yield _problem(f"{path}/depends_on", "invalid_value", "depends_on is not a list of names.", hint)
        return
    for at, name in enumerate(waits):
        why = _no_name(name)
        if why is not None:
            yield _problem(f"{path}/depends_on/{at}", "invalid_name", f"A dependency {why}.", _NAME)


def _wrong_texts(document: Mapping[str, Any], path: str) -> Iterator[Problem]:
    title = document.get("title")
    if title is not None and not _is_text(title, LONGEST_TITLE):
        hint = f"Give a line of at most {LONGEST_TITLE} characters."
        yield _problem(f"{path}/title", "invalid_value", "title is no line of text.", hint)
    areas = document.get("areas")
    if areas is not None and not _are_texts(areas, MOST_AREAS, LONGEST_AREA):
        hint = f"Give at most {MOST_AREAS} patterns of paths such as src/**."
        yield _problem(f"{path}/areas", "invalid_value", "areas is no list of patterns.", hint)
    agents = document.get("agents")
    pool = [agents] if isinstance(agents, str) else agents
    if pool is not None and not (isinstance(pool, list) and len(pool) <= MOST_AGENTS and all(map(_is_agent, pool))):
        hint = f"Give an agent's id, or a list of at most {MOST_AGENTS}."
        yield _problem(f"{path}/agents", "invalid_value", "agents are no ids of agents.", hint)
    if document.get("claim") not in (None, True, False):
        yield _problem(f"{path}/claim", "wrong_type", "claim is neither true nor false.", "Leave it out.")


def _wrong_work(document: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if byte_length(document.get("input")) > MAX_INPUT:
        message = f"input has more than {MAX_INPUT} bytes."
        yield _problem(f"{path}/input", "invalid_value", message, "Keep what is long elsewhere, and give its name.")
    brief = {name: document[field] for field, name in BRIEF_FIELDS.items() if document.get(field) is not None}
    written = {name: field for field, name in BRIEF_FIELDS.items()}
    for problem in problems_of(brief, "", "The unit"):
        _, field, *rest = problem.path.split("/")
        place = "/".join([path, written.get(field, field), *rest])
        yield _problem(place, problem.code, problem.message, problem.hint)


def _no_name(value: Json) -> str | None:
    """Return why this is no name of a unit; None if it is one."""
    if not isinstance(value, str) or not value:
        return "is missing or no text"
    hidden = hidden_in(value)
    if hidden is not None:
        return f"'{escaped(value)}' has a character that nobody sees ({hidden})"
    if len(value) > LONGEST_NAME:
        return f"has more than {LONGEST_NAME} characters"
    if "/" in value or "%" in value or value != value.strip():
        return f"'{clip(value)}' has '/', '%', or a space at an end"
    return None


def _is_text(value: Json, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and hidden_in(value) is None


def _are_texts(value: Json, most: int, longest: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(_is_text(text, longest) for text in value)


def _is_agent(value: Json) -> bool:
    return isinstance(value, str) and is_id(value)


def _problem(path: str, code: str, message: str, hint: str) -> Problem:
    return Problem(path=path, code=code, message=message, hint=hint)


_NAME: Final = f"Use 1 to {LONGEST_NAME} characters that can be seen, without '/' and '%'."
