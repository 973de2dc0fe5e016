"""The page of events: each kind in histories, inboxes and webhooks, with its fields."""

from collections.abc import Iterable, Mapping

from dcf.core.listing.event_kinds import (
    HISTORY,
    INBOX,
    OF_HISTORY,
    OF_INBOX,
    OF_WEBHOOKS,
    WEBHOOKS,
    EventKind,
)
from deploy.reference.markdown import page, table


def render() -> str:
    """Return the page."""
    return page(
        "Events",
        "An event has the fields of its table, and those that all events there have. A field without a value is left "
        "out.",
        "## In the history of a run",
        f"`dcf runs events RUN`, the tool `read_run_events` and `client.events` read them. Every event has "
        f"{_names(OF_HISTORY)}; one about the run as a whole has no `state`. In Python the other fields are in `data`.",
        _table(HISTORY),
        "## In the inbox of an agent",
        f"`await_workflow_event` returns them. Every event has {_names(OF_INBOX)}.",
        _table(INBOX),
        "## In webhooks",
        f"A request has `type`, `timestamp` and `data`. Every `data` has {_names(OF_WEBHOOKS)}. A request has one of "
        "these types, or the type of an inbox event with its fields.",
        _table(WEBHOOKS),
    )


def _table(kinds: Mapping[str, EventKind]) -> str:
    rows = [(f"`{name}`", kind.meaning, _names(kind.fields)) for name, kind in kinds.items()]
    return table(("type", "what has happened", "fields"), rows)


def _names(fields: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in fields)
