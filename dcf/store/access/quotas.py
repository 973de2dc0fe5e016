"""Counts the use of Redis by API keys: documents, runs and their data, entries in inboxes. Once for all servers.

A document is written and counted in one script, exactly. A run is counted before it is created, and its data before
each commit, in the same round trip: after a crash a count may be too high, never too low. The script that would refuse
frees the quota of deleted things first; so does the reconciliation (`lists.checks`).
"""

from collections.abc import Iterable, Sequence
from typing import Final

from dcf.core.access.model import LOCAL
from dcf.core.access.quotas import Account
from dcf.core.documents.refusals import quota_exceeded
from dcf.jitter import JITTER
from dcf.store.access import quota_scripts
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections, checked
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import table as keys
from dcf.store.keys.parts import KeyText
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import ask
from dcf.values.records import record
from dcf.values.refusal import Refusal

NO_QUOTA: Final = -1
NEVER: Final = 2**53
"""Score of a document that never expires; the scripts write it too."""

_ENTRY_LIFE_S: Final = 7 * 24 * 3600
_META_BEFORE, _META_AFTER = RunKeys("\0").meta.split("\0")


@record(frozen=True, slots=True, kw_only=True)
class DocumentWrite:
    """A write of a document: its text (None deletes it), and the receipt.

    `life_s` is its lifetime from now on, 0 without a limit. None keeps the present one, or sets the default if new.
    """

    text: str | None
    life_s: int | None
    default_life_s: int
    receipt: str
    receipt_life_s: int


def document_command(
    form: DocumentForm, key: str, receipt: str, write: DocumentWrite, account: Account | None
) -> Command:
    """Return the command that writes a document if the account's quotas allow it. Read its reply with `refusal_in`.

    A document that no API key wrote is counted for the local user, who has no quota.
    """
    quotas = None if account is None else account.quotas
    return (
        *("EVAL", form.script(quota_scripts.WRITE_DOCUMENT), 3, key, receipt, keys.DOCUMENTS),
        *(LOCAL if account is None else account.key_id, write.text or "", "" if write.life_s is None else write.life_s),
        *(write.default_life_s, write.receipt, write.receipt_life_s),
        *((NO_QUOTA, NO_QUOTA) if quotas is None else (quotas.documents, quotas.stored_bytes)),
        *(keys.quota(""), keys.quota("", "docs"), keys.quota("", "runs"), keys.quota("", "part")),
        *(_META_BEFORE, _META_AFTER, keys.quota("", "receipts")),
    )


def receipt_command(receipt: str, text: str, life_s: int, account: Account) -> Command:
    """Return the command that counts the receipt of a change of a run's document."""
    keyed = (keys.quota(account.key_id), keys.quota(account.key_id, "receipts"))
    return ("EVAL", quota_scripts.HOLD_RECEIPT, 2, *keyed, receipt, len(receipt) + _bytes(text), life_s)


def forget_document(owner: str, name: str) -> Command:
    """Return the command that frees the quota of a document, if it no longer exists."""
    listed = keys.quota(owner, "docs")
    script = ("EVAL", quota_scripts.FORGET_DOCUMENT, 2, keys.DOCUMENTS, listed)
    return (*script, name, keys.quota(""), keys.quota("", "docs"))


def forget_run(owner: str, workflow_id: str) -> Command:
    """Return the command that frees the quota of a run, if it no longer exists."""
    keyed = (keys.quota(owner), keys.quota(owner, "runs"), keys.quota(owner, "live"))
    script = ("EVAL", quota_scripts.FORGET_RUN, 3, *keyed)
    return (*script, workflow_id, KeyText(keys.quota(owner, "part")), RunKeys(workflow_id).meta)


def reservation(form: DocumentForm, run: RunKeys, size: int, account: Account) -> Command:
    """Return the script that enters a run to be created, if the quotas allow it. Send it by `lists.elsewhere`.

    Read its reply with `refusal_in`.
    """
    own = account.key_id
    return (
        *("EVAL", form.script(quota_scripts.RESERVE_RUN), 5, keys.quota(own), keys.quota(own, "runs")),
        *(keys.quota(own, "live"), keys.quota_parts(own, run.workflow_id), keys.quota(own, "receipts")),
        *(run.workflow_id, size, account.quotas.live_runs, account.quotas.stored_bytes),
        *(KeyText(keys.quota(own, "part")), _META_BEFORE, _META_AFTER),
    )


def charge(form: DocumentForm, run: RunKeys, commands: Sequence[Command], events: int, account: Account) -> Command:
    """Return the command that counts the events and the data of a commit."""
    own = account.key_id
    sizes = [part for command in commands for part in _sizes(form, run, command)]
    keyed = (keys.quota(own), keys.quota(own, "runs"), keys.quota_parts(own, run.workflow_id))
    more = (keys.rate(own), keys.quota(own, "receipts"))
    return ("EVAL", quota_scripts.CHARGE_RUN, 5, *keyed, *more, run.workflow_id, events, *sizes)


def refusal_in(reply: Reply) -> Refusal | None:
    """Return the refusal in the reply of a script; None if it did what it was asked to."""
    excess = checked(reply)
    if not excess:
        return None
    quota, used, limit = excess
    return quota_exceeded(quota.decode(), int(used), int(limit))


@record(frozen=True, slots=True, kw_only=True)
class Usage:
    """The use of Redis by one key."""

    stored_bytes: int
    documents: int
    live_runs: int
    inbox_entries: int
    artifact_bytes: int


class QuotaUsage:
    """Reads and changes the use of one Redis by its keys."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def of(self, key_id: str) -> Usage:
        """Return the use of a key; things that were deleted in the last hour may still be counted."""
        stored, documents, live, entries, artifacts = self._connections.send(
            ("HMGET", keys.quota(key_id), "bytes", "receipts"),
            ("ZCARD", keys.quota(key_id, "docs")),
            ("ZCARD", keys.quota(key_id, "live")),
            ("ZCARD", keys.quota(key_id, "inbox")),
            ("HGET", keys.quota(key_id, "artifacts"), ""),
        )
        total = sum(map(int, filter(None, stored)))
        return Usage(
            stored_bytes=total,
            documents=documents,
            live_runs=live,
            inbox_entries=entries,
            artifact_bytes=int(artifacts or 0),
        )

    def may_notify(self, account: Account | None) -> Refusal | None:
        """Refuse if notifications of this key have made too many entries that are not acknowledged yet."""
        if account is None:
            return None
        listed = keys.quota(account.key_id, "inbox")
        script: Command = ("EVAL", quota_scripts.MAY_NOTIFY, 1, listed)
        limits = (account.quotas.inbox_entries, keys.inbox(""), _ENTRY_LIFE_S, JITTER.random())
        (reply,) = ask(self._connections, (*script, *limits))
        return refusal_in(reply)

    def notified(self, account: Account | None, entries: Iterable[tuple[str | None, str | None]]) -> None:
        """Count entries in inboxes, by agent and message id; messages on other platforms are not counted."""
        scored: list[str] = []
        for agent_id, message_id in entries:
            sent_at, dash, _ = (message_id or "").partition("-")
            if agent_id is not None and dash and sent_at.isdecimal():
                scored += (sent_at, f"{agent_id} {message_id}")
        if account is not None and scored:
            self._connections.send(("ZADD", keys.quota(account.key_id, "inbox"), *scored))


def _sizes(form: DocumentForm, run: RunKeys, command: Command) -> list[str | int]:
    """Return names and bytes of the data that a command writes (inputs, outputs, items); 0 for what it deletes."""
    data = keys.data_of(run.workflow_id)
    written = [(key, text) for key, text in form.written(command) if key.startswith(data)]
    if written:
        return [part for key, text in written for part in (key.removeprefix(data), len(text))]
    if command[0] == "HSET" and command[1] == run.journal:
        return [f"journal/{command[2]!s}", _bytes(command[3])]
    if command[0] == "DEL":
        written_keys = [str(key).removeprefix(data) for key in command[1:] if str(key).startswith(data)]
        return [part for name in written_keys for part in (name, 0)]
    return []


def _bytes(text: str | bytes | float) -> int:
    return len(text) if isinstance(text, bytes) else len(str(text).encode())
