"""Finds open states of running runs without a timer, among keys of a reconciliation. Does not write or decide.

The first packet asks which of the runs are running, the second for the documents and timers of their states.
"""

from collections.abc import Sequence
from typing import Final

from dcf.core.documents.codec import read_state
from dcf.core.documents.model import RunStatus
from dcf.core.leasing.rearming import is_listed
from dcf.core.listing.checks import ListFlaw, ListKind
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, exchange
from dcf.store.forms.form import DocumentForm
from dcf.store.keys.documents import RunDocument, document_of
from dcf.store.keys.parts import encode_state, member
from dcf.values.json_text import load

_STATUS: Final = ("status",)


def without_timers(names: Sequence[str], form: DocumentForm, connection: Connection) -> tuple[ListFlaw, ...]:
    """Return a flaw for each of these keys that is the document of an open state without a timer."""
    states = [state for key in names if (state := document_of(key)) is not None and state.kind == "state"]
    metas = list(dict.fromkeys(state.run.meta for state in states))
    statuses = exchange(connection, [form.members(meta, _STATUS) for meta in metas]) if metas else []
    running = {meta for meta, status in zip(metas, statuses, strict=True) if _is_running(form, status)}
    live = [state for state in states if state.run.meta in running]
    # A timer is looked for before and after the document is read: a state that is entered or ends meanwhile has it in
    # one of the two.
    commands = [command for state in live for command in _between_timers(form, state)]
    replies = iter(exchange(connection, commands) if commands else [])
    read = [(state, next(replies), next(replies), next(replies)) for state in live]
    return tuple(
        ListFlaw(
            kind=ListKind.TIMERS,
            index=state.run.timers,
            name=member(state.run.workflow_id, state.state or ""),
            score=0,
            is_missing=True,
        )
        for state, before, text, after in read
        if before is None and after is None and is_open_state(form, text)
    )


def _between_timers(form: DocumentForm, document: RunDocument) -> tuple[Command, ...]:
    """Return the commands that read the document of a state, and its timer before and after."""
    path = document.state or ""
    timer: Command = ("ZSCORE", document.run.timers, encode_state(path))
    return timer, form.read(document.run.state(path)), timer


def _is_running(form: DocumentForm, status: Reply) -> bool:
    status_values = None if isinstance(status, Exception) else form.values(_STATUS, status)
    return status_values is not None and status_values.get("status") == RunStatus.RUNNING


def is_open_state(form: DocumentForm, reply: Reply) -> bool:
    """Return True if the document is of an open state. A document that was damaged by hand is not."""
    text = None if isinstance(reply, Exception) else form.text(reply)
    try:
        return text is not None and is_listed(read_state(load(text)))
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
