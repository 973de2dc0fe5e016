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


def test_the_usage_of_a_child_run_is_in_that_of_its_parent(served: Client, run_id: str) -> None:
    def ask(value: Any, context: TaskContext) -> str:
        context.report_usage(tokens_in=10, tokens_cached=70, tokens_cache_written=5, model="m-1")
        context.report_usage(models={"m-2": {"tokens_in": 1}})
        return "done"

    me, inner = f"a-{uuid.uuid4().hex[:8]}", f"inner-{uuid.uuid4().hex[:8]}"
    earlier = served.start({**chain("Do"), "workflow_name": inner})
    served.cancel(earlier.workflow_id)
    start = {"StateMachineArn": inner, "Input": {}, "Agents": {"Do": me}}
    resource = "arn:aws:states:::states:startExecution.sync:2"
    states = {"Inner": {"Type": "Task", "Resource": resource, "Parameters": start, "End": True}}
    served.start({"asl": {"StartAt": "Inner", "States": states}}, workflow_id=run_id)
    served.set_budget(run_id, {"tokens": 1000, "tree": True})
    with served.serve({"Do": ask}, me):
        served.wait(run_id, timeout_s=PATIENCE_S)
    used = served.read_usage(run_id, tree=True)
    (child,) = used.children
    assert used.tree is not None
    assert used.budget == {"tokens": 1000, "tree": True}
    assert (used.total.tokens_in, used.tree.tokens_in, used.tree.tokens_cached) == (0, 11, 70)
    assert used.children[child] == used.tree == served.read_usage(child).total
    models = served.read_usage(child).models or {}
    assert {name: (sums.tokens_in, sums.reports) for name, sums in models.items()} == {"m-1": (10, 1), "m-2": (1, 1)}
    assert served.read_usage(child).tree is None


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
