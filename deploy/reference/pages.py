"""Knows every generated page of docs/reference, and the index of them."""

from collections.abc import Callable
from typing import Final, NamedTuple

from dcf.tools.mcp.reference import markdown_of
from dcf.tools.mcp.selection import documented_tools
from dcf.workflows import language
from deploy.reference import client, commands, errors, events, exits, limits, metrics, scopes, settings
from deploy.reference.markdown import page, table


class Page(NamedTuple):
    """A generated page: the line that the index has about it, and what renders it."""

    about: str
    render: Callable[[], str]


def _render_tools() -> str:
    return markdown_of(documented_tools())


PAGES: Final = {
    "cli.md": Page("every command of `dcf`, with its arguments and options", commands.render),
    "client.md": Page("the Python API: every class, function and method", client.render),
    "errors.md": Page("every error code: its meaning, and which tools answer it", errors.render),
    "events.md": Page("every kind of event in histories, inboxes and webhooks, with its fields", events.render),
    "exit-codes.md": Page("what the exit codes of commands mean, and the errors behind them", exits.render),
    "settings.md": Page("every environment variable: its values, default and meaning", settings.render),
    "limits.md": Page("how large and how many everything may be, and what happens beyond", limits.render),
    "metrics.md": Page("every metric, with its type and labels", metrics.render),
    "scopes.md": Page("permissions of API keys, the tools that each opens, and quotas", scopes.render),
    "tools.md": Page("every MCP tool, with its scope, parameters, smallest call and answer", _render_tools),
    "language.md": Page("the Amazon States Language as dcf runs it: `dcf workflows language`", language.describe),
    "writing-flows.md": Page("flows on one page, for coding agents", language.describe_flows),
}
"""By the name of the file, in the order of the index."""

WRITTEN: Final = {
    "python.md": "the client: names, errors, functions",
    "python-methods.md": "the methods of the client on runs",
    "python-other-methods.md": "the methods of the client on agents, projects and files",
    "tasks.md": "what a Task of a document can say to its worker",
    "platforms.md": "where dcf runs, and which Redis it starts",
    "versions.md": "what stays compatible, and how things are deprecated",
    "compatibility/README.md": "the tools of other systems",
}
"""The pages of the reference that people write, and the line that the index has about each."""


def render_pages() -> dict[str, str]:
    """Return the text of every page by the name of its file."""
    return {**{name: made.render() for name, made in PAGES.items()}, "README.md": _render_index()}


def _render_index() -> str:
    about = {name: made.about for name, made in PAGES.items()} | WRITTEN
    rows = [(f"[{name.removesuffix('.md').removesuffix('/README')}]({name})", text) for name, text in about.items()]
    return page("Reference", table(("page", "has"), rows))
