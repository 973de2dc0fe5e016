"""Whole flows: they are valid, a test runs them in virtual time, and Step Functions gets a machine as well."""

from typing import Any

import pytest

from dcf import NotRunning, testing
from dcf.core.definitions.forms import as_workflow, asl_of
from dcf.flow.compiling import compile_flow
from dcf.steps.vocabulary import Flow
from dcf.workflows.step_functions import for_step_functions
from dcf.workflows.validation import validate
from tests.flow.compared_flows import MOCKS, ORDER
from tests.flow.flows.branches import branches
from tests.flow.flows.checks import checks
from tests.flow.flows.handover import handover
from tests.flow.flows.polling import poll_job
from tests.flow.flows.refunds import refunds
from tests.flow.flows.release import release
from tests.flow.flows.support import support
from tests.flow.flows.travel import trip
from tests.support.tables import rows

CLAIMS = [{"customer": "Ada", "amount": 20}, {"customer": "Bob", "amount": 7}]
FLIGHT, HOTEL, CAR = ({"kind": kind, "code": f"{kind[0]}-Rome"} for kind in ("flight", "hotel", "car"))
LATE = {"deploy": testing.NEVER}

STORIES: list[tuple[Flow[..., Any], dict[str, Any], dict[str, Any], Any]] = [
    (trip, {"city": "Rome", "nights": 3}, {}, [FLIGHT, HOTEL, CAR]),
    (trip, {"city": "Rome", "nights": 30}, {}, "TripFailed: no room for 30 nights; 1 bookings were cancelled"),
    (checks, {"hosts": ["a", "bad", "ccc"]}, {}, "2 of 3 answer, 4 ms"),
    (checks, {"hosts": ["bad1", "bad2", "bad3"]}, {}, "down"),
    (release, {"repo": "dcf"}, {"deploy": "https://dcf.example"}, "https://dcf.example"),
    (release, {"repo": "dcf"}, LATE, "late"),
    (branches, {"left": "ab", "right": "xyz"}, {}, {"left": 8, "right": 18, "both": 5}),
    (support, {"account_id": "7", "message": "my invoice"}, MOCKS, MOCKS["ComposeResponse"]),
    (poll_job, {"name": "sums", "wait_s": 9}, {}, "the result of job-sums"),
    (poll_job, {"name": "bad", "wait_s": 9}, {}, "JobFailed: job-bad failed"),
    (handover, {"parcel": "P"}, {"hand_over": "R"}, "told: P has the receipt R"),
    (handover, {"parcel": "P"}, {"hand_over": testing.NEVER}, "told: nothing was heard of P"),
    (
        refunds,
        {"claims": CLAIMS},
        {"Approve": {"choice": "approve", "answered_by": "alice"}},
        "alice approved 27 for Ada, Bob",
    ),
    (refunds, {"claims": CLAIMS}, {"Approve": {"choice": "reject", "comment": "no"}}, "DCF.Rejected: no"),
    (refunds, {"claims": [{"customer": "Eve", "amount": 2000}]}, {}, "TooMuch: Eve claims 2000"),
]


@rows(("flow", "run_input", "answers", "end"), STORIES)
def test_a_flow_runs_to_its_end(
    flow: Flow[..., Any], run_input: dict[str, Any], answers: dict[str, Any], end: Any
) -> None:
    story = testing.run(flow, run_input, answers=answers)
    assert (story.output if story.status == "succeeded" else f"{story.error}: {story.cause}") == end


FLOWS = [trip, release, branches, support, refunds, poll_job, handover, ORDER.order_pipeline, checks]


@rows("flow", FLOWS)
def test_a_flow_is_a_valid_workflow(flow: Flow[..., Any]) -> None:
    assert validate(asl_of(as_workflow(compile_flow(flow).document)))["problems"] == []


@rows("flow", FLOWS)
def test_a_flow_becomes_a_machine_for_step_functions(flow: Flow[..., Any]) -> None:
    machine = for_step_functions(compile_flow(flow).document)
    assert "dcf:" not in str(machine)
    assert validate(machine)["problems"] == []


def test_a_flow_that_is_called_says_how_it_is_run() -> None:
    with pytest.raises(NotRunning, match=r"client\.start\(flow, \.\.\.\)"):
        trip("Rome", 3)
