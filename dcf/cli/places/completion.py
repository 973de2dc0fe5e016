"""Completes the words of a command in a shell: contexts, and the runs, states and agents of the place in use.

A message would appear in the middle of a command that the user is typing. So errors are silent, and an answer is
awaited only as long as a user waits after a key press.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import typer

from dcf.cli.places.choice import place_in_use
from dcf.errors import DcfError, ToolCallFailed
from dcf.values.json_text import Json

Offers: TypeAlias = list[tuple[str, str]]
"""Words that may be meant, each with what it is."""

_NEWEST: Final = 50
"""How many of the newest runs are offered."""
_MOST_WORK: Final = 200
_LONGEST_S: Final = 2.0


def complete_context(incomplete: str) -> Offers:
    """Return the names of contexts that begin so."""
    from dcf.cli.places.context import LOCAL
    from dcf.cli.places.context_file import path_of_contexts, read_contexts

    def names() -> Iterator[tuple[str, str]]:
        yield LOCAL, "this machine"
        for name, context in sorted(read_contexts(path_of_contexts()).known.items()):
            yield name, str(context.url)

    return _begun(names, incomplete)


def complete_run(incomplete: str) -> Offers:
    """Return the ids of the newest runs that begin so."""

    def runs() -> Iterator[tuple[str, str]]:
        for run in _answer("list_runs", limit=_NEWEST).get("runs") or ():
            yield run["workflow_id"], f"{run['status']}, {run['workflow_name']}"

    return _begun(runs, incomplete)


def complete_state(ctx: typer.Context, incomplete: str) -> Offers:
    """Return the states that begin so of the run that was named before."""
    run = ctx.params.get("workflow_id") or ctx.params.get("run")

    def states() -> Iterator[tuple[str, str]]:
        if run:
            answer = _answer("read_workflow_control_plane", workflow_id=run, summary=True)
            for name, state in (answer.get("states") or {}).items():
                yield name, str(state.get("status"))

    return _begun(states, incomplete)


def complete_agent(incomplete: str) -> Offers:
    """Return the agents that begin so: those that work or may, and those that are registered."""

    def agents() -> Iterator[tuple[str, str]]:
        for item in _answer_if_allowed("find_work", limit=_MOST_WORK).get("items") or ():
            for agent in (item.get("holder"), *item.get("agents", ())):
                if agent:
                    yield agent, f"{item['status']}: {item['state']} of {item['workflow_id']}"
        for row in _answer_if_allowed("list_registered_agents").get("agents") or ():
            yield row["agent_id"], str(row["url"])

    return list({agent: (agent, about) for agent, about in _begun(agents, incomplete)}.values())


def _answer_if_allowed(tool: str, **arguments: Json) -> Mapping[str, Json]:
    """Return the answer of a tool; nothing where the key in use may not call it."""
    try:
        return _answer(tool, **arguments)
    except ToolCallFailed:
        return {}


def _begun(offers: Callable[[], Iterable[tuple[str, str]]], incomplete: str) -> Offers:
    try:
        return [offer for offer in offers() if offer[0].startswith(incomplete)]
    except DcfError:
        return []


def _answer(tool: str, **arguments: Json) -> Mapping[str, Json]:
    """Return the answer of a tool at the place in use; nothing where a server would have to be started for it."""
    if place_in_use().context.is_local:
        from dcf.cli import opening

        settings = opening.settings()
        if settings.redis_url is None and not settings.data_dir.exists():
            return {}  # nothing was run yet
    from dcf.cli.places.place import place

    with place(longest_s=_LONGEST_S) as used:
        return used.call(tool, **arguments)
