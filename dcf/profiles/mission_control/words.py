"""The words of the profile `mission-control` for how runs, groups and units of dcf stand. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.profiles.growing_runs import RunUnit
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record

PHASE_BEGUN: Final = "phase-begun:"
PHASE_ENDED: Final = "phase-ended:"
"""How the keys of the journal's entries begin that say how a phase was begun, and how it ended."""

Notes = Mapping[str, Mapping[str, Json]]
"""These two entries, by the beginnings of their keys."""

_PHASES: Final = {"completed": "COMPLETED", "failed": "FAILED"}
_PHASE: Final = "phase-"
_CHECKPOINT: Final = "checkpoint-"

_RUNS: Final = {
    "running": "IN_PROGRESS",
    "paused": "IN_PROGRESS",
    "blocked": "BLOCKED",
    "succeeded": "COMPLETED",
    "partial": "PARTIAL",
}
_TASKS: Final = {"succeeded": "SUCCESS", "failed": "FAILED", "cancelled": "FAILED", "skipped": "SUCCESS"}
_ISSUES: Final = {"documentation_gap": "DOC_GAP", "bug_encountered": "BUG"}
_NO_FILES: Final = ("added", "modified", "deleted")
_LONGEST_FAILURE: Final = 20_000
_LONGEST_SUMMARY: Final = 500
_MOST_FILES: Final = 25
"""Files of each kind that are stored of a failed task, where all of them are too long."""


def run_status(status: str) -> str:
    """Return the word for a run."""
    return _RUNS.get(status, "FAILED")


def issue_type(issue: Json) -> str:
    """Return the word for a type of issues."""
    return _ISSUES.get(str(issue), str(issue)).upper()


def phase_name(number: int) -> str:
    """Return the name of the group of a phase."""
    return f"{_PHASE}{number}"


def checkpoint_name(number: int) -> str:
    """Return the name of the unit that waits for a person before a phase."""
    return f"{_CHECKPOINT}{number}"


def is_checkpoint(unit: RunUnit) -> bool:
    """Return True for a unit that is no task, but waits for a person before a phase."""
    return unit.group is None and unit.name.startswith(_CHECKPOINT)


def number_of(group: str) -> int:
    """Return the number of the phase whose group this is; 0 for any other group."""
    number = group.removeprefix(_PHASE)
    return int(number) if group.startswith(_PHASE) and number.isascii() and number.isdigit() else 0


def is_parallel(notes: Notes) -> bool:
    """Return whether the phase was begun as a parallel one."""
    return bool(_details(notes, PHASE_BEGUN).get("is_parallel"))


def begun_at(notes: Notes) -> str | None:
    """Return when the phase was begun."""
    return notes.get(PHASE_BEGUN, {}).get("at")


def ended_at(notes: Notes) -> str | None:
    """Return when the phase was completed."""
    return notes.get(PHASE_ENDED, {}).get("at")


def phase_status(phase: RunUnit, notes: Notes) -> str:
    """Return the word for a group."""
    if PHASE_ENDED in notes:
        return _PHASES.get(str(_details(notes, PHASE_ENDED).get("status")), "COMPLETED")
    return "COMPLETED" if phase.status == "succeeded" else "FAILED" if phase.has_ended else "IN_PROGRESS"


def _details(notes: Notes, key: str) -> Mapping[str, Json]:
    return notes.get(key, {}).get("details") or {}


@record(frozen=True, slots=True)
class PhaseEnd:
    """How a phase that was begun stands, and what its end said."""

    status: str
    summary: str | None = None


def end_of(phase: RunUnit, notes: Notes) -> PhaseEnd:
    """Return how a group stands, with the summary of its end."""
    summary = _details(notes, PHASE_ENDED).get("summary")
    return PhaseEnd(phase_status(phase, notes), None if summary is None else str(summary))


def task_status(task: RunUnit) -> str:
    """Return the word for a unit; a partial success stays one."""
    if task.status == "succeeded" and outcome_of(task).get("status") == "partial_success":
        return "PARTIAL_SUCCESS"
    return _TASKS.get(task.status, "IN_PROGRESS")


def outcome_of(task: RunUnit) -> Mapping[str, Json]:
    """Return what its agent said at the end: the output, or what it failed with."""
    if isinstance(task.output, Mapping):
        return task.output
    error = task.doc.get("last_error")
    try:
        outcome: Json = load(str(error).partition(": ")[2].rpartition("\n")[2]) if error else None
    except ValueError:
        outcome = None
    return outcome if isinstance(outcome, Mapping) else {"outcome": {"summary": error}} if error else {}


def failure_text(output: Mapping[str, Json]) -> str:
    """Return what a task failed with: its summary for people, and in the last line all of it for `outcome_of`.

    If that is too long, the files beyond the first of each kind are left out.
    """
    summary = str((output.get("outcome") or {}).get("summary") or "")[:_LONGEST_SUMMARY]
    text = f"{summary}\n{dump(output)}"
    if len(text) <= _LONGEST_FAILURE:
        return text
    files = {kind: paths[:_MOST_FILES] for kind, paths in files_of(output).items()}
    return f"{summary}\n{dump({**output, 'files_changed': files, 'files_beside': None})}"


def files_of(outcome: Mapping[str, Json]) -> dict[str, list[str]]:
    """Return the paths that were changed, as the helper on the agent's machine told."""
    files_changed = outcome.get("files_changed") or {}
    return {kind: list(files_changed.get(kind) or ()) for kind in _NO_FILES}


def tokens_of(outcome: Mapping[str, Json]) -> dict[str, int] | None:
    """Return what was spent, as dcf counts it."""
    metadata = outcome.get("metadata") or {}
    spent = {"tokens_in": metadata.get("tokens_input"), "tokens_out": metadata.get("tokens_output")}
    return {name: int(count) for name, count in spent.items() if count is not None} or None


def counted(tasks: Iterable[RunUnit]) -> dict[str, int]:
    """Return how many tasks there are of each status."""
    words = [task_status(task) for task in tasks]
    return {
        "total": len(words),
        "success": words.count("SUCCESS"),
        "partial": words.count("PARTIAL_SUCCESS"),
        "failed": words.count("FAILED"),
        "in_progress": words.count("IN_PROGRESS"),
    }
