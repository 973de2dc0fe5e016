"""The tab with the history of a run, newest first, filtered by the chosen state and by type, in pages both ways."""

from typing import Any, Final

from dcf.core.listing.events import EventQuery, check_cursor
from dcf.runs.views.histories import Histories
from dcf.store.events.history import Happening
from dcf.values.json_text import Json
from dcf.web.run.view import RunAddress
from dcf.web.templating import run_link

_EVENTS: Final = 100
_COMMON: Final = (
    *("StateEntered", "LeaseAcquired", "LeaseReleased", "StateUpdated", "StateSucceeded", "StateRetried"),
    *("StateFailed", "NotificationSent", "GateDecided", "QuestionAsked", "StateResolved"),
)


def events_tab(histories: Histories, address: RunAddress) -> dict[str, Any]:
    """Return a page of events, and the links to the newer and the older ones."""
    before, after = check_cursor(address.get("before")), check_cursor(address.get("after"))
    type_, state = address.get("type"), address.state
    query = EventQuery(
        states=frozenset() if state is None else frozenset({state}),
        types=frozenset() if type_ is None else frozenset({type_}),
        newest_first=after is None,
    )
    page = histories.page(address.workflow_id, query, cursor=after or before, limit=_EVENTS)
    events = page.events if after is None else page.events[::-1]
    ends = (events[0].event_id, events[-1].event_id) if events else (None, None)
    older = page.next_cursor if after is None else ends[1] or after
    newer = ends[0] or before if before is not None else page.next_cursor if after is not None else None
    return {
        "events": [_event(event, address) for event in events],
        "older": None if older is None else address.here(before=older, after=None),
        "newer": None if newer is None else address.here(after=newer, before=None),
        "newest": None if before is None and after is None else address.here(before=None, after=None),
        "type": type_ or "",
        "types": sorted({*_COMMON, *({type_} if type_ else ())}),
        "hidden": {name: value for name, value in (("tab", "events"), ("state", state)) if value},
    }


def _event(happening: Happening, address: RunAddress) -> dict[str, Json]:
    event = happening.as_json()
    shown = {"id", "at", "type", "state"}
    data = {name: value for name, value in event.items() if name not in shown and value is not None}
    link = None if happening.state is None else run_link(address.workflow_id, tab="events", state=happening.state)
    return {
        "at": happening.at,
        "type": happening.type,
        "state": happening.state,
        "data": data,
        "raw": event,
        "link": link,
    }
