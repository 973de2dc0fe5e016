"""Workflow documents for tests."""

from itertools import pairwise
from typing import Any

Document = dict[str, Any]


def workflow(states: Document, start_at: str | None = None) -> Document:
    return {"workflow_name": "test", "asl": {"StartAt": start_at or next(iter(states)), "States": states}}


def chain(*names: str) -> Document:
    """Tasks one after the other; each hands its output on."""
    states: Document = {name: {"Type": "Task", "Next": after} for name, after in pairwise(names)}
    return workflow(states | {names[-1]: {"Type": "Task", "End": True}})


def numbered_chain(length: int) -> Document:
    return chain(*(f"S{number}" for number in range(length)))


def fan(width: int) -> Document:
    """`Ask`, then a Choice between `width` branches by `$.way`, which all lead to `Join`."""
    branches = [f"Way{number}" for number in range(width)]
    rules = [{"Variable": "$.way", "StringEquals": name, "Next": name} for name in branches]
    states: Document = {
        "Ask": {"Type": "Task", "Next": "Pick"},
        "Pick": {"Type": "Choice", "Choices": rules, "Default": "Lost"},
        **{name: {"Type": "Task", "Next": "Join"} for name in branches},
        "Join": {"Type": "Task", "End": True},
        "Lost": {"Type": "Fail", "Error": "NoWay", "Cause": "nothing matched"},
    }
    return workflow(states)


def loop() -> Document:
    """`Work`, then `Check`; a Choice goes back to `Work` unless `Check` says `{"done": true}`."""
    again = {"Variable": "$.done", "BooleanEquals": True, "Next": "Finish"}
    states: Document = {
        "Work": {"Type": "Task", "Next": "Check"},
        "Check": {"Type": "Task", "Next": "Enough"},
        "Enough": {"Type": "Choice", "Choices": [again], "Default": "Work"},
        "Finish": {"Type": "Task", "End": True},
    }
    return workflow(states)
