"""Says of a Task that waits for something outside of dcf what it waits for, since when and until when. Pure."""

from collections.abc import Mapping
from typing import Final

from dcf.core.completing.waiting_refusals import AWAITED
from dcf.core.documents.model import StateDoc
from dcf.features.children.model import child_id
from dcf.features.diagnosis import remedies
from dcf.features.diagnosis.extensions import ExplainOffer
from dcf.features.diagnosis.facts import Facts, moment, text
from dcf.features.diagnosis.model import Cause, Remedy, RunFinding
from dcf.features.people.model import Asking, asking_of
from dcf.features.people.refusals import whom
from dcf.values.json_text import Json

_CAUSES: Final = {
    "Callback": Cause.WAITING_FOR_CALLBACK,
    "Human": Cause.WAITING_FOR_PERSON,
    "Signal": Cause.WAITING_FOR_SIGNAL,
    "Child": Cause.WAITING_FOR_CHILD,
}


def about_outside(path: str, doc: StateDoc, facts: Facts) -> RunFinding:
    """Return why the state waits for the outside. That is not stuck: an outside system may take its time."""
    assert doc.kind is not None, "the caller looked"
    asking = asking_of(doc)
    if asking is not None:
        return _about_people(path, doc, asking, facts)
    about = _about(path, doc, facts)
    since, heartbeat = doc.started_at or doc.lease.epoch, doc.heartbeat_due
    limits = [at for at in (doc.deadline, heartbeat) if at is not None]
    until = f", at the latest until {moment(min(limits))}" if limits else ""
    return RunFinding(
        cause=_CAUSES[doc.kind],
        sentence=f"State '{path}' waits for {AWAITED[doc.kind]}{_which(about)} since {moment(since)}{until}.",
        remedy=_remedy(path, doc, facts),
        stuck=False,
        state=path,
        since=since,
        evidence={
            "deadline": text(doc.deadline),
            "heartbeat_due": text(heartbeat),
            "last_error": doc.last_error,
            **about,
        },
    )


def _remedy(path: str, doc: StateDoc, facts: Facts) -> Remedy:
    """Return how the state is ended by hand: by the very signal, where it is known which."""
    signal = facts.awaited.get(path)
    if signal is None:
        return remedies.await_outside(facts.workflow_id, path, doc.lease.epoch, by_token=doc.kind == "Callback")
    return remedies.send(facts.workflow_id, signal)


def _about_people(path: str, doc: StateDoc, task: Asking, facts: Facts) -> RunFinding:
    until = "" if doc.deadline is None else f", at the latest until {moment(doc.deadline)}"
    then = "" if task.default is None or doc.deadline is None else f"; then '{task.default}' is taken"
    return RunFinding(
        cause=Cause.WAITING_FOR_PERSON,
        sentence=f"State '{path}' waits for {whom(task)} since {moment(task.since)}{until}{then}: '{task.title}'.",
        remedy=remedies.answer(facts.workflow_id, path, doc.lease.epoch, task.to, task.choices),
        stuck=False,
        state=path,
        since=task.since,
        evidence={
            "to": list(task.to.people),
            "groups": list(task.to.groups),
            "deadline": text(doc.deadline),
            "escalates_at": text(task.escalates_at),
            "last_error": doc.last_error,
        },
    )


def _about(path: str, doc: StateDoc, facts: Facts) -> dict[str, Json]:
    """Return which signal or which run it is."""
    if doc.kind == "Child":
        return {"run": child_id(facts.workflow_id, path, doc.lease.epoch)}
    if doc.kind == "Signal" and path in facts.awaited:
        return {"signal": facts.awaited[path]}
    return {}


def _which(about: Mapping[str, Json]) -> str:
    return "".join(f" '{name}'" for name in about.values())


OFFER: Final = ExplainOffer(outside=about_outside)
