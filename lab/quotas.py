"""Keys that may have only a few live runs: they start short and long ones, and cancel some, while processes crash."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lab.case_rules import a_quota_counts_live_runs
from lab.extras import Calls, Errands

_LIMIT: Final = 2
_SHORT: Final = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
_LONG: Final = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 10_000_000, "End": True}}}
_STEPS: Final = (
    "short",
    "short",
    "short",
    "long",
    "long",
    "long",
    "cancel",
    "long",
    "cancel",
    "cancel",
    "short",
    "long",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a start was answered, and how many runs of the key were live just then, of how many that may be."""

    number: int
    code: str
    live: int
    limit: int = _LIMIT


class LiveRuns(Errands[tuple[Start, ...]]):
    """One key starts runs that end at once, and long ones, as many as it may; cancels one and starts another."""

    rules = (a_quota_counts_live_runs,)

    def errand(self, seed: int) -> tuple[Start, ...]:
        """Take the steps, each until its outcome is known."""
        live, starts = list[str](), list[Start]()
        with self.calls(live_runs=_LIMIT) as calls:
            for number, step in enumerate(_STEPS):
                run = f"lab-quota-{seed}-{number}"
                if step == "cancel":
                    calls.surely("cancel_run", workflow_id=live.pop(0), request_id=run)
                    continue
                code = _started(calls, run, _SHORT if step == "short" else _LONG)
                starts.append(Start(number=number, code=code, live=len(live)))
                live += [run] if step == "long" and code == "ok" else []
                if step == "long" and not live:
                    break  # the key may start nothing, and the next steps have nothing to cancel
        return tuple(starts)


def _started(calls: Calls, run: str, workflow: Mapping[str, Any]) -> str:
    return str(calls.surely("start_run", workflow_json=workflow, workflow_id=run, keep=False)["code"])
