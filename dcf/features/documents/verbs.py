"""The verbs on single JSON documents in Redis. They call and describe."""

import hashlib
import json
import secrets
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from dcf.core.access.provenance import marked
from dcf.errors import InvalidArgument
from dcf.features.documents.arguments import (
    PATH_TEXT,
    AsText,
    Life,
    Number,
    OnceOnly,
    Path,
    Planner,
    RedisKey,
    given,
    keep_s,
    number,
)
from dcf.features.documents.messages import PAGE, presented, wish_of
from dcf.features.documents.records import ChangedDocument, ReadDocument
from dcf.store.keys.documents import document_of
from dcf.values import json_edits
from dcf.values.json_pages import page
from dcf.values.json_paths import MISSING, find, parse_path, spell
from dcf.values.json_text import Json, dump
from dcf.values.refusal import Refusal
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, RefusedWith, verb

if TYPE_CHECKING:
    from dcf.application.application import Application

Outcome: TypeAlias = Answered[ChangedDocument] | RefusedWith

_GROWTH: Final = 8
"""Bytes that one character can take in an answer when it is escaped."""

_VALUE: Final = Argument(
    means="The value: JSON, or a string that holds JSON.",
    example={"name": "any JSON value"},
    form="unread",
    tool="value_json",
)


def _run_of_key(args: Any) -> Iterable[str]:
    """Return the run whose document this is; the others are of no project."""
    document_named = document_of(args.redis_key)
    return () if document_named is None else (document_named.run.workflow_id,)


_AT: Final = ("redis_key", "path")
_BETWEEN: Final = ("redis_key", "from_path", "to_path")
_changes = partial(
    verb,
    toolset="redis_json",
    scope="work",
    lists=("operator",),
    says=lambda _: "unchanged",
    codes=(
        *("unknown_run", "not_found", "already_exists", "conflict", "lease_held", "terminal"),
        *("invalid_edit", "wrong_type", "out_of_range"),
    ),
    runs_named=_run_of_key,
    in_refusals={"success": False, "changed": False, "repeated": False},
)


@_changes(effect="destroys", is_repeatable=False, audit=("redis_key",))
def json_create(
    on: "Application",
    redis_key: Annotated[str, Argument(means="Key of the document; left out, one is drawn.", max_length=300)] = "",
    initial: Annotated[Any, Argument(means="The document.", form="unread", tool="initial_json")] = "{}",
    *,
    key_prefix: Annotated[str, Argument(means="Beginning of the key that is drawn.", max_length=100)] = "doc:",
    overwrite: Annotated[bool, Argument(means="Replace a document that exists.")] = False,
    expires_in_s: Life = None,
    request_id: OnceOnly = None,
) -> Outcome:
    """Create a JSON document of your own, for notes or data that no workflow state holds.

    An existing key is refused unless overwrite=true. It expires after its last write, by default in 30 days.
    """
    document = given(on, initial, "initial_json")
    wish = wish_of(
        "json_create",
        redis_key or f"{key_prefix}{_drawn(request_id)}",
        (),
        document,
        request_id=request_id,
        asked={"key_prefix": key_prefix, "overwrite": overwrite, "expires_in_s": expires_in_s},
        keep_s=keep_s(on, expires_in_s),
    )
    return presented(on.documents.create(wish, document, overwrite=overwrite), wish)


@verb(
    toolset="redis_json",
    scope="read",
    lists=("operator",),
    effect="reads",
    says=lambda _: "read",
    codes=("unknown_run", "not_found", "out_of_range"),
    runs_named=_run_of_key,
    in_refusals={"success": False, "found": False},
)
def json_read(
    on: "Application",
    redis_key: RedisKey,
    path: Annotated[str, Argument(means=PATH_TEXT, max_length=2000)] = "$",
    *,
    pretty: Annotated[bool, Argument(means="Indent value_json.")] = False,
    cursor: Annotated[int, Argument(means="The next_cursor of the last answer.", plain=True, ge=0, le=2**31)] = 0,
) -> Answered[ReadDocument] | RefusedWith:
    """Read a JSON document, or one value of it; of runs too, lease tokens hidden.

    A value too long for one answer comes in pages: call again with next_cursor as `cursor`.
    """
    steps = parse_path(path)
    place = {"redis_key": redis_key, "path": spell(steps)}
    document = on.documents.read(redis_key)
    if isinstance(document, Refusal):
        return RefusedWith(document, place)
    value = find(document, steps)
    if value is MISSING:
        nothing = {"success": True, **place, "value_json": "null"}
        return Answered(ReadDocument, nothing, says="nothing at this path")
    longest = min(PAGE, on.settings.max_result_bytes // _GROWTH)
    part = page(value, cursor, longest)
    if isinstance(part, Refusal):
        return RefusedWith(part, {**place, "found": True})
    members = {
        "success": True,
        **place,
        "found": True,
        "value_json": _written(part.value, longest, pretty=pretty),
        "length": part.total,
        "provenance": marked("whoever wrote this document"),
        "next_cursor": part.cursor,
    }
    return Answered(ReadDocument, members, says="read" if part.cursor is None else "read in part")


@_changes(effect="destroys", audit=_AT)
def json_set(
    on: "Application",
    redis_key: RedisKey,
    path: Path,
    value: Annotated[Any, _VALUE],
    *,
    as_text: AsText = False,
    agent_id: Planner = None,
    expires_in_s: Life = None,
    request_id: OnceOnly = None,
) -> Outcome:
    """Set one value of a document; missing parents are created as objects.

    The planner of a run may set $.agents of its cp:wf:RUN:meta; other documents of runs are an operator's.
    """
    steps = parse_path(path)
    parsed = given(on, value, "value_json", as_text=as_text)
    wish = wish_of(
        "json_set",
        redis_key,
        steps,
        parsed,
        request_id=request_id,
        asked={"path": path, "as_text": as_text, "agent_id": agent_id, "expires_in_s": expires_in_s},
        agent_id=agent_id,
        keep_s=keep_s(on, expires_in_s),
    )
    return presented(on.documents.change(wish, partial(json_edits.set_value, steps=steps, value=parsed)), wish)


@_changes(audit=_AT)
def json_ensure(
    on: "Application",
    redis_key: RedisKey,
    path: Path,
    default: Annotated[
        Any,
        Argument(
            means="The default: JSON, or a string that holds JSON.", example=[], form="unread", tool="default_json"
        ),
    ],
    *,
    as_text: AsText = False,
    request_id: OnceOnly = None,
) -> Outcome:
    """Ensure that a value is there: set a default where nothing or null is, else change nothing."""
    steps = parse_path(path)
    value = given(on, default, "default_json", as_text=as_text)
    arguments: dict[str, Json] = {"path": path, "as_text": as_text}
    wish = wish_of("json_ensure", redis_key, steps, value, request_id=request_id, asked=arguments)
    return presented(on.documents.change(wish, partial(json_edits.ensure, steps=steps, default=value)), wish)


@_changes(is_repeatable=False, audit=_AT)
def json_append(
    on: "Application",
    redis_key: RedisKey,
    path: Annotated[Path, Argument(means="", example="$.items")],
    value: Annotated[Annotated[Any, _VALUE], Argument(means="One element: JSON, or a string that holds JSON.")],
    *,
    spread: Annotated[bool, Argument(means="Append the elements of an array, not the array.")] = False,
    as_text: AsText = False,
    request_id: OnceOnly = None,
) -> Outcome:
    """Append to an array, which is created where nothing is, or a string to a string."""
    steps = parse_path(path)
    parsed = given(on, value, "value_json", as_text=as_text)
    arguments: dict[str, Json] = {"path": path, "spread": spread, "as_text": as_text}
    wish = wish_of("json_append", redis_key, steps, parsed, request_id=request_id, asked=arguments)
    operate = partial(json_edits.append, steps=steps, value=parsed, spread=spread)
    return presented(on.documents.change(wish, operate), wish)


@_changes(effect="destroys", audit=_AT)
def json_merge(
    on: "Application",
    redis_key: RedisKey,
    path: Annotated[Path, Argument(means="", example="$")],
    patch: Annotated[
        str | dict[str, Any],
        Argument(
            means="The patch, an object.", example={"status": "done", "draft": None}, form="unread", tool="patch_json"
        ),
    ],
    *,
    agent_id: Planner = None,
    request_id: OnceOnly = None,
) -> Outcome:
    """Merge an object into a value: its members replace, null removes (JSON Merge Patch, RFC 7386)."""
    steps = parse_path(path)
    parsed = given(on, patch, "patch_json")
    if not isinstance(parsed, dict):
        raise InvalidArgument("patch_json must be an object.", "To replace a value use `json_set`.")
    arguments: dict[str, Json] = {"path": path, "agent_id": agent_id}
    wish = wish_of("json_merge", redis_key, steps, parsed, request_id=request_id, asked=arguments, agent_id=agent_id)
    return presented(on.documents.change(wish, partial(json_edits.merge, steps=steps, patch=parsed)), wish)


@_changes(is_repeatable=False, audit=_AT)
def json_increment(
    on: "Application",
    redis_key: RedisKey,
    path: Annotated[Path, Argument(means="", example="$.count")],
    delta: Number,
    *,
    request_id: OnceOnly = None,
) -> Outcome:
    """Increment a number by a delta, exactly; nothing there counts as 0, and integers stay integers."""
    steps, added = parse_path(path), number(delta)
    wish = wish_of("json_increment", redis_key, steps, added, request_id=request_id, asked={"path": path})
    return presented(on.documents.change(wish, partial(json_edits.increment, steps=steps, delta=added)), wish)


@_changes(effect="destroys", audit=_AT)
def json_delete(on: "Application", redis_key: RedisKey, path: Path, *, request_id: OnceOnly = None) -> Outcome:
    """Remove one value of a document; $ deletes the whole document and its key.

    Elements after a removed one move up; where nothing is, nothing changes.
    """
    steps = parse_path(path)
    wish = wish_of("json_delete", redis_key, steps, None, request_id=request_id, asked={"path": path})
    return presented(on.documents.change(wish, partial(json_edits.delete, steps=steps)), wish)


FromPath = Annotated[str, Argument(means="Path of the value.", example="$.draft", max_length=2000)]
ToPath = Annotated[str, Argument(means="Path where it shall be.", example="$.final", max_length=2000)]
Overwrite = Annotated[bool, Argument(means="Replace what is at to_path.")]


@_changes(effect="destroys", audit=_BETWEEN)
def json_copy(
    on: "Application",
    redis_key: RedisKey,
    from_path: FromPath,
    to_path: ToPath,
    *,
    overwrite: Overwrite = True,
    request_id: OnceOnly = None,
) -> Outcome:
    """Copy a value to another path of the same document; missing parents are created as objects."""
    source, target = parse_path(from_path, name="from_path"), parse_path(to_path, name="to_path")
    arguments: dict[str, Json] = {"from_path": from_path, "to_path": to_path, "overwrite": overwrite}
    wish = wish_of("json_copy", redis_key, target, None, request_id=request_id, asked=arguments)
    operate = partial(json_edits.copy, source=source, target=target, overwrite=overwrite)
    return presented(on.documents.change(wish, operate), wish)


@_changes(effect="destroys", is_repeatable=False, audit=_BETWEEN)
def json_move(
    on: "Application",
    redis_key: RedisKey,
    from_path: FromPath,
    to_path: ToPath,
    *,
    overwrite: Overwrite = True,
    request_id: OnceOnly = None,
) -> Outcome:
    """Move a value to another path of the same document, in one step. Both paths are those before the move."""
    source, target = parse_path(from_path, name="from_path"), parse_path(to_path, name="to_path")
    arguments: dict[str, Json] = {"from_path": from_path, "to_path": to_path, "overwrite": overwrite}
    wish = wish_of("json_move", redis_key, target, None, request_id=request_id, asked=arguments)
    operate = partial(json_edits.move, source=source, target=target, overwrite=overwrite)
    return presented(on.documents.change(wish, operate), wish)


def _written(value: Json, longest: int, *, pretty: bool) -> str:
    """Write a value as JSON text, indented unless that makes it too long."""
    indented = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) if pretty else ""
    return indented if 0 < len(indented) <= longest else dump(value)


def _drawn(request_id: str | None) -> str:
    """Return a generated name; the same one for a repeated request id."""
    return secrets.token_hex(16) if request_id is None else hashlib.sha256(request_id.encode()).hexdigest()[:32]


add_tools(__name__)
