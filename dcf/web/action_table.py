"""The tools that the page may call to change something, the arguments in their forms, and how they are confirmed.

A tool that is not in this table cannot be called by the page, and an argument that is not in its row is refused. The
table must not know HTTP, and gives no rights: each tool checks who may call it.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.access.model import Scope
from dcf.tools.mcp import selection
from dcf.verbs.description.verb import VERBS, Parameter, Verb
from dcf.web.action import Action, Given, Kind

_LINES: Final = frozenset({"plain", "person", "request"})
"""Forms that are written as their types say. All others are JSON."""

_LONG: Final = 1000
"""Characters from which a text has more than one line."""


def _action(verb: Verb) -> Action | None:
    if verb.page is None:
        return None
    by_name = {item.name: item for item in verb.parameters}
    fixed = [item.name for item in verb.parameters if item.is_positional and item.name not in verb.page.form]
    return Action(
        title=verb.page.title,
        effect=verb.page.effect,
        given=tuple(_input(by_name[name], verb.page.needed) for name in (*fixed, *verb.page.form)),
        scopes=frozenset(map(Scope, verb.page.scopes)),
        always={by_name[name].tool_name: value for name, value in verb.page.always.items()},
        is_repeatable="request_id" in by_name,
        then=verb.page.returns_to,
        is_grave=verb.effect == "destroys" if verb.page.is_grave is None else verb.page.is_grave,
    )


def _input(item: Parameter, needed: tuple[str, ...]) -> Given:
    return Given(
        name=item.tool_name,
        label=item.argument.label,
        kind=_kind(item),
        needed=item.is_required or item.name in needed,
        ticked=item.default is True,
    )


def _kind(item: Parameter) -> Kind:
    if item.argument.form == "records":
        return "list"
    if item.argument.form not in _LINES:
        return "json"
    if item.type is bool:
        return "flag"
    if item.type in {int, int | None}:
        return "number"
    return "text" if (item.argument.max_length or 0) >= _LONG else "line"


assert selection.MODULES, "importing the selection describes all verbs"
ACTIONS: Final[Mapping[str, Action]] = {
    name: action for name, verb in VERBS.items() if (action := _action(verb)) is not None
}
"""Every action of the page, by the tool that carries it out."""
