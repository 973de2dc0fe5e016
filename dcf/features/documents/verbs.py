"""Tools on single JSON documents in Redis. They only parse arguments, call, and format the answer."""

import hashlib
import json
import secrets
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.provenance import marked
from dcf.errors import InvalidArgument
from dcf.features.documents.arguments import (
    PATH_TEXT,
    AsText,
    Fraction,
    Life,
    Path,
    Plain,
    RedisKey,
    given,
    keep_s,
    number,
)
from dcf.features.documents.operations import Changed, Operation, Wish
from dcf.features.documents.rules import Hand
from dcf.store.keys.documents import document_of
from dcf.values import json_edits
from dcf.values.json_pages import page
from dcf.values.json_paths import MISSING, JsonSteps, find, parse_path, spell
from dcf.values.json_text import Json, dump
from dcf.values.refusal import Refusal
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import AgentId, Answer, Arguments, JsonObject, refused, tool

_PAGE: Final = 32 * 1024
"""Characters of a value in one answer: Letta cuts a tool's answer after 50,000, escapes included (measured)."""

_GROWTH: Final = 8
"""Bytes that one character can take in an answer when it is escaped."""

_WHOLE: Final = 1024
"""A changed document up to this size is shown as a whole."""

_NOT_ASKED: Final = {"request_id", "redis_key", "value_json", "default_json", "patch_json", "initial_json", "delta"}
"""Arguments left out of the digest of a request: its id, and those whose parsed value is in the digest instead."""

_DONE: Final = {
    "json_create": "created",
    "json_set": "set",
    "json_ensure": "ensured",
    "json_append": "appended",
    "json_merge": "merged",
    "json_increment": "incremented",
    "json_delete": "deleted",
    "json_copy": "copied",
    "json_move": "moved",
}


def _run_of_key(args: "Change | JsonRead") -> Iterable[str]:
    """Return the run whose document this is; the others are of no project."""
    found = document_of(args.redis_key)
    return () if found is None else (found.run.workflow_id,)


class Change(Arguments):
    """Base of all that changes a document."""

    redis_key: RedisKey
    request_id: str | None = Field(
        default=None, min_length=1, max_length=200, description="Repeated with it, a call is applied only once."
    )


class DocumentAnswer(Answer):
    """The value at `path` as it is now; `doc_json` is all of a small document."""

    success: bool = False
    redis_key: str | None = None
    path: str | None = None
    value_json: str | None = None
    length: int | None = None
    doc_json: str | None = None
    changed: bool = False
    repeated: bool = False


_AT: Final = ("redis_key", "path")
_BETWEEN: Final = ("redis_key", "from_path", "to_path")
_changes = partial(tool, toolset="redis_json", scope=Scope.WORK, answer=DocumentAnswer, runs_named=_run_of_key)


class JsonCreate(Change):
    """Create a JSON document of your own, for notes or data that no workflow state holds.

    An existing key is refused unless overwrite=true. It expires after its last write, by default in 30 days.
    """

    redis_key: str = Field(default="", max_length=300, description="Key of the document; left out, one is drawn.")
    initial_json: Any = Field(default="{}", description="The document.")
    key_prefix: str = Field(default="doc:", max_length=100, description="Beginning of the key that is drawn.")
    overwrite: bool = Field(default=False, description="Replace a document that exists.")
    expires_in_s: Life = None


@_changes(profiles=("operator",), arguments=JsonCreate, destructive=True, idempotent=False, audit=("redis_key",))
def json_create(app: Application, args: JsonCreate) -> DocumentAnswer:
    """Create a document."""
    document = given(app, args.initial_json, "initial_json")
    key = args.redis_key or f"{args.key_prefix}{_drawn(args.request_id)}"
    wish = _wish(args, "json_create", (), document, key=key, keep_s=keep_s(app, args.expires_in_s))
    answer = app.documents.create(wish, document, overwrite=args.overwrite)
    return _presented(answer, wish)


class JsonRead(Arguments):
    """Read a JSON document, or one value of it; of runs too, lease tokens hidden.

    A value too long for one answer comes in pages: call again with next_cursor.
    """

    redis_key: RedisKey
    path: str = Field(default="$", max_length=2000, description=PATH_TEXT)
    pretty: bool = Field(default=False, description="Indent value_json.")
    cursor: int = Field(default=0, ge=0, le=2**31, description="Where to go on: next_cursor of the last answer.")


class DocumentRead(Answer):
    """The value as JSON text; `found` is false where nothing is at the path."""

    success: bool = False
    redis_key: str | None = None
    path: str | None = None
    found: bool = False
    value_json: str | None = None
    length: int | None = None
    provenance: dict[str, Any] | None = None
    next_cursor: int | None = None


@tool(
    toolset="redis_json",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=JsonRead,
    answer=DocumentRead,
    read_only=True,
    runs_named=_run_of_key,
)
def json_read(app: Application, args: JsonRead) -> DocumentRead:
    """Read a value."""
    steps = parse_path(args.path)
    key, path = args.redis_key, spell(steps)
    document = app.documents.read(key)
    if isinstance(document, Refusal):
        return refused(DocumentRead, document, redis_key=key, path=path)
    value = find(document, steps)
    if value is MISSING:
        return DocumentRead(status="nothing at this path", success=True, redis_key=key, path=path, value_json="null")
    longest = min(_PAGE, app.settings.max_result_bytes // _GROWTH)
    part = page(value, args.cursor, longest)
    if isinstance(part, Refusal):
        return refused(DocumentRead, part, redis_key=key, path=path, found=True)
    return DocumentRead(
        status="read" if part.cursor is None else "read in part",
        success=True,
        redis_key=key,
        path=path,
        found=True,
        value_json=_written(part.value, longest, pretty=args.pretty),
        length=part.total,
        provenance=marked("whoever wrote this document"),
        next_cursor=part.cursor,
    )


class JsonSet(Change):
    """Set one value of a document; missing parents are created as objects.

    The planner of a run may set $.agents of its cp:wf:RUN:meta; other documents of runs are an operator's.
    """

    path: Path
    value_json: Any = Field(
        description="The value: JSON, or a string that holds JSON.", examples=[{"name": "any JSON value"}]
    )
    as_text: AsText = False
    agent_id: AgentId | None = Field(default=None, description="Your agent id, if you plan the run.")
    expires_in_s: Life = None


@_changes(profiles=("operator",), arguments=JsonSet, destructive=True, audit=_AT)
def json_set(app: Application, args: JsonSet) -> DocumentAnswer:
    """Set a value."""
    steps = parse_path(args.path)
    value = given(app, args.value_json, "value_json", as_text=args.as_text)
    wish = _wish(args, "json_set", steps, value, key=args.redis_key, keep_s=keep_s(app, args.expires_in_s))
    return _presented(app.documents.change(wish, partial(json_edits.set_value, steps=steps, value=value)), wish)


class JsonEnsure(Change):
    """Ensure that a value is there: set a default where nothing or null is, else change nothing."""

    path: Path
    default_json: Any = Field(description="The default: JSON, or a string that holds JSON.", examples=[[]])
    as_text: AsText = False


@_changes(profiles=("operator",), arguments=JsonEnsure, audit=_AT)
def json_ensure(app: Application, args: JsonEnsure) -> DocumentAnswer:
    """Set a default value."""
    steps = parse_path(args.path)
    value = given(app, args.default_json, "default_json", as_text=args.as_text)
    return _change(app, args, steps, value, partial(json_edits.ensure, steps=steps, default=value), "json_ensure")


class JsonAppend(Change):
    """Append to an array, which is created where nothing is, or a string to a string."""

    path: Path = Field(examples=["$.items"])
    value_json: Any = Field(
        description="One element: JSON, or a string that holds JSON.", examples=[{"name": "any JSON value"}]
    )
    spread: bool = Field(default=False, description="Append each element of an array by itself.")
    as_text: AsText = False


@_changes(profiles=("operator",), arguments=JsonAppend, idempotent=False, audit=_AT)
def json_append(app: Application, args: JsonAppend) -> DocumentAnswer:
    """Append to an array or a string."""
    steps = parse_path(args.path)
    value = given(app, args.value_json, "value_json", as_text=args.as_text)
    operate = partial(json_edits.append, steps=steps, value=value, spread=args.spread)
    return _change(app, args, steps, value, operate, "json_append")


class JsonMerge(Change):
    """Merge an object into a value: its members replace, null removes (JSON Merge Patch, RFC 7386)."""

    path: Path = Field(examples=["$"])
    patch_json: JsonObject = Field(description="The patch, an object.", examples=[{"status": "done", "draft": None}])
    agent_id: AgentId | None = Field(default=None, description="Your agent id, if you plan the run.")


@_changes(profiles=("operator",), arguments=JsonMerge, destructive=True, audit=_AT)
def json_merge(app: Application, args: JsonMerge) -> DocumentAnswer:
    """Merge an object into a value."""
    steps = parse_path(args.path)
    patch = given(app, args.patch_json, "patch_json")
    if not isinstance(patch, dict):
        raise InvalidArgument("patch_json must be an object.", "To replace a value use json_set.")
    return _change(app, args, steps, patch, partial(json_edits.merge, steps=steps, patch=patch), "json_merge")


class JsonIncrement(Change):
    """Increment a number by a delta, exactly; nothing there counts as 0, and integers stay integers."""

    path: Path = Field(examples=["$.count"])
    delta: Annotated[str, Field(max_length=40)] | Plain | Fraction = Field(
        description='What to add, as 1 or "1" or "-0.5"; very large integers as text.', examples=[1]
    )


@_changes(profiles=("operator",), arguments=JsonIncrement, idempotent=False, audit=_AT)
def json_increment(app: Application, args: JsonIncrement) -> DocumentAnswer:
    """Increment a number."""
    steps, delta = parse_path(args.path), number(args.delta)
    return _change(app, args, steps, delta, partial(json_edits.increment, steps=steps, delta=delta), "json_increment")


class JsonDelete(Change):
    """Remove one value of a document; $ deletes the whole document and its key.

    Elements after a removed one move up; where nothing is, changed is false.
    """

    path: Path


@_changes(profiles=("operator",), arguments=JsonDelete, destructive=True, audit=_AT)
def json_delete(app: Application, args: JsonDelete) -> DocumentAnswer:
    """Delete a value."""
    steps = parse_path(args.path)
    return _change(app, args, steps, None, partial(json_edits.delete, steps=steps), "json_delete")


class Transfer(Change):
    """Base of what goes from one path to another."""

    from_path: Annotated[str, Field(max_length=2000, description="Path of the value.", examples=["$.draft"])]
    to_path: Annotated[str, Field(max_length=2000, description="Path where it shall be.", examples=["$.final"])]
    overwrite: bool = Field(default=True, description="Replace what is at to_path.")


class JsonCopy(Transfer):
    """Copy a value to another path of the same document; missing parents are created as objects."""


@_changes(profiles=("operator",), arguments=JsonCopy, destructive=True, audit=_BETWEEN)
def json_copy(app: Application, args: JsonCopy) -> DocumentAnswer:
    """Copy a value."""
    source, target = _ends(args)
    operate = partial(json_edits.copy, source=source, target=target, overwrite=args.overwrite)
    return _change(app, args, target, None, operate, "json_copy")


class JsonMove(Transfer):
    """Move a value to another path of the same document, in one step; both paths as the document is before."""


@_changes(profiles=("operator",), arguments=JsonMove, destructive=True, idempotent=False, audit=_BETWEEN)
def json_move(app: Application, args: JsonMove) -> DocumentAnswer:
    """Move a value."""
    source, target = _ends(args)
    operate = partial(json_edits.move, source=source, target=target, overwrite=args.overwrite)
    return _change(app, args, target, None, operate, "json_move")


def may_write_runs() -> bool:
    """Return True if this caller may edit the documents of runs by hand."""
    return Scope.OPERATE in current_caller().scopes


def _change(
    app: Application, args: Change, steps: JsonSteps, value: Json, operate: Operation, name: str
) -> DocumentAnswer:
    wish = _wish(args, name, steps, value, key=args.redis_key)
    return _presented(app.documents.change(wish, operate), wish)


def _wish(args: Change, operation: str, steps: JsonSteps, value: Json, *, key: str, keep_s: int | None = None) -> Wish:
    caller, agent_id = current_caller(), getattr(args, "agent_id", None)
    may_plan = Scope.PLAN in caller.scopes
    asked = args.model_dump(exclude=_NOT_ASKED)
    digest = hashlib.sha256(dump([operation, key, asked, value]).encode()).hexdigest()[:16]
    return Wish(
        key=key,
        operation=operation,
        path=steps,
        hand=Hand(who=agent_id or caller.name, is_operator=may_write_runs(), agent_id=agent_id if may_plan else None),
        digest=digest,
        request_id=args.request_id,
        keep_s=keep_s,
    )


def _presented(answer: Changed | Refusal, wish: Wish) -> DocumentAnswer:
    if isinstance(answer, Refusal):
        return refused(DocumentAnswer, answer, redis_key=wish.key, path=spell(wish.path))
    value = None if answer.value is MISSING else dump(answer.value)
    is_long = value is not None and len(value) > _PAGE
    whole = None if answer.document is MISSING else dump(answer.document)
    return DocumentAnswer(
        status=_DONE[wish.operation] if answer.was_changed else "unchanged",
        hint="The value is too long to be shown: read it with json_read." if is_long else None,
        success=True,
        redis_key=answer.key,
        path=spell(answer.at),
        value_json=None if is_long else value,
        length=len(answer.value) if isinstance(answer.value, dict | list | str) else None,
        doc_json=whole if whole is not None and len(whole) <= _WHOLE else None,
        changed=answer.was_changed,
        repeated=answer.repeated,
    )


def _written(value: Json, longest: int, *, pretty: bool) -> str:
    """Write a value as JSON text, indented unless that makes it too long."""
    indented = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) if pretty else ""
    return indented if 0 < len(indented) <= longest else dump(value)


def _ends(args: Transfer) -> tuple[JsonSteps, JsonSteps]:
    return parse_path(args.from_path, name="from_path"), parse_path(args.to_path, name="to_path")


def _drawn(request_id: str | None) -> str:
    """Return a generated name; the same one for a repeated request id."""
    return secrets.token_hex(16) if request_id is None else hashlib.sha256(request_id.encode()).hexdigest()[:32]
