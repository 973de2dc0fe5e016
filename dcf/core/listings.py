"""Whether the lists that span runs name all that there is, and nothing else: runs, API keys, agents, assignments.

Pure. An entry is written just before what it names, so one that names nothing is let stand for a while.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from dcf.core.model import RunStatus


class ListKind(StrEnum):
    """What a list is of."""

    RUNS = "runs"
    LIVE_RUNS = "live_runs"
    API_KEYS = "api_keys"
    AGENTS = "agents"
    ASSIGNMENTS = "assignments"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFlaw:
    """A list that is wrong about a name: it lacks it (`is_missing`), or has it although nothing goes by it.

    `score` is what the name belongs there with, or was found with.
    """

    kind: ListKind
    index: str
    name: str
    score: int
    is_missing: bool


def needs_clock(*, is_running: bool, owed: int) -> bool:
    """Tell whether a run still needs the clock: it runs, or owes a notification."""
    return is_running or owed > 0


def lists_of_run(status: str | None, owed: int, created_at: int, now: int) -> dict[ListKind, int]:
    """Tell on which lists a run belongs, and with what score."""
    is_live = needs_clock(is_running=status == RunStatus.RUNNING, owed=owed)
    return {ListKind.RUNS: created_at} | ({ListKind.LIVE_RUNS: now} if is_live else {})


def dangling(
    kind: ListKind, index: str, entries: Mapping[str, int], there: Mapping[str, bool], *, before: int
) -> Iterator[ListFlaw]:
    """List the entries of a list that name nothing that is `there`, and are older than `before`."""
    for name, score in entries.items():
        if not there[name] and score < before:
            yield ListFlaw(kind=kind, index=index, name=name, score=score, is_missing=False)
