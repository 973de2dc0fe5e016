"""The inbox: what waits for people - human tasks, questions of workers, verdicts on outputs - and the forms to answer.

Answers are checked with their schema here before they are sent to the action, so that a problem is shown at its field.
Nothing is changed here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, dump
from dcf.web.form_fields import Filled
from dcf.web.forms import new_request_id
from dcf.web.moments import this_moment
from dcf.web.pages.inbox_items import InboxItem, of_gate, of_task
from dcf.web.templating import html, query
from dcf.web.visit import Visit

_LISTED: Final = 20


def inbox_page(visit: Visit, parameters: Mapping[str, str]) -> str:
    """Return the list, of a run if `run` names one, or what waits at one state whole, where `state` does as well."""
    run, state = parameters.get("run") or None, parameters.get("state") or None
    if run is not None and state is not None:
        return _shown(visit, run, state, tuple((item, None, {}) for item in _at(visit, run, state)))
    person = parameters.get("person") or visit.caller.agent_id
    group, cursor = parameters.get("group") or None, parameters.get("cursor") or None
    audience = {} if run is not None else {"person": person}
    now = this_moment()
    answer = visit.ask(
        "list_human_tasks", limit=_LISTED, **_without_none(workflow_id=run, group=group, cursor=cursor, **audience)
    )
    may_judge = visit.caller.agent_id in {None, person}  # a caller cannot list the verdicts of another
    gates = _gates(visit, run, person, group) if cursor is None and (run is not None or may_judge) else ()
    tasks = [of_task(task, now) for task in answer["tasks"]]
    listed = {(item.run, item.state, item.known.get("gate")) for item in tasks}
    items = [*tasks, *(gate for gate in gates if (gate.run, gate.state, gate.known["gate"]) not in listed)]
    again = {"run": run, "person": parameters.get("person"), "group": group}
    further = answer["next_cursor"]
    return html(
        "inbox.html",
        title="Inbox",
        visit=visit,
        run=run,
        at=now,
        here=f"/ui/inbox{query(**again, cursor=cursor)}",
        person=person or "",
        group=group or "",
        items=[(item, _place_of(item)) for item in items],
        further=None if further is None else f"/ui/inbox{query(**again, cursor=further)}",
        first=None if cursor is None else f"/ui/inbox{query(**again)}",
        is_filtered=bool(run or group or parameters.get("person")),
    )


def _place_of(item: InboxItem) -> str:
    """Return the page that answers an item: of an issue that of its run, which has the form to resolve it."""
    is_issue = item.kind == "issue"
    return f"/ui/runs/{item.run}" if is_issue else f"/ui/inbox{query(run=item.run, state=item.state)}"


def check_answer(visit: Visit, filled: Filled) -> str:
    """Return what an answer would send, to be confirmed, or its form with what is wrong with it."""
    run, state = filled.get("workflow_id", ""), filled.get("state", "")
    items = _at(visit, run, state) if run and state else ()
    item = next((item for item in items if _names(item, filled)), None)
    if item is None:
        raise InvalidArgument(
            "This task no longer waits, or it was entered again.", "Open the inbox and answer it there."
        )
    reply, problems = item.read(filled)
    if problems:
        return _shown(visit, run, state, ((item, filled, problems),))
    sent = {**item.known, **reply}
    return html(
        "checked.html",
        title=item.title,
        visit=visit,
        tool=item.tool,
        label="Answer",
        request_id=new_request_id(),
        asked=(),
        sent={name: value if isinstance(value, str | int) else dump(value) for name, value in sent.items()},
        documents={name: value for name, value in sent.items() if not isinstance(value, str | int)},
        facts={name: value for name, value in reply.items() if isinstance(value, str)},
        back=f"/ui/inbox{query(run=run, state=state)}",
        after="/ui/inbox",
    )


def _names(item: InboxItem, filled: Filled) -> bool:
    """Return True for the item that a form was made for; a task that was entered again since is another."""
    return filled.get("tool") == item.tool and all(filled.get(name) == str(value) for name, value in item.known.items())


_Filled = tuple[InboxItem, Filled | None, Mapping[str, str]]


def _shown(visit: Visit, run: str, state: str, items: Iterable[_Filled]) -> str:
    shown: list[dict[str, Any]] = [
        {"item": item, "form": item.form(filled, f"field-{number}"), "filled": filled or {}, "problems": problems}
        for number, (item, filled, problems) in enumerate(items)
    ]
    return html(
        "answer.html",
        title=shown[0]["item"].title if shown else "Inbox",
        visit=visit,
        run=run,
        state=state,
        items=shown,
        person=visit.caller.agent_id,
    )


def _at(visit: Visit, run: str, state: str) -> tuple[InboxItem, ...]:
    """Return what waits at a state, whole: verdicts with the output that they are about."""
    now = this_moment()
    rows = visit.ask("list_human_tasks", workflow_id=run, state=state)["tasks"]
    tasks = [of_task(row, now) for row in rows if "gate" not in row]
    gates = [of_gate(row, now) for row in visit.ask("list_gates", workflow_id=run, state=state)["gates"]]
    return (*tasks, *gates)


def _gates(visit: Visit, run: str | None, person: str | None, group: str | None) -> Iterable[InboxItem]:
    """Return the verdicts that are asked of a person or agent, or in a run; none without either."""
    if run is None and person is None:
        return ()
    arguments: dict[str, Any] = {"workflow_id": run} if run is not None else {"agent_id": person, "group": group}
    now = this_moment()
    return [of_gate(row, now) for row in visit.ask("list_gates", limit=_LISTED, **_without_none(**arguments))["gates"]]


def _without_none(**arguments: Json) -> dict[str, Json]:
    return {name: value for name, value in arguments.items() if value is not None}
