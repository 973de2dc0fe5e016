"""Makes HTML from the templates of this package. All text from runs is untrusted, and escaped by the templates.

Escaping is on for every template, and a name that a template has and its page does not is an error.
"""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dcf.core.leasing.blockers import listed_word
from dcf.data import PACKAGE
from dcf.values.json_text import Json
from dcf.verbs.wording.languages import Commands, Labels
from dcf.verbs.wording.sentences import Call, worded
from dcf.web.action_table import ACTIONS
from dcf.web.visit import current_visit
from dcf.workflows.drawing.statuses import MARKS
from dcf.workflows.drawing.words import printable

MENU: Final[tuple[tuple[str, str, frozenset[str]], ...]] = (
    ("Runs", "/ui/runs", frozenset({"runs.html", "run.html"})),
    ("Why", "/ui/why", frozenset({"why.html"})),
    ("Inbox", "/ui/inbox", frozenset({"inbox.html", "answer.html"})),
    ("Agents", "/ui/agents", frozenset({"agents.html"})),
    ("Accounts", "/ui/accounts", frozenset({"accounts.html"})),
    ("Workflows", "/ui/workflows", frozenset({"workflows.html", "workflow.html", "validated.html"})),
    ("System", "/ui/system", frozenset({"system.html"})),
)
"""The screens that every page leads to: name, path, and the templates of the pages that belong to it."""

_FOLDERS: Final = ("templates", "run_templates", "list_templates")
_LONGEST: Final = 20_000
_EXCERPT: Final = 3_000
_SHORT: Final = 500
_BRIEF: Final = 120


def run_link(workflow_id: str, **parameters: str | None) -> str:
    """Return the address of a run's page; parameters without a value are left out."""
    return f"/ui/runs/{quote(workflow_id, safe='')}{query(**parameters)}"


def runs_link(**parameters: str | None) -> str:
    """Return the address of the list of runs with these filters; those without a value are left out."""
    return f"/ui/runs{query(**parameters)}"


def live_link(workflow_id: str | None = None, **parameters: str | None) -> str:
    """Return the address of the event stream of a run, or of the list of runs with these filters."""
    part = "" if workflow_id is None else f"/runs/{quote(workflow_id, safe='')}"
    return f"/ui{part}/live{query(**parameters)}"


def html(template: str, **values: Any) -> str:
    """Return the page of a template. Every template knows the `visit` that it is made for."""
    always = {"template": template, "menu": MENU, "visit": current_visit()}
    return _ENVIRONMENT.get_template(template).render({**always, **values})


def query(**parameters: str | None) -> str:
    """Return parameters as the end of an address, with its question mark; those without a value are left out."""
    values = {name: value for name, value in parameters.items() if value}
    return f"?{urlencode(values)}" if values else ""


def _shown(value: Json) -> str:
    """Return a value as one line of text without control characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    return printable(text, _SHORT)


def _brief(value: Json) -> str:
    """Return a value as the beginning of one line."""
    return printable(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)[:_SHORT], _BRIEF
    )


def _document(value: Json, longest: int = _LONGEST) -> str:
    """Return a value as indented JSON without control characters, cut when long."""
    return _plain(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False), longest)


def _excerpt(value: Json) -> str:
    """Return the beginning of a value as indented JSON; the page links to the whole value."""
    return _document(value, _EXCERPT)


def _plain(text: str, longest: int = _EXCERPT) -> str:
    """Return a text of several lines without control characters, cut when long."""
    cut = f"\n… {len(text) - longest} more characters" if len(text) > longest else ""
    return "\n".join(printable(line, longest) for line in text[:longest].split("\n")) + cut


def _paragraphs(text: Json) -> str:
    """Return a text as it is, line by line, without control characters."""
    return "\n".join(printable(line, _LONGEST) for line in str(text)[:_LONGEST].split("\n"))


def _in_labels(text: Json) -> str:
    """Return a sentence with the labels of buttons in place of verbs."""
    return worded(str(text), Labels())


def _command(call: Mapping[str, Json]) -> str | None:
    """Return the call of a remedy as a command to type; None for what is no command."""
    return Commands().command(Call(verb=call["tool"], arguments=call["arguments"]))


def _moment(at: Json) -> str:
    """Return an instant to the second, as people read it."""
    return at[:19].replace("T", " ") if isinstance(at, str) else ""


def _status_class(status: Json) -> str:
    """Return a status as the name of a style: nothing but letters."""
    return "".join(character for character in str(status) if character.isascii() and character.isalpha())


def _mark(status: Json) -> str:
    return MARKS.get(str(status), "◐")


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader([PACKAGE / "web" / folder for folder in _FOLDERS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(in_labels=_in_labels, command=_command)
    environment.filters.update(shown=_shown, document=_document, moment=_moment, status_class=_status_class, mark=_mark)
    environment.filters.update(paragraphs=_paragraphs, listed_word=listed_word)
    environment.filters.update(brief=_brief, excerpt=_excerpt, plain=_plain)
    environment.globals.update(run_link=run_link, runs_link=runs_link, query=query, actions=ACTIONS)
    return environment


_ENVIRONMENT: Final = _environment()
