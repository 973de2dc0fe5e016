"""The runs of the flows of the proof: where each is held half way, and what the simulation says of its end."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dcf import testing
from dcf.steps.vocabulary import Flow
from dcf.testing import Story
from tests.flow.compared_flows import APPROVED, CLAIMS, COMPARISONS, MOCKS

RECEIPT: Final = "R-7"
WATCH: Final = "\n\nfrom tests.system.flows.watched import watch\n\nwatch(globals())\n"


@dataclass(frozen=True, kw_only=True)
class FlowRun:
    """A run of a flow. While it is half way, the call of `held_task` whose arguments have `held_text` waits.

    A run without one waits for somebody outside. `answers` are what they answer, for the simulation.
    """

    run_id: str
    run_input: Mapping[str, Any]
    answers: Mapping[str, Any] = field(default_factory=dict)
    held_task: str | None = None
    held_text: str = ""

    @property
    def flow(self) -> Flow[..., Any]:
        return next(comparison.flow for comparison in COMPARISONS if comparison.file.stem == self.run_id)

    @property
    def file(self) -> Path:
        return next(comparison.file for comparison in COMPARISONS if comparison.file.stem == self.run_id)

    @property
    def spec(self) -> dict[str, Any]:
        """The arguments with which `program.py` starts it."""
        return {"module": self.run_id, "flow": self.flow.function.__name__, "input": self.run_input}

    def simulated(self) -> Story:
        return testing.run(self.flow, self.run_input, answers=self.answers)


def steps_of(story: Story) -> Counter[str]:
    """Count how often each Task of a run ends well."""
    return Counter(visit.path for visit in story.visits if visit.type == "Task" and visit.status == "succeeded")


_ORDER: Final = next(item.cases[0].run_input for item in COMPARISONS if item.file.stem == "order_flow")
_REQUEST: Final = next(item.cases[0].run_input for item in COMPARISONS if item.file.stem == "support")

RUNS: Final = [
    FlowRun(run_id="order_flow", run_input=_ORDER, held_task="order_flow.price"),
    FlowRun(run_id="support", run_input=_REQUEST, answers=MOCKS, held_task="agents.DiagnoseIssue"),
    FlowRun(run_id="refunds", run_input={"claims": CLAIMS}, answers=APPROVED),
    FlowRun(run_id="travel", run_input={"city": "Rome", "nights": 30}, held_task="travel.cancel"),
    FlowRun(
        run_id="checks", run_input={"hosts": ["a", "bad", "held", "dd"]}, held_task="checks.ping", held_text="held"
    ),
    FlowRun(
        run_id="polling",
        run_input={"name": "sums", "wait_s": 1},
        held_task="polling.look_at_job",
        held_text='"looks": 1',
    ),
    FlowRun(
        run_id="branches",
        run_input={"left": "ab", "right": "xyz"},
        held_task="branches.measure",
        held_text='"factor": 2, "place": "ab"',
    ),
    FlowRun(run_id="handover", run_input={"parcel": "P-1"}, answers={"hand_over": RECEIPT}),
]
"""An id is the name of the flow's file, of its module and of its agent."""
