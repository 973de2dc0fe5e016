"""Makes sure that every refusal names the next legal call: the tool, or the argument to correct.

A model that reads only what is wrong guesses the next call. Pure.
"""

import re
from collections.abc import Mapping
from typing import Final

from dcf.errors import DcfError, Forbidden, InvalidArgument, InvalidDefinition, NotFound
from dcf.values.json_text import Json
from dcf.verbs.answers.suggestions import closest
from dcf.verbs.description.table import TABLE
from dcf.verbs.registry import ToolSpec

_NAME: Final = re.compile(r"[a-z][a-z_]+")
_THE_CALLERS: Final = (InvalidArgument, Forbidden, NotFound)
"""Failures that the caller can correct; with all others the same call is repeated, as their hints say."""


_ALSO_CALLED: Final[Mapping[str, tuple[str, ...]]] = {
    "start_run": ("start_workflow", "run_workflow", "create_workflow", "create_run", "execute_workflow"),
    "read_workflow_control_plane": ("get_run", "get_workflow", "get_status", "get_run_status", "describe_run"),
    "list_runs": ("list_workflows", "list_executions"),
    "update_workflow_control_plane": ("complete_state", "complete_task", "submit_result", "fail_state", "fail_task"),
    "await_workflow_event": ("get_work", "get_task", "claim_task", "wait_for_work", "wait_for_event", "acknowledge"),
}
"""By tool: what others call such a tool, where another name of ours is spelt more like it."""


def with_a_call(spec: ToolSpec, error: DcfError) -> str:
    """Return the hint of a failed call; it names a tool or an argument of this one."""
    hint = error.hint
    is_led = isinstance(error, InvalidDefinition)  # to the page of the language
    if is_led or not isinstance(error, _THE_CALLERS) or names_a_call(spec, hint):
        return hint
    if hint == InvalidArgument.default_hint:
        return f"Correct the argument and call `{spec.name}` again; nothing was changed."
    return f"{hint} Then call `{spec.name}` again."


def names_a_call(spec: ToolSpec, hint: str) -> bool:
    """Return True if a hint names a tool, or an argument of this one."""
    names = set(_NAME.findall(hint))
    return not names.isdisjoint(TABLE) or not names.isdisjoint(spec.arguments.model_fields)


def unknown_tool(name: str, offered: Mapping[str, str]) -> dict[str, Json]:
    """Return the answer to a call of a tool that there is not; `offered` are the tools with their descriptions."""
    by_custom = next((tool for tool, others in _ALSO_CALLED.items() if tool in offered and name in others), None)
    near = by_custom or closest(name, offered) or _with_words_of(name, offered)
    meant = f"Did you mean {near}? " if near else ""
    return {
        "status": None,
        "error": f"unknown_tool: There is no tool '{name[:80]}' here.",
        "code": "unknown_tool",
        "hint": f"{meant}The list of tools has those that you may call.",
    }


def _with_words_of(name: str, offered: Mapping[str, str]) -> str | None:
    """Return the tool that has most words of a name in common, in its name or description; none if none has any."""
    words_called = set(_NAME.findall(name.lower().replace("_", " ")))
    shared = {tool: len(words_called & _words(tool, description)) for tool, description in offered.items()}
    best = max(shared, key=lambda tool: shared[tool], default=None)
    return best if best is not None and shared[best] else None


def _words(tool: str, description: str) -> set[str]:
    return set(_NAME.findall(f"{tool.replace('_', ' ')} {description}".lower()))
