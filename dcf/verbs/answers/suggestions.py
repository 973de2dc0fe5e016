"""Finds the name that a caller probably meant, if it is almost right: of an argument, a value, a state, a run. Pure.

Looks at few and short words only, so that a call made to be costly costs no more than any other.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Final

from dcf.values.json_text import Json

_LONGEST: Final = 80
_MOST: Final = 500
_ALIKE: Final = 0.72

_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "run_id": ("workflow_id",),
    "run": ("workflow_id",),
    "id": ("workflow_id", "agent_id"),
    "name": ("agent_name", "workflow_id"),
    "workflow": ("workflow_json", "workflow_id"),
    "definition": ("workflow_json",),
    "task": ("state",),
    "state_name": ("state",),
    "target_state": ("state", "source_state"),
    "agent": ("agent_id", "owner_agent_id", "planner_agent_id"),
    "agent_id": ("owner_agent_id", "planner_agent_id"),
    "owner_agent_id": ("agent_id",),
    "owner": ("owner_agent_id", "agent_id"),
    "worker_id": ("agent_id", "owner_agent_id"),
    "token": ("lease_token", "task_token"),
    "lease": ("lease_token",),
    "status": ("new_status",),
    "state_status": ("new_status",),
    "output": ("output_json",),
    "result": ("output_json",),
    "input": ("input_json",),
    "error": ("error_message", "error_name"),
    "error_name": ("error",),
    "error_message": ("cause",),
    "message": ("error_message",),
    "cause": ("error_message",),
    "timeout": ("timeout_s",),
    "ttl": ("lease_ttl_s",),
    "ttl_s": ("lease_ttl_s",),
    "message_id": ("ack_message_id",),
    "ack": ("ack_message_id",),
    "skill": ("skill_json",),
    "manifest_id": ("skill_json",),
    "agents": ("agents_map_json",),
    "agents_map": ("agents_map_json",),
    "key": ("redis_key",),
    "value": ("value_json",),
    "states": ("states_json",),
}
"""Names of arguments as other tools, answers or people call them."""


def argument_meant(name: str, known: Sequence[str], present: Iterable[str]) -> str | None:
    """Return the argument that a name stands for which the tool does not have; none that was given as well."""
    left = [argument for argument in known if argument not in set(present)]
    by_custom = next((argument for argument in _OTHER_NAMES.get(name.lower(), ()) if argument in left), None)
    return by_custom or closest(name, left)


def closest(word: str, words: Iterable[str]) -> str | None:
    """Return the one of these words that is most like the given one; None if none is."""
    usable = [word for word in islice(words, _MOST) if len(word) <= _LONGEST]
    if len(word) > _LONGEST or not usable:
        return None
    folded = {argument.casefold(): argument for argument in reversed(usable)}
    matches = get_close_matches(word.casefold(), folded, n=1, cutoff=_ALIKE)
    return folded[matches[0]] if matches else None


def call_again(tool: str, arguments: Mapping[str, Json], renamed: Mapping[str, str], why: str) -> dict[str, Json]:
    """Return a call with other names of arguments, ready to be sent but for long values."""
    sent: dict[str, Json] = {renamed.get(name, name): _shown(value) for name, value in islice(arguments.items(), 20)}
    return {"tool": tool, "arguments": sent, "why": why}


def _shown(value: Json) -> Json:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and len(value) <= _LONGEST and value.isprintable():
        return value
    return "<as you sent it>"
