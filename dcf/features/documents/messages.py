"""A call about a document as a request with its digest, and the answer to it."""

import hashlib
from collections.abc import Mapping
from typing import Final

from dcf.core.access.model import Scope
from dcf.features.documents.operations import Changed, Wish
from dcf.features.documents.records import ChangedDocument
from dcf.features.documents.rules import Hand
from dcf.values.json_paths import MISSING, JsonSteps, spell
from dcf.values.json_text import Json, dump
from dcf.values.refusal import Refusal
from dcf.verbs.callers import current_caller
from dcf.verbs.description.verb import Answered, RefusedWith

PAGE: Final = 32 * 1024
"""Characters of a value in one answer: Letta cuts a tool's answer after 50,000, escapes included (measured)."""

_WHOLE: Final = 1024
"""A changed document up to this size is shown as a whole."""

_DONE: Final[Mapping[str, str]] = {
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


def wish_of(
    operation: str,
    key: str,
    steps: JsonSteps,
    value: Json,
    *,
    request_id: str | None,
    asked: Mapping[str, Json],
    agent_id: str | None = None,
    keep_s: int | None = None,
) -> Wish:
    """Return the request. `asked` are the other arguments, in their order: they and the value are what its id is for.

    The digest is kept with the document, so what goes into it is the same in all versions.
    """
    caller = current_caller()
    content: list[Json] = [operation, key, {"redis_url": None, **asked}, value]
    is_operator, may_plan = Scope.OPERATE in caller.scopes, Scope.PLAN in caller.scopes
    return Wish(
        key=key,
        operation=operation,
        path=steps,
        hand=Hand(
            who=agent_id or caller.name,
            is_operator=is_operator,
            agent_id=agent_id if may_plan else None,
            is_local=caller.local and may_plan,
        ),
        digest=hashlib.sha256(dump(content).encode()).hexdigest()[:16],
        request_id=request_id,
        keep_s=keep_s,
    )


def presented(answer: Changed | Refusal, wish: Wish) -> Answered[ChangedDocument] | RefusedWith:
    """Return the answer to a change, or the refusal with the key and the path that it is about."""
    if isinstance(answer, Refusal):
        return RefusedWith(answer, {"redis_key": wish.key, "path": spell(wish.path)})
    value = None if answer.value is MISSING else dump(answer.value)
    is_long = value is not None and len(value) > PAGE
    whole = None if answer.document is MISSING else dump(answer.document)
    members = {
        "hint": "The value is too long to be shown: read it with `json_read`." if is_long else None,
        "success": True,
        "redis_key": answer.key,
        "path": spell(answer.at),
        "value_json": None if is_long else value,
        "length": len(answer.value) if isinstance(answer.value, dict | list | str) else None,
        "doc_json": whole if whole is not None and len(whole) <= _WHOLE else None,
        "changed": answer.was_changed,
        "repeated": answer.repeated,
    }
    return Answered(ChangedDocument, members, says=_DONE[wish.operation] if answer.was_changed else "unchanged")
