"""Reports of finished steps in the profile `deepwork`: which step a call means, and what it left out. Pure.

A call that equals the one before is its repetition, as the answer may have been lost, unless the caller is known to
have the answer: the process before the client (`dcf.local`) names the step that it received. Otherwise an agent that
reports the next step with the same outputs must say more, and the instructions of that step tell it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from dcf.profiles.deepwork import calls
from dcf.profiles.deepwork.session import DeepRun, Session
from dcf.profiles.growing_runs import RunUnit
from dcf.profiles.profile import refuse
from dcf.values.json_text import Json

_NAME_IT: Final = (
    "\n\nName this step in the notes of finished_step. The step before reported the same outputs, and an equal call "
    "counts as a repetition of that report."
)


def output_of(args: calls.FinishedStepCall) -> dict[str, Json]:
    """Return the output of the step that a call reports."""
    output: dict[str, Json] = {"files": list(args.outputs)}
    output |= {} if args.notes is None else {"notes": args.notes}
    return output | ({} if args.file_hashes is None else {"file_hashes": args.file_hashes})


def current_of(session: Session) -> DeepRun:
    """Return the workflow that is under way; raise NotDone if there is none."""
    if session.current is None:
        raise refuse("no_session", "No workflow is under way.", "Start one with start_workflow.")
    return session.current


def reported_step(session: Session, args: calls.FinishedStepCall) -> tuple[DeepRun, RunUnit]:
    """Return the step that a call means. If the call repeats a report, the step has ended.

    A call that names the step which waits for its review means that step, whatever its outputs are.
    """
    if args.waits_for_review is not None:
        return _waiting_step(session, args.waits_for_review)
    before = session.finished_last()
    is_equal = before is not None and before[1].output == output_of(args)
    if before is not None and is_equal and not _means_current(session, before, args):
        return before
    run = current_of(session)
    if run.current is None:
        raise refuse("run_over", f"Every step of {run.name} is done.", "Call finished_step again in a moment.")
    return run, run.current


def _waiting_step(session: Session, place: dict[str, Json]) -> tuple[DeepRun, RunUnit]:
    for run in (*session.stack, *session.ended):
        unit = run.read.units.get(str(place.get("step_id")))
        if run.id == place.get("workflow_id") and unit is not None and unit.status != "cancelled":
            return run, unit
    reason = "The workflow was ended while the step was reviewed."
    raise refuse("run_over", reason, "Call finished_step for the current step, or start_workflow.")


def files_of(run: DeepRun, step: str) -> list[str]:
    """Return the files that were reported for a step."""
    output = run.read.units[step].output
    return list((output if isinstance(output, dict) else {}).get("files") or ())


def missing_outputs(run: DeepRun, step: str, outputs: Sequence[str]) -> dict[str, Json]:
    """Return the expected outputs of a step that a report leaves out, as a member of the answer; nothing if none."""
    missing = [output for output in run.steps[step]["outputs"] if not _is_among(output, outputs)]
    return {"missing_outputs": missing} if missing else {}


def how_to_report(run: DeepRun, step: str) -> str:
    """Return the advice for a step whose report may equal that of the step before; an empty text for any other."""
    last = run.last
    if last is None:
        return ""
    outputs, reported = run.steps[step]["outputs"], files_of(run, last.name)
    return _NAME_IT if _fit(outputs, reported) and bool(outputs) is bool(reported) else ""


def _means_current(session: Session, before: tuple[DeepRun, RunUnit], args: calls.FinishedStepCall) -> bool:
    """Return True if a call that equals the last one means the current step, and is no repetition.

    It does if the client has received that step, or if its outputs are those of that step alone.
    """
    now = session.current
    if now is None or now.current is None:
        return False
    expected = now.steps[now.current.name]["outputs"]
    if not _fit(expected, args.outputs):
        return False
    if args.reports == {"workflow_id": now.id, "step_id": now.current.name}:
        return True
    return bool(expected) and not _fit(before[0].steps[before[1].name]["outputs"], args.outputs)


def _fit(expected: Iterable[str], outputs: Sequence[str]) -> bool:
    return all(_is_among(path, outputs) for path in expected)


def _is_among(expected: str, outputs: Sequence[str]) -> bool:
    """Return True if an expected output was reported; a directory is reported by a file below it."""
    plain = expected.removeprefix("./")
    if plain.endswith("/"):
        return any(path.startswith(plain) or f"/{plain}" in path for path in outputs)
    return any(path.removeprefix("./") == plain or path.endswith(f"/{plain}") for path in outputs)
