"""The operations on single JSON documents: which keys may be read or changed, by whom, and what a change answers.

Documents of runs can be read and, within the rules of `rules`, corrected; every correction is an event of the
run. Keys of dcf's own indexes are never touched, whatever the settings say. Sends no Redis command itself.
"""

import re
import secrets
from collections.abc import Callable
from typing import Final, TypeAlias

from dcf.core.documents import codec
from dcf.core.documents.decision import Event
from dcf.errors import Forbidden, InvalidArgument, UnknownRun
from dcf.features.documents import rules
from dcf.features.documents.rules import Circumstances, Hand
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits, Found
from dcf.runs.control_plane import ControlPlane
from dcf.store.keys.documents import RunDocument, document_of
from dcf.values.digest import fingerprint
from dcf.values.json_edits import Edited, refuse_growth
from dcf.values.json_paths import MISSING, JsonSteps, find, spell
from dcf.values.json_text import Json, dump
from dcf.values.records import record
from dcf.values.refusal import Refusal

Operation: TypeAlias = Callable[[Json], Edited | Refusal]
"""Function that makes the change, on the document as its readers see it."""

_KEY = re.compile(r"[A-Za-z0-9_.:@#/-]{1,300}\Z", re.ASCII)
_RESERVED: Final = ("cp:", "dp:")
_REMEMBERED_S: Final = 3600
_LOOP_S: Final = 120
"""Seconds a generated request id is kept: the caller does not know it, so only the retry loop repeats it."""
_KEPT: Final = 4096
"""Most characters of a changed value that its receipt keeps, to answer a repetition."""


@record(frozen=True, slots=True, kw_only=True)
class Wish:
    """Request for a change. `digest` covers the whole request, so that its id cannot be reused for another one.

    `keep_s` is for how many seconds the document is kept after each write, 0 without a limit; None leaves it as it is.
    """

    key: str
    operation: str
    path: JsonSteps
    hand: Hand
    digest: str
    request_id: str | None = None
    keep_s: int | None = None


@record(frozen=True, slots=True, kw_only=True)
class Changed:
    """Result of a change: the value now at `at` (MISSING if there is none), and the whole document.

    `was_changed` is False if the document already was as requested. `repeated` is True if this request was applied
    before; the value is then the one of that time, if the receipt has it.
    """

    key: str
    at: JsonSteps
    value: Json
    document: Json
    was_changed: bool
    repeated: bool = False


class JsonDocuments:
    """JSON documents below the configured prefixes."""

    def __init__(self, edits: Edits, plane: ControlPlane, prefixes: tuple[str, ...], max_bytes: int) -> None:
        self._edits = edits
        self._plane = plane
        self._prefixes = prefixes
        self.max_bytes = max_bytes

    def read(self, key: str) -> Json | Refusal:
        """Return the document without its secrets: a state's lease token and receipt."""
        of = self._admit(key)
        document = self._edits.read(key)
        if document is MISSING:
            return _no_key(key)
        return document if of is None else rules.visible(of.kind, document)

    def create(self, wish: Wish, document: Json, *, overwrite: bool) -> Changed | Refusal:
        """Create a document. Of several concurrent callers only one creates it."""
        if self._admit(wish.key) is not None:
            raise Forbidden(
                "The documents of a run are not made one by one.", "Create runs with `create_workflow_control_plane`."
            )

        def decide(result: Found) -> EditOutcome[Changed | Refusal]:
            repeated = _repetition(wish, result)
            if repeated is not None:
                return EditOutcome(answer=repeated)
            if result.document is not MISSING and not overwrite:
                hint = "Choose another `redis_key`, or change the document with `json_set` or `json_merge`."
                return EditOutcome(answer=_refusal("already_exists", f"Key already exists: {wish.key}", hint))
            return self._outcome(wish, result, Edited(document=document, at=()))

        return self._edits.transact(wish.key, _receipt_id(wish), decide)

    def change(self, wish: Wish, operate: Operation) -> Changed | Refusal:
        """Change an existing document, all or nothing."""
        of = self._admit(wish.key)
        if of is not None and wish.keep_s is not None:
            raise InvalidArgument(
                "The documents of a run expire with their run.",
                "Leave out `expires_in_s`, or name a document of your own.",
            )
        tasks = self._tasks(of)

        def decide(result: Found) -> EditOutcome[Changed | Refusal]:
            repeated = _repetition(wish, result)
            if repeated is not None:
                return EditOutcome(answer=repeated)
            if result.document is MISSING:
                return EditOutcome(answer=_no_key(wish.key))
            before = result.document if of is None else rules.visible(of.kind, result.document)
            edited = operate(before) if of is not None or not _deletes(wish) else Edited(document=MISSING, at=())
            if isinstance(edited, Refusal):
                return EditOutcome(answer=edited)
            if of is None:
                return self._outcome(wish, result, edited)
            return self._outcome_in_run(wish, result, edited, before, _circumstances(of, result, tasks))

        return self._edits.transact(wish.key, _receipt_id(wish), decide)

    def _outcome_in_run(
        self, wish: Wish, result: Found, edited: Edited, before: Json, around: Circumstances
    ) -> EditOutcome[Changed | Refusal]:
        refusal = rules.judge(before, edited.document, wish.hand, around)
        if refusal is not None:
            if refusal.code == "forbidden":
                raise Forbidden(refusal.message, refusal.hint)
            return EditOutcome(answer=refusal)
        return self._outcome(wish, result, edited, around)

    def _outcome(
        self, wish: Wish, result: Found, edited: Edited, around: Circumstances | None = None
    ) -> EditOutcome[Changed | Refusal]:
        """Return the answer, and what to write if anything changed; `edited` is the document as its readers see it."""
        kind = None if around is None else around.kind
        before = result.document if kind is None else rules.visible(kind, result.document)
        is_gone = edited.document is MISSING
        was_changed = is_gone or before is MISSING or dump(before) != dump(edited.document)
        value = MISSING if is_gone else find(edited.document, edited.at)
        answer = Changed(key=wish.key, at=edited.at, value=value, document=edited.document, was_changed=was_changed)
        if not was_changed and wish.keep_s is None:
            return EditOutcome(answer=answer)
        refusal = None if is_gone else refuse_growth(before, edited.document, self.max_bytes)
        if refusal is not None:
            return EditOutcome(answer=refusal)
        written = EditedDocument(
            document=edited.document if kind is None else rules.restored(kind, result.document, edited.document),
            receipt=_receipt(wish, answer),
            life_s=_LOOP_S if wish.request_id is None else _REMEMBERED_S,
            keep_s=wish.keep_s,
            event=None if kind is None else _event(wish),
            look_now=around is not None and rules.look_now(before, edited.document, around),
        )
        return EditOutcome(answer=answer, written=written)

    def _tasks(self, of: RunDocument | None) -> frozenset[str]:
        if of is None or of.kind != "meta":
            return frozenset()
        try:
            return frozenset(self._plane.run(of.run.workflow_id).definition.skills)
        except UnknownRun:
            return frozenset()

    def _admit(self, key: str) -> RunDocument | None:
        """Refuse a key that may not be touched. Return which document of a run it is, or None."""
        of = document_of(key) if key.startswith(_RESERVED) else None
        allowed = any(key.startswith(prefix) and len(key) > len(prefix) for prefix in self._prefixes)
        if of is not None and allowed:
            return of
        if key.startswith(_RESERVED) or not allowed or not _KEY.match(key):
            known = ", ".join(self._prefixes) or "none"
            raise InvalidArgument(
                "redis_key names no JSON document that these tools may touch.",
                f"Keys begin with one of: {known}; of a run there are meta, definition, state, input and output.",
            )
        return None


def _deletes(wish: Wish) -> bool:
    """Return True if the whole document is to go; documents of runs only become empty, where their rules allow it."""
    return wish.operation == "json_delete" and not wish.path


def _receipt_id(wish: Wish) -> str:
    return secrets.token_hex(8) if wish.request_id is None else fingerprint(wish.request_id)


def _receipt(wish: Wish, answer: Changed) -> Json:
    receipt: dict[str, Json] = {"digest": wish.digest, "at": list(answer.at)}
    if answer.value is not MISSING and len(dump(answer.value)) <= _KEPT:
        receipt["value"] = answer.value
    return receipt


def _repetition(wish: Wish, result: Found) -> Changed | Refusal | None:
    """Return the answer to a request that was applied before; None if it is new."""
    if result.receipt is None:
        return None
    if result.receipt["digest"] != wish.digest:
        hint = "Draw a new `request_id` for every new request; the same one only repeats a call."
        return _refusal("conflict", "This request_id was used for another change of the document.", hint)
    of = document_of(wish.key)
    document = result.document if of is None else rules.visible(of.kind, result.document)
    at = tuple(result.receipt["at"])
    value = result.receipt["value"] if "value" in result.receipt else find(document, at)
    return Changed(key=wish.key, at=at, value=value, document=document, was_changed=True, repeated=True)


def _circumstances(of: RunDocument, result: Found, tasks: frozenset[str]) -> Circumstances:
    around = result.around
    planner = None if around.meta is None else around.meta.get("planner_agent_id")
    return Circumstances(
        kind=of.kind,
        now=result.now,
        meta=None if around.meta is None else codec.read_meta(around.meta),
        planner=planner if isinstance(planner, str) else None,
        tasks=tasks,
        state=None if around.state is None else codec.read_state(around.state),
        due=around.due,
    )


def _event(wish: Wish) -> Event:
    """Return the history event: who changed which part. It does not contain the value."""
    of = document_of(wish.key)
    data = {"key": wish.key, "path": spell(wish.path), "operation": wish.operation, "who": wish.hand.who}
    return Event(type="DocumentEdited", state=None if of is None else of.state, data=data)


def _no_key(key: str) -> Refusal:
    return _refusal("not_found", f"Key not found: {key}", "Check the key, or make the document with `json_create`.")


def _refusal(code: str, message: str, hint: str) -> Refusal:
    return Refusal(code=code, message=message if message.endswith(".") else f"{message}.", hint=hint)
