"""What the agents of a run are called and tagged, so that they can be found again. Pure."""

import hashlib
import re
from typing import Final

MAX_NAME: Final = 56
WORKER_TAG: Final = "role:worker"
_NOT_ALLOWED: Final = re.compile(r"[^A-Za-z0-9 _'-]")
_DIGITS: Final = 8
_PART: Final = "state:"
_RUN: Final = "wf:"


def default_prefix(workflow_id: str) -> str:
    """Begin the names of a run's agents; `wf-` is not doubled."""
    return f"{workflow_id}-" if workflow_id.startswith("wf-") else f"wf-{workflow_id}-"


def agent_name(prefix: str, part: str) -> str:
    """Name an agent with characters that every platform takes; whatever had to change is told apart by a hash."""
    wished = f"{prefix}{part}"
    plain = _NOT_ALLOWED.sub("-", wished)
    if plain == wished and len(wished) <= MAX_NAME:
        return wished
    digest = hashlib.sha256(wished.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{plain[: MAX_NAME - _DIGITS - 1]}-{digest}"


def run_tag(workflow_id: str) -> str:
    """Tag everything made for a run."""
    return f"{_RUN}{workflow_id}"


def part_of(tags: tuple[str, ...]) -> str | None:
    """Read off the tags which part of a run an agent was made for."""
    return next((tag.removeprefix(_PART) for tag in tags if tag.startswith(_PART)), None)


def worker_tags(workflow_id: str, part: str) -> tuple[str, ...]:
    """Tag the agent of one state; `part` is the state, or the key of an agent that several states share."""
    return run_tag(workflow_id), f"{_PART}{part}", WORKER_TAG


def runs_of(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Read off the tags for which runs an agent was made."""
    return tuple(tag.removeprefix(_RUN) for tag in tags if tag.startswith(_RUN))
