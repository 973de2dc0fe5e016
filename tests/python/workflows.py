"""Workflows that tests of the client start."""

from typing import Any


def chain(*names: str) -> dict[str, Any]:
    """A workflow of Tasks, one after the other."""
    states = {
        name: {"Type": "Task", "Next": after} if after else {"Type": "Task", "End": True}
        for name, after in zip(names, (*names[1:], None), strict=True)
    }
    return {"workflow_name": "-".join(names), "asl": {"StartAt": names[0], "States": states}}


HELLO = chain("Greet")
FAILING = chain("Fail")
EMPTY: dict[str, Any] = {"asl": {"StartAt": "Done", "States": {"Done": {"Type": "Pass", "End": True}}}}
