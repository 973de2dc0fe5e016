"""A run as one HTML page (`report.html`): its status, its picture, its states, and its events.

The page is read from a file. It must not fetch data or run scripts, and its content security policy forbids both.
All that comes from runs is untrusted text and escaped.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dcf.core.leasing.blockers import word_of
from dcf.data import PACKAGE
from dcf.values.json_text import Json
from dcf.workflows.drawing.statuses import MARKS
from dcf.workflows.drawing.words import printable

_LONGEST: Final = 20_000
_FACTS: Final = (
    "workflow_name", "created_at", "started_at", "finished_at", "finalized_at", "paused_at", "blocked_by",
    "planner_agent_id", "created_by", "tags", "definition_sha256", "error", "cause",
)  # fmt: skip
_MORE: Final = {"id", "at", "type", "state"}


def html_report(
    head: Mapping[str, Json],
    states: Mapping[str, Mapping[str, Json]],
    events: Sequence[Mapping[str, Json]],
    svg: str,
    left_out: Sequence[str] = (),
    findings: Iterable[Mapping[str, Json]] = (),
) -> str:
    """Return the page. `svg` is the picture of the workflow; `left_out` says what the page does not show.

    Of each of the `findings`, the remedy has a sentence and a command, in the words of who reads the page.
    """
    environment = Environment(
        loader=FileSystemLoader(PACKAGE / "workflows" / "drawing"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "text": _text,
        "plain": _plain,
        "indented": _indented,
        "pairs": _pairs,
        "status": _status,
        "word": _word,
    }
    return environment.get_template("report.html").render(
        head=head,
        meta=head["meta"],
        status=word_of(head["meta"]),
        facts=_FACTS,
        states=states,
        events=events,
        svg=svg,
        left_out=left_out,
        findings=findings,
    )


def _pairs(event: Mapping[str, Json]) -> str:
    shown = ((name, value) for name, value in event.items() if name not in _MORE and value is not None)
    return "  ".join(f"{name}={_plain(value)}" for name, value in shown)


def _indented(value: Json) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    cut = f"\n… {len(text) - _LONGEST} more characters in the JSON export" if len(text) > _LONGEST else ""
    shown = "\n".join(printable(line, _LONGEST) for line in text[:_LONGEST].split("\n"))
    return shown + cut


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)


def _status(status: Json) -> str:
    return printable(f"{MARKS.get(str(status), '◐')} {status}", _LONGEST)


def _word(status: Json) -> str:
    """Return a status as a class name; nothing but letters."""
    return "".join(character for character in str(status) if character.isascii() and character.isalpha())


def _text(value: Json) -> str:
    return printable(str(value), _LONGEST)
