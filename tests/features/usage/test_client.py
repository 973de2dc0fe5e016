"""Reported usage of work, from Python."""

import uuid
from typing import Any

import pytest

from dcf.client import Client
from dcf.errors import InvalidArgument
from dcf.worker import TaskContext, TaskFailed
from tests.support.waiting import PATIENCE_S
from tests.support.workflows.machines import chain


def test_a_budget_is_set_and_usage_is_read(client: Client, run_id: str) -> None:
    client.start(chain("A", "B"), workflow_id=run_id, agents="ann")
    set_budget = client.set_budget(run_id, {"tokens": 100, "cost": "5", "currency": "EUR"}, request_id="once")
    assert (set_budget.budget, set_budget.used_up) == ({"tokens": 100, "cost": "5", "currency": "EUR"}, None)
    assert client.set_budget(run_id, {"tokens": 100, "cost": "5", "currency": "EUR"}, request_id="once").repeated
    assert client.read_usage(run_id).total.reports == 0
    assert client.read_usage(agent_id=f"a-{uuid.uuid4().hex[:8]}").days == {}
    with pytest.raises(InvalidArgument):
        client.set_budget(run_id, {"tokens": -1})
    both = client.set_budget(run_id, {"seconds": 60, "tokens": None})
    assert both.budget == {"cost": "5", "currency": "EUR", "seconds": 60}, "what is not named stays"
    assert client.set_budget(run_id, None).budget is None


def test_what_functions_say_they_used_is_summed_by_state_and_agent(served: Client, run_id: str) -> None:
    def ask(value: Any, context: TaskContext) -> str:
        context.report_usage(tokens_in=900, tokens_out=100, model="m")
        context.report_usage(cost=0.25, currency="EUR", model="m")
        return "no object, so the OutputSchema refuses it: what it cost is charged all the same"

    async def fail(value: Any, context: TaskContext) -> None:
        context.report_usage(tokens_in=10)
        raise TaskFailed("Rejected", "no")

    me, catch = f"a-{uuid.uuid4().hex[:8]}", [{"ErrorEquals": ["States.ALL"], "Next": "B"}]
    states = {
        "A": {"Type": "Task", "OutputSchema": {"type": "object"}, "Catch": catch, "End": True},
        "B": {"Type": "Task", "End": True},
    }
    served.start({"asl": {"StartAt": "A", "States": states}}, workflow_id=run_id, agents=me)
    with served.serve({"A": ask, "B": fail}, me):
        served.wait(run_id, timeout_s=PATIENCE_S)
    used = served.read_usage(run_id)
    assert (used.total.tokens_in, used.total.cost, used.total.reports) == (910, {"EUR": "0.25"}, 2)
    assert {name: sums.tokens_in for name, sums in used.states.items()} == {"A": 900, "B": 10}
    assert served.read_usage(agent_id=me).total.tokens_out == 100
