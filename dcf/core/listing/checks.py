"""Decides which entries of the indexes across runs (runs, API keys, agents, assignments) are missing or dangling.

Pure. An entry is written just before what it names, so a young dangling entry is not an error.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from dcf.core.documents.model import RunStatus
from dcf.values.records import record


class ListKind(StrEnum):
    """Kinds of indexes."""

    RUNS = "runs"
    LIVE_RUNS = "live_runs"
    DUE_RUNS = "due_runs"
    API_KEYS = "api_keys"
    AGENTS = "agents"
    ASSIGNMENTS = "assignments"
    DOCUMENTS = "documents_of_keys"
    CHARGES = "runs_of_keys"
    CATALOG = "catalog"
    HUMAN_TASKS = "human_tasks"
    GATES = "gates"
    TIMERS = "timers"


@record(frozen=True, slots=True, kw_only=True)
class ListFlaw:
    """A wrong entry of an index: a missing one (`is_missing`), or a dangling one, whose object does not exist.

    `score` is the score that the entry should have, or was found with. `is_due`: the object that it named has expired
    as it should, so the entry is removed without a report. A missing timer of a state is set by a decision on it
    (`core/leasing/rearming.py`), which knows for when.
    """

    kind: ListKind
    index: str
    name: str
    score: int
    is_missing: bool
    is_due: bool = False


def needs_clock(*, is_running: bool, owed: int) -> bool:
    """Return True if a run still needs the timer loop: it is running, or has undelivered notifications."""
    return is_running or owed > 0


def lists_of_run(status: str | None, owed: int, created_at: int, now: int) -> dict[ListKind, int]:
    """Return the indexes that a run belongs in, with its scores."""
    is_live = needs_clock(is_running=status == RunStatus.RUNNING, owed=owed)
    return {ListKind.RUNS: created_at} | ({ListKind.LIVE_RUNS: now, ListKind.DUE_RUNS: now} if is_live else {})


def dangling(
    kind: ListKind, index: str, entries: Mapping[str, int], there: Mapping[str, bool], *, before: int, due: int = -1
) -> Iterator[ListFlaw]:
    """Yield the entries of an index whose name is not in `there`, and that are older than `before`.

    Those with a score up to `due` have expired as they should.
    """
    for name, score in entries.items():
        if not there[name] and score < before:
            yield ListFlaw(kind=kind, index=index, name=name, score=score, is_missing=False, is_due=score <= due)
