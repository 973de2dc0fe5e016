"""Methods of the clients for the verbs of the toolset redis_json. Derived from their descriptions."""

from typing import Literal

from dcf.client.arguments import json_text, request_id_for
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.features.documents.records import ChangedDocument, ReadDocument
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json


def json_create(
    redis_key: str = "",
    initial: Json = MISSING,
    *,
    key_prefix: str = "doc:",
    overwrite: bool = False,
    expires_in_s: int | Literal["never"] | None = None,
    request_id: str | None = None,
) -> Conversation[ChangedDocument]:
    """Create a JSON document of your own, for notes or data that no workflow state holds.

    An existing key is refused unless `overwrite=True`. It expires after its last write, by default in 30 days.
    """
    return call_tool(
        ChangedDocument,
        "json_create",
        redis_key=redis_key,
        initial_json=None if initial is MISSING else json_text(initial, "initial"),
        key_prefix=key_prefix,
        overwrite=overwrite or None,
        expires_in_s=expires_in_s,
        request_id=request_id_for(request_id),
    )


def json_read(redis_key: str, path: str = "$", *, pretty: bool = False, cursor: int = 0) -> Conversation[ReadDocument]:
    """Read a JSON document, or one value of it; of runs too, lease tokens hidden.

    A value too long for one answer comes in pages: call again with next_cursor as `cursor`.
    """
    return call_tool(ReadDocument, "json_read", redis_key=redis_key, path=path, pretty=pretty or None, cursor=cursor)


def json_set(
    redis_key: str,
    path: str,
    value: Json,
    *,
    as_text: bool = False,
    agent_id: str | None = None,
    expires_in_s: int | Literal["never"] | None = None,
    request_id: str | None = None,
) -> Conversation[ChangedDocument]:
    """Set one value of a document; missing parents are created as objects.

    The planner of a run may set $.agents of its cp:wf:RUN:meta; other documents of runs are an operator's.
    """
    return call_tool(
        ChangedDocument,
        "json_set",
        redis_key=redis_key,
        path=path,
        value_json=value if as_text else json_text(value, "value"),
        as_text=as_text or None,
        agent_id=agent_id,
        expires_in_s=expires_in_s,
        request_id=request_id_for(request_id),
    )


def json_ensure(
    redis_key: str, path: str, default: Json, *, as_text: bool = False, request_id: str | None = None
) -> Conversation[ChangedDocument]:
    """Ensure that a value is there: set a default where nothing or null is, else change nothing."""
    return call_tool(
        ChangedDocument,
        "json_ensure",
        redis_key=redis_key,
        path=path,
        default_json=default if as_text else json_text(default, "default"),
        as_text=as_text or None,
        request_id=request_id_for(request_id),
    )


def json_append(
    redis_key: str,
    path: str,
    value: Json,
    *,
    spread: bool = False,
    as_text: bool = False,
    request_id: str | None = None,
) -> Conversation[ChangedDocument]:
    """Append to an array, which is created where nothing is, or a string to a string."""
    return call_tool(
        ChangedDocument,
        "json_append",
        redis_key=redis_key,
        path=path,
        value_json=value if as_text else json_text(value, "value"),
        spread=spread or None,
        as_text=as_text or None,
        request_id=request_id_for(request_id),
    )


def json_merge(
    redis_key: str, path: str, patch: Json, *, agent_id: str | None = None, request_id: str | None = None
) -> Conversation[ChangedDocument]:
    """Merge an object into a value: its members replace, null removes (JSON Merge Patch, RFC 7386)."""
    return call_tool(
        ChangedDocument,
        "json_merge",
        redis_key=redis_key,
        path=path,
        patch_json=json_text(patch, "patch"),
        agent_id=agent_id,
        request_id=request_id_for(request_id),
    )


def json_increment(
    redis_key: str, path: str, delta: str | float, *, request_id: str | None = None
) -> Conversation[ChangedDocument]:
    """Increment a number by a delta, exactly; nothing there counts as 0, and integers stay integers."""
    return call_tool(
        ChangedDocument,
        "json_increment",
        redis_key=redis_key,
        path=path,
        delta=delta,
        request_id=request_id_for(request_id),
    )


def json_delete(redis_key: str, path: str, *, request_id: str | None = None) -> Conversation[ChangedDocument]:
    """Remove one value of a document; $ deletes the whole document and its key.

    Elements after a removed one move up; where nothing is, nothing changes.
    """
    return call_tool(
        ChangedDocument, "json_delete", redis_key=redis_key, path=path, request_id=request_id_for(request_id)
    )


def json_copy(
    redis_key: str, from_path: str, to_path: str, *, overwrite: bool = True, request_id: str | None = None
) -> Conversation[ChangedDocument]:
    """Copy a value to another path of the same document; missing parents are created as objects."""
    return call_tool(
        ChangedDocument,
        "json_copy",
        redis_key=redis_key,
        from_path=from_path,
        to_path=to_path,
        overwrite=overwrite,
        request_id=request_id_for(request_id),
    )


def json_move(
    redis_key: str, from_path: str, to_path: str, *, overwrite: bool = True, request_id: str | None = None
) -> Conversation[ChangedDocument]:
    """Move a value to another path of the same document, in one step. Both paths are those before the move."""
    return call_tool(
        ChangedDocument,
        "json_move",
        redis_key=redis_key,
        from_path=from_path,
        to_path=to_path,
        overwrite=overwrite,
        request_id=request_id_for(request_id),
    )
