"""The flows of the proof, the definition that each is compared with, and what both are run with.

A definition calls the task functions of the flow: `calls` says which its states call, and how their inputs are the
arguments. The table has no results: both sides must agree with each other, and `test_proven_flows.py` has the ends.
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dcf import testing
from dcf.steps.vocabulary import IMPORTED_AS, Flow, Task
from dcf.worker import TaskFailed
from tests.flow.flows import branches, checks, handover, polling, refunds, support, travel
from tests.support.paths import ROOT

HERE: Final = Path(__file__).parent
FLOWS: Final = HERE / "flows"
DEFINITIONS: Final = HERE / "definitions"
WORKFLOWS: Final = ROOT / "workflows"


@dataclass(frozen=True, kw_only=True)
class Case:
    """An input, and what answers for Tasks: by their names in the flow, and in the definition."""

    run_input: Mapping[str, Any]
    answers: Mapping[str, Any] = field(default_factory=dict)
    answers_of_definition: Mapping[str, Any] | None = None

    @property
    def answers_there(self) -> Mapping[str, Any]:
        return self.answers if self.answers_of_definition is None else self.answers_of_definition


@dataclass(frozen=True, kw_only=True)
class Call:
    """A state of a definition calls a task; `arguments` makes its arguments from the input of the state."""

    task: Task[..., Any]
    arguments: Callable[[Any], Mapping[str, Any]] = lambda state_input: state_input


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A flow, its file, its definition. `shaping`: functions of states that shape data only."""

    flow: Flow[..., Any]
    file: Path
    definition: Path
    cases: tuple[Case, ...]
    calls: Mapping[str, Call] = field(default_factory=dict)
    shaping: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


def _order_flow() -> Any:
    """Import the flow as `dcf run` does, with the other files of its directory."""
    name = f"{IMPORTED_AS}order_flow"
    if name not in sys.modules:
        if str(WORKFLOWS) not in sys.path:
            sys.path.append(str(WORKFLOWS))
        spec = importlib.util.spec_from_file_location(name, WORKFLOWS / "order_flow.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


ORDER: Final = _order_flow()
ORDERS: Final = WORKFLOWS / "order_processing"
MOCKS: Final = {name: mock["output"] for name, mock in _read(WORKFLOWS / "customer_support" / "mocks.json").items()}
"""The answers of the agents of customer support."""
APPROVED: Final = {"Approve": {"choice": "approve", "answered_by": "alice"}}
CLAIMS: Final = [{"customer": "Ada", "amount": 20}, {"customer": "Bob", "amount": 7}]


def _report(state_input: Any) -> str:
    names = ", ".join(claim["customer"] for claim in state_input["claims"])
    return f"{state_input['approval']['answered_by']} approved {state_input['payment']['booked']} for {names}"


COMPARISONS: Final = [
    Comparison(
        flow=ORDER.order_pipeline,
        file=WORKFLOWS / "order_flow.py",
        definition=WORKFLOWS / "order_processing.json",
        cases=tuple(Case(run_input=_read(path)) for path in (ORDERS / "order.json", *sorted(ORDERS.glob("orders/*")))),
        calls={
            "ValidateOrder": Call(task=ORDER.validate),
            "CalculatePricing": Call(task=ORDER.price),
            "GenerateInvoice": Call(task=ORDER.invoice),
        },
    ),
    Comparison(
        flow=support.support,
        file=FLOWS / "support.py",
        definition=WORKFLOWS / "customer_support.json",
        cases=(
            Case(run_input=_read(WORKFLOWS / "customer_support" / "request.json"), answers=MOCKS),
            Case(
                run_input={"account_id": "7", "message": "?"},
                answers=MOCKS | {"DiagnoseIssue": TaskFailed("Unclear", "no sense")},
            ),
        ),
    ),
    Comparison(
        flow=refunds.refunds,
        file=FLOWS / "refunds.py",
        definition=DEFINITIONS / "refunds.json",
        cases=(
            Case(run_input={"claims": CLAIMS}, answers=APPROVED),
            Case(run_input={"claims": CLAIMS}, answers={"Approve": {"choice": "reject", "comment": "no"}}),
            Case(run_input={"claims": [*CLAIMS, {"customer": "Eve", "amount": 2000}]}, answers=APPROVED),
        ),
        calls={
            "Check": Call(task=refunds.check, arguments=lambda claim: {"claim": claim}),
            "Pay": Call(
                task=refunds.pay, arguments=lambda value: {"total": sum(claim["amount"] for claim in value["claims"])}
            ),
        },
        shaping={"Collect": lambda value: value["claims"], "Report": _report},
    ),
    Comparison(
        flow=travel.trip,
        file=FLOWS / "travel.py",
        definition=DEFINITIONS / "saga.json",
        cases=(Case(run_input={"city": "Rome", "nights": 3}), Case(run_input={"city": "Rome", "nights": 30})),
        calls={
            **dict.fromkeys(("BookFlight", "BookHotel", "BookCar"), Call(task=travel.book)),
            **dict.fromkeys(("CancelFlight", "CancelHotel"), Call(task=travel.cancel)),
        },
    ),
    Comparison(
        flow=checks.checks,
        file=FLOWS / "checks.py",
        definition=DEFINITIONS / "tolerated_failures.json",
        cases=tuple(
            Case(run_input={"hosts": hosts})
            for hosts in (["a", "bad", "ccc"], ["bad", "a", "bad2"], ["bad1", "bad2", "bad3"], [])
        ),
        calls={"Ping": Call(task=checks.ping)},
    ),
    Comparison(
        flow=polling.poll_job,
        file=FLOWS / "polling.py",
        definition=DEFINITIONS / "polling.json",
        cases=(Case(run_input={"name": "sums", "wait_s": 60}), Case(run_input={"name": "bad sums", "wait_s": 60})),
        calls={
            "SubmitJob": Call(task=polling.submit_job),
            "LookAtJob": Call(task=polling.look_at_job),
            "FetchResult": Call(task=polling.fetch_result),
        },
    ),
    Comparison(
        flow=branches.branches,
        file=FLOWS / "branches.py",
        definition=DEFINITIONS / "nested_parallel.json",
        cases=(Case(run_input={"left": "ab", "right": "xyz"}),),
        calls=dict.fromkeys(
            ("LeftWidth", "LeftHeight", "RightWidth", "RightHeight", "Both"), Call(task=branches.measure)
        ),
    ),
    Comparison(
        flow=handover.handover,
        file=FLOWS / "handover.py",
        definition=DEFINITIONS / "callback.json",
        cases=tuple(
            Case(run_input={"parcel": "P-1"}, answers={"hand_over": answer}, answers_of_definition={"HandOver": answer})
            for answer in ("R-7", testing.After(3000, "R-8"), testing.After(3700, "too late"), testing.NEVER)
        ),
        calls={
            "HandOver": Call(task=handover.hand_over),
            **dict.fromkeys(("NotifySuccess", "NotifyFailure"), Call(task=handover.notify)),
        },
    ),
]
