"""A run as a report in Markdown, to be filed or sent: how it ended, what was done by whom, and its journal. Pure.

All that comes from runs is others' text, and escaped as in a page of the journal.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from dcf.core.leasing.blockers import word_of
from dcf.values.instants import from_text, seconds
from dcf.values.json_text import Json, dump
from dcf.workflows.drawing.journal_page import entry_section, escaped
from dcf.workflows.drawing.words import printable

_FACTS: Final = ("workflow_name", "project", "planner_agent_id", "tags", "error", "cause")
_CLOSED: Final = ("achievements", "limitations", "metrics")
_LONGEST: Final = 2_000
"""Characters of the run's output; the JSON export has all of it."""


def markdown_report(
    head: Mapping[str, Json],
    states: Iterable[tuple[str, Mapping[str, Json]]],
    entries: Iterable[Mapping[str, Json]],
) -> Iterator[str]:
    """Yield the lines. `head` and `states` are those of an export, `entries` the journal, oldest first."""
    meta: Mapping[str, Json] = head["meta"]
    yield f"# {escaped(head.get('workflow_id'))}: {escaped(word_of(meta))}"
    yield ""
    yield from _facts(meta)
    yield from _outcome(meta)
    yield from _table(states)
    yield from _journal(entries)


def _facts(meta: Mapping[str, Json]) -> Iterator[str]:
    for name in _FACTS:
        if meta.get(name) not in (None, [], ""):
            yield f"- {name.replace('_', ' ')}: {_value(meta[name])}"
    for name in ("started_at", "finished_at"):
        if meta.get(name) is not None:
            yield f"- {name.removesuffix('_at')}: {str(meta[name])[:19]}Z"
    taken = _taken(meta)
    if taken:
        yield f"- took: {taken}"


def _outcome(meta: Mapping[str, Json]) -> Iterator[str]:
    closed = meta.get("closing") or {}
    if closed.get("summary"):
        yield from ("", "## Summary", "", escaped(closed["summary"]))
    for name in _CLOSED:
        if closed.get(name):
            yield from ("", f"## {name.capitalize()}", "")
            outcome = closed[name]
            yield from (f"- {_value(line)}" for line in (outcome if isinstance(outcome, list) else [outcome]))
    if meta.get("output") is not None:
        yield from ("", "## Output", "", "```json", *_indented(meta["output"]), "```")


def _table(states: Iterable[tuple[str, Mapping[str, Json]]]) -> Iterator[str]:
    """Yield a row for each state, without inputs and outputs."""
    yield from ("", "## States", "", "| state | status | attempts | took | error |", "|---|---|---|---|---|")
    for path, doc in states:
        error = " ".join(escaped(doc.get("last_error") or "").split())
        status, attempts = escaped(doc.get("status")), doc.get("attempts") or ""
        yield f"| {escaped(path)} | {status} | {attempts} | {_taken(doc)} | {error} |"


def _journal(entries: Iterable[Mapping[str, Json]]) -> Iterator[str]:
    for number, entry in enumerate(entries):
        yield from ("", "## Journal") if number == 0 else ()
        yield ""
        yield from entry_section(entry, level=3)


def _taken(document: Mapping[str, Json]) -> str:
    """Return how long it took in words; nothing if it has not ended."""
    began, ended = from_text(document.get("started_at")), from_text(document.get("finished_at"))
    return "" if began is None or ended is None else f"{max(0.0, seconds(ended - began)):.1f} s"


def _indented(value: Json) -> list[str]:
    """Return JSON in lines that cannot end the block around them."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    cut = ["… (the JSON export has all)"] if len(text) > _LONGEST else []
    return [printable(line, _LONGEST) for line in text[:_LONGEST].split("\n")] + cut


def _value(value: Json) -> str:
    text = escaped(value if isinstance(value, str) else dump(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (the JSON export has all)"
