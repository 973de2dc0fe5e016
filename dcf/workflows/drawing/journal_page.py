"""The journal of a run as Markdown, for people and other programs. Pure.

The texts are others' words: what Markdown or a terminal would take for more than text is escaped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from dcf.values.json_text import Json, dump

_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>#|~!])|^(\s*)([-+=]|\d+[.)])", re.MULTILINE)
_LABELS: Final = {"trade_offs": "trade-offs", "next_steps": "next steps"}


def journal_page(workflow_id: str, entries: Iterable[Mapping[str, Json]]) -> Iterator[str]:
    """Yield the lines of the page: a heading for the run, and a section for each entry as readers see it."""
    yield f"# Journal of {escaped(workflow_id)}"
    for entry in entries:
        yield ""
        yield from entry_section(entry)


def entry_section(entry: Mapping[str, Json], level: int = 2) -> Iterator[str]:
    """Yield the lines of an entry, with a heading of this level."""
    state = "" if entry.get("state") is None else f", {escaped(entry['state'])}"
    attempt = "" if entry.get("attempt") is None else f" (attempt {entry['attempt']})"
    yield f"{'#' * level} {str(entry['at'])[:19]}Z {entry['kind']}: {escaped(entry['agent'])}{state}{attempt}"
    yield ""
    yield escaped(entry["text"])
    details = entry.get("details") or {}
    if details:
        yield ""
    for name, value in details.items():
        yield f"- {escaped(_LABELS.get(name, name))}: {_value(value)}"
    yield from _issue(entry)


def _issue(entry: Mapping[str, Json]) -> Iterator[str]:
    if entry["kind"] != "issue":
        return
    done, blocks = entry.get("resolved"), "blocks the run" if entry.get("blocks") else "does not block the run"
    yield ""
    if done is None:
        yield f"**Open** ({blocks}), `{entry['entry']}`"
    else:
        yield f"**Resolved** by {escaped(done['by'])}, {str(done['at'])[:19]}Z: {escaped(done['how'])}"


def _value(value: Json) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "; ".join(map(escaped, value))
    return escaped(value if isinstance(value, str) else dump(value))


def escaped(text: Json) -> str:
    """Return a text so that Markdown shows it as it is, on as many lines as it has, and no terminal obeys it."""
    printable_text = "".join(
        character if character.isprintable() or character == "\n" else "�" for character in str(text)
    )
    return _MARKS.sub(lambda match: f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}", printable_text)
