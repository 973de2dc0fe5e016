"""Reads the history of a run, and all of a run, page by page.

To follow a run, the client asks again with growing pauses, from the last event that was seen. After a broken connection
or a restart of the server, no event is lost or repeated.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.client.arguments import Moment, given, listed, moment_text
from dcf.client.exchange import Conversation, Item, Pause, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.watching import pauses, status_of
from dcf.errors import InvalidArgument
from dcf.features.diagnosis.records import RunEvent, RunExport
from dcf.values.json_text import Json

_EVENT_FIELDS: Final = ("id", "at", "type", "state", "by")


def events(
    workflow_id: str,
    *,
    follow: bool = False,
    states: Sequence[str] = (),
    types: Sequence[str] = (),
    since: Moment | None = None,
    until: Moment | None = None,
    newest_first: bool = False,
    cursor: str | None = None,
) -> Stream[RunEvent]:
    """Yield what happened in a run, in order; with `follow` also what happens next, until the run ends.

    `states` (paths, or names wherever they are), `types`, `since` and `until` choose events. `cursor` is the `id` of
    an event: continue after it. What is yielded has no gap and nothing twice, also over a broken connection.
    """
    if follow and (newest_first or until is not None):
        raise InvalidArgument("follow begins with the oldest event.", "Leave out newest_first and until, or follow.")
    filters = given(
        states_json=listed(states),
        types_json=listed(types),
        since=moment_text(since),
        until=moment_text(until),
        newest_first=newest_first or None,
    )
    return _events(workflow_id, filters, cursor, follow=follow)


def export(workflow_id: str) -> Conversation[RunExport]:
    """Return all of a run, its workflow, documents and history, for reading elsewhere. Lease tokens are hidden."""
    head: dict[str, Json] = {}
    states: dict[str, Json] = {}
    lists: dict[str, list[Mapping[str, Json]]] = {"events": [], "journal": [], "artifacts": []}
    cursor, provenance = None, None
    while True:
        page = accepted((yield ToolCall("export_run", given(workflow_id=workflow_id, cursor=cursor))))
        head |= page.get("head") or {}
        states |= page["states"]
        provenance = page.get("provenance")
        for name in lists:
            lists[name] += page.get(name) or ()
        cursor = page.get("next_cursor")
        if cursor is None:
            return RunExport(
                workflow_id=workflow_id,
                head=head,
                states=states,
                events=tuple(lists["events"]),
                journal=tuple(lists["journal"]),
                artifacts=tuple(lists["artifacts"]),
                provenance=provenance,
            )


def _events(workflow_id: str, filters: dict[str, Json], last: str | None, *, follow: bool) -> Stream[RunEvent]:
    waits = pauses()
    while True:
        # The status is read before the events: if the run had ended by then, all its events are there.
        is_last = not follow or (yield from status_of(workflow_id)) != "running"
        arguments = {"workflow_id": workflow_id, **filters}
        page = accepted((yield ToolCall("read_run_events", {**arguments, **given(cursor=last)})))
        for event in page["events"]:
            last = event["id"]
            yield Item(_event(event))
        if page["events"]:
            waits = pauses()
        if page.get("next_cursor") is not None:
            last = page["next_cursor"]
        elif is_last:
            return
        else:
            yield Pause(next(waits))


def _event(row: dict[str, Json]) -> RunEvent:
    data = {name: value for name, value in row.items() if name not in _EVENT_FIELDS}
    return read(RunEvent, {**row, "data": data})
