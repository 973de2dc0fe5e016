"""Parses and checks what a Task tells its worker: its own fields here, those of capabilities by their rows.

Expressions in Instructions are compiled here and evaluated only when a worker is shown them, so they may read nothing
but the worker's input: no variables, no context, no time and no random numbers.
"""

import difflib
import re
from collections.abc import Iterator
from typing import Final

from dcf.asl.briefs import Instructions, TaskBrief
from dcf.asl.expressions.query_templates import CLOSING, OPENING
from dcf.asl.json_schema.syntax import doubts_of, flaws_of
from dcf.asl.jsonata.expressions import Compiled, Query, compile_expression
from dcf.asl.jsonata.text import called_names, refusals, without_literals
from dcf.asl.resources import Resource
from dcf.asl.syntax.failures import ALL
from dcf.asl.syntax.fields import DefinitionFields, kind
from dcf.asl.tasks.extensions import LANGUAGE
from dcf.values.json_text import Json
from dcf.values.names import escaped, hidden_in
from dcf.values.records import replace
from dcf.values.text_pieces import clip

FIELDS: Final = frozenset({"Instructions", "OutputSchema", "Errors", "Skills", "Areas"})

MAX_INSTRUCTIONS: Final = 16_000
MAX_EXPRESSIONS: Final = 50
MAX_STEPS: Final = 100_000
"""Limit of steps for one expression of Instructions; fifty of them take no longer than one of a state's fields may."""

ANY_TASK: Final = ("States.", "DCF.")
"""Beginnings of the names with which any Task may fail."""

MOST_AREAS: Final = 50
LONGEST_AREA: Final = 200
"""Characters of one area, and how many a Task or a unit may name."""

_MOST_NAMES: Final = 100
_LONGEST_NAME: Final = 200
_CHECKED: Final = frozenset({"work", "callback", "human"})
_CHANGING: Final = frozenset({"now", "millis", "random", "uuid", "shuffle"})
_PIECE: Final = re.compile(r"\{%(.*?)%\}", re.DOTALL)


def read_brief(fields: DefinitionFields, served_by: Resource) -> TaskBrief | None:
    """Read the fields of a Task; None if it has none of them."""
    own = LANGUAGE.fields.keys() & fields.document.keys()
    if not own and FIELDS.isdisjoint(fields.document):
        return None
    _refuse_unread(fields, served_by)
    errors = _names(fields, "Errors") if "Errors" in fields.document else None
    if errors is not None:
        _doubt_rules(fields, errors)
    return TaskBrief(
        instructions=_instructions(fields),
        schema=_schema(fields),
        errors=errors,
        skills=_names(fields, "Skills"),
        areas=_areas(fields),
        fields={name: LANGUAGE.fields[name].read(fields, served_by) for name in sorted(own)},
    )


def _refuse_unread(fields: DefinitionFields, served_by: Resource) -> None:
    """Report fields without effect: there is no worker, or the actor that ends the Task cannot correct its output."""
    for name in sorted(FIELDS.intersection(fields.document)):
        for_worker = name in ("Instructions", "Skills", "Areas")
        if served_by.is_worked if for_worker else served_by.kind in _CHECKED:
            continue
        reader = "no agent works on it" if for_worker else "its output could not be corrected"
        message = (
            f"{name} has no place in a Task with the Resource '{clip(str(fields.document['Resource']))}': {reader}."
        )
        fields.note(name, "conflicting_fields", message, "Remove the field.")


def _instructions(fields: DefinitionFields) -> Instructions | None:
    text = fields.text("Instructions")
    if text is None:
        return None
    if not text.strip() or len(text) > MAX_INSTRUCTIONS:
        message = f"Instructions has {len(text)} characters; it may have 1 to {MAX_INSTRUCTIONS}."
        fields.note("Instructions", "invalid_value", message, "Shorten it; give what is long in the Task's input.")
        return None
    return Instructions(text=text, pieces=tuple(_pieces(fields, text)))


def _pieces(fields: DefinitionFields, text: str) -> Iterator[str | Query]:
    """Yield the texts and the expressions in order, and report the expressions that are none."""
    before, count = 0, 0
    for match in _PIECE.finditer(text):
        yield from _plain(fields, text[before : match.start()])
        before, count = match.end(), count + 1
        query = _expression(fields, match[1].strip())
        if query is not None:
            yield query
    yield from _plain(fields, text[before:])
    if count > MAX_EXPRESSIONS:
        message = f"Instructions has {count} expressions; it may have {MAX_EXPRESSIONS}."
        fields.note("Instructions", "invalid_value", message, "Read fewer values, or an object as one.")


def _plain(fields: DefinitionFields, text: str) -> Iterator[str]:
    for mark, other in ((OPENING, CLOSING), (CLOSING, OPENING)):
        if mark in text:
            near = clip(text[max(0, text.index(mark) - 20) :], 60)
            message = f"Instructions: '{near}' has {mark} without {other}."
            fields.note("Instructions", "invalid_expression", message, _WRITE)
    if text:
        yield text


def _expression(fields: DefinitionFields, text: str) -> Query | None:
    try:
        compiled = compile_expression(text)
    except ValueError as error:
        fields.note("Instructions", "invalid_expression", f"Instructions: '{clip(text)}': {error}.", _WRITE)
        return None
    reason = next(_reasons(compiled), None)
    if reason is not None:
        fields.note("Instructions", "invalid_expression", f"Instructions: '{clip(text)}': {reason}.", _WRITE)
    return Query(field="Instructions", compiled=replace(compiled, max_steps=min(compiled.max_steps, MAX_STEPS)))


def _reasons(compiled: Compiled) -> Iterator[str]:
    yield from refusals(compiled.text)
    if compiled.reads_input:
        yield "there is no input document: read $states.input"
    for name in sorted((compiled.states or frozenset()) - {"input"}):
        yield f"$states.{name} is not available here, only $states.input is"
    for name in compiled.variables:
        yield f"the variable ${clip(name)} cannot be read here: pass it on in the Task's input"
    for name in sorted(called_names(without_literals(compiled.text)) & _CHANGING):
        yield f"${name} would show something else every time: read it from the Task's input"


def _schema(fields: DefinitionFields) -> dict[str, Json] | bool | None:
    if "OutputSchema" not in fields.document:
        return None
    written: Json = fields.document["OutputSchema"]
    flaws = flaws_of(written)
    for flaw in flaws:
        message = f"{fields.owner}: OutputSchema: {flaw.message}."
        fields.report(f"/OutputSchema{flaw.pointer}", "invalid_schema", message, _WRITE_SCHEMA)
    for doubt in () if flaws else doubts_of(written):
        fields.warn(f"/OutputSchema{doubt.pointer}", "unknown_keyword", f"OutputSchema: {doubt.message}", _WRITE_SCHEMA)
    return written if isinstance(written, bool | dict) else None


def _names(fields: DefinitionFields, field: str) -> tuple[str, ...]:
    """Read an array of names, each once."""
    written: list[Json] = fields.value(field, list, "an array of strings") or []
    if len(written) > _MOST_NAMES:
        fields.note(field, "invalid_value", f"{field} has more than {_MOST_NAMES} names.", "Name fewer.")
        return ()
    for at, name in enumerate(written):
        reason = _no_name(field, name)
        if reason is not None:
            message = f"{fields.owner}: {field}: {reason}."
            fields.report(f"/{field}/{at}", "invalid_name", message, _NAME_HINTS[field])
    return tuple(dict.fromkeys(name for name in written if isinstance(name, str)))


def _areas(fields: DefinitionFields) -> tuple[str, ...]:
    """Read the patterns of the files that the work is about."""
    written: list[Json] = fields.value("Areas", list, "an array of strings") or []
    if not are_areas(written):
        message = f"Areas is no list of at most {MOST_AREAS} patterns of 1 to {LONGEST_AREA} characters."
        fields.note("Areas", "invalid_value", message, "Write patterns of paths such as src/**.")
        return ()
    return tuple(dict.fromkeys(written))


def are_areas(written: list[Json]) -> bool:
    """Return True for a list of patterns that a Task or a unit may name."""
    texts = all(isinstance(area, str) and area.strip() and len(area) <= LONGEST_AREA for area in written)
    return len(written) <= MOST_AREAS and texts


def _doubt_rules(fields: DefinitionFields, errors: tuple[str, ...]) -> None:
    """Warn about errors that Retry and Catch name, and that the Task does not."""
    for tail, name in _rules_named(fields.document):
        if name in errors or name.startswith(ANY_TASK):
            continue
        near = difflib.get_close_matches(name, errors, 1)
        meant = f"Did you mean '{near[0]}'?" if near else f"Those are: {clip(', '.join(errors), 200) or 'none'}."
        message = f"'{clip(name)}' is not among the Errors of the Task. {meant}"
        fields.warn(tail, "unlisted_error", message, "Add it to Errors, or correct it.")


def _rules_named(document: dict[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield the names of errors in Retry and Catch, with their places."""
    for field in ("Retry", "Catch"):
        rules = document.get(field)
        for at, rule in enumerate(rules if isinstance(rules, list) else ()):
            names = rule.get("ErrorEquals") if isinstance(rule, dict) else None
            for number, name in enumerate(names if isinstance(names, list) else ()):
                if isinstance(name, str):
                    yield f"/{field}/{at}/ErrorEquals/{number}", name


def _no_name(field: str, name: Json) -> str | None:
    if not isinstance(name, str):
        return f"a name must be a string, not {kind(name)}"
    hidden = hidden_in(name)
    if not name.strip() or len(name) > _LONGEST_NAME or hidden is not None:
        why = "" if hidden is None else f" that can all be seen (it has {hidden})"
        return f"'{escaped(name)}' is no name: it has 1 to {_LONGEST_NAME} characters{why}"
    if field == "Errors" and name == ALL:
        return f"{ALL} stands for all errors, and no Task fails with it"
    return None


_WRITE: Final = "Write an expression such as {% $states.input.order.id %}, which reads the Task's input."
_WRITE_SCHEMA: Final = "Write a JSON Schema (2020-12) of what the Task puts out, which refers to no other."
_NAME_HINTS: Final = {
    "Errors": 'Name the errors that the worker may fail with, such as ["OutOfStock"].',
    "Skills": 'Name manifests, such as ["skill://pricing@1.0.0"].',
}
