"""Prints the end of `dcf run` for people: the result, the reason of a failure, and where to look next."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.text import Text

from dcf.cli.reading import views
from dcf.cli.reading.notes import seconds
from dcf.cli.text import clean
from dcf.values.json_text import Json
from dcf.values.records import record

_LONGEST: Final = 5000
_LONGEST_COMMAND: Final = 400
_ORDER: Final = ("succeeded", "failed", "cancelled", "skipped", "running", "pending")


@record(frozen=True, slots=True, kw_only=True)
class Ending:
    """The result as `dcf run --json` prints it, and what only people read.

    `failures` are the states that failed first, and `waits` the states that a timeout cancelled while they waited for
    a person: sentences. `logs` is the directory with the logs of the processes.
    """

    result: dict[str, Json]
    failures: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    logs: Path | None = None


def print_ending(ending: Ending, took_s: float, *, again: str | None, lines: Sequence[str] = ()) -> None:
    """Print the result, the states, the failures with their `lines` of Python, and the next commands.

    `again` is the command that runs the workflow again; None if it is too long to print.
    """
    out, result = views.console(), ending.result
    run_id = clean(result["workflow_id"])
    facts = f"  {run_id}  {_counts(result['states'])}  {seconds(took_s)}"
    out.print(Text.assemble(views.status_text(result["status"]), facts), soft_wrap=True)
    out.print(views.states_table(result["states"], datetime.now(UTC)))
    out.print()
    if result["status"] == "succeeded":
        out.print(Text("Output:", style="bold"))
        views.print_document(out, result["output"])
    for failure in ending.failures or _reason(result):
        out.print(Text(f"✘ {clean(failure, _LONGEST)}", style="red"), soft_wrap=True)
    for line in lines:
        out.print(Text(f"  at {clean(line)}", style="dim"), soft_wrap=True)
    for wait in ending.waits:
        out.print(Text(clean(wait, _LONGEST), style="yellow"), soft_wrap=True)
    out.print(Text("\nNext:", style="bold"))
    for aim, command in _steps(ending, again):
        out.print(Text.assemble((f"  {aim:<22}", "dim"), clean(command, _LONGEST)), soft_wrap=True)


def command_again(arguments: Sequence[str]) -> str | None:
    """Return the arguments of this `dcf run` as a command for a new run; None if they are others or too long."""
    if arguments[:1] != ["run"]:
        return None
    words, skips_next = ["dcf"], False
    for word in arguments:
        if not skips_next and not word.startswith("--id="):
            words += [] if word == "--id" else [word]
        skips_next = word == "--id" and not skips_next
    command = shlex.join(words)
    return command if len(command) <= _LONGEST_COMMAND else None


def _counts(states: Mapping[str, Json]) -> str:
    """Return how many states there are of each status, which the status of the run does not tell."""
    counts = Counter(str(doc["status"]) for doc in states.values())
    listed = [f"{counts[status]} {status}" for status in _ORDER if counts[status]]
    return f"{len(states)} {'state' if len(states) == 1 else 'states'}: {', '.join(listed)}"


def _reason(result: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the error and the cause of the run in one line; a cancelled run has the reason as its cause."""
    parts = [str(result[name]) for name in ("error", "cause") if result.get(name) is not None]
    return (": ".join(parts),) if parts else ()


def _steps(ending: Ending, again: str | None) -> list[tuple[str, str]]:
    run_id = clean(ending.result["workflow_id"])
    steps = [
        ("see it in a browser", f"dcf web --auth off, then http://127.0.0.1:8337/ui/runs/{run_id}"),
        ("outputs of states", f"dcf show {run_id} --json"),
        ("history", f"dcf runs events {run_id}"),
        ("run it again", again or "the same command, without --id"),
    ]
    return [*steps, *([] if ending.logs is None else [("logs", str(ending.logs))])]
