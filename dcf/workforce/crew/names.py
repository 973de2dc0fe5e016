"""Names and tags of the agents of a run, by which they are found again. Pure."""

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
    """Return the prefix of the names of a run's agents: `wf-` and the run's id, without a second `wf-`."""
    return f"{workflow_id}-" if workflow_id.startswith("wf-") else f"wf-{workflow_id}-"


def agent_name(prefix: str, part: str) -> str:
    """Return a name that every platform accepts. If characters had to be replaced, a hash keeps it unique."""
    wished = f"{prefix}{part}"
    plain = _NOT_ALLOWED.sub("-", wished)
    if plain == wished and len(wished) <= MAX_NAME:
        return wished
    digest = hashlib.sha256(wished.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{plain[: MAX_NAME - _DIGITS - 1]}-{digest}"


def run_tag(workflow_id: str) -> str:
    """Return the tag of all agents of a run."""
    return f"{_RUN}{workflow_id}"


def part_of(tags: tuple[str, ...]) -> str | None:
    """Return which part of a run an agent was created for, by its tags; None if they do not say."""
    return next((tag.removeprefix(_PART) for tag in tags if tag.startswith(_PART)), None)


def worker_tags(workflow_id: str, part: str) -> tuple[str, ...]:
    """Return the tags of the agent of one part: a state, or the key of an agent that several states share."""
    return run_tag(workflow_id), f"{_PART}{part}", WORKER_TAG


def runs_of(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the runs that an agent was created for, by its tags."""
    return tuple(tag.removeprefix(_RUN) for tag in tags if tag.startswith(_RUN))
