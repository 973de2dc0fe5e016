"""Answers of local tools, in the form that dcf's tools have: a code, and where it is not ok an error and a hint."""

from collections.abc import Mapping
from typing import Any

from dcf.errors import DcfError
from dcf.values.json_text import Json, dump
from dcf.values.refusal import Refusal


def done(**members: Json) -> dict[str, Json]:
    """Return the answer of a tool that did what was asked."""
    return {"status": "ok", "error": None, "code": "ok"} | members


def refused(refusal: Refusal, **echo: Json) -> dict[str, Json]:
    """Return the answer of a tool that refused, which changed nothing."""
    return _failed(refusal.code, refusal.message, refusal.hint) | echo


def failed(error: DcfError) -> dict[str, Json]:
    """Return the answer for a call that could not be carried out."""
    return _failed(error.code, error.message, error.hint)


def as_result(answer: Mapping[str, Json], *, is_error: bool = False) -> dict[str, Any]:
    """Return an answer as the result of `tools/call`."""
    return {
        "content": [{"type": "text", "text": dump(dict(answer))}],
        "structuredContent": dict(answer),
        "isError": is_error,
        "resultType": "complete",
    }


def _failed(code: str, message: str, hint: str) -> dict[str, Json]:
    return {"status": None, "error": f"{code}: {message}", "code": code, "hint": hint}
