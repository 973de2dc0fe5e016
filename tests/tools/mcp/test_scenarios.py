"""Every tool is called in a scenario in which it does what it is for, so that its schema is held against a full answer.

The tools that the session of the credentials calls (`tests.tools.security.vault`) are called there.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import pytest

from dcf.verbs.registry import TOOLS
from tests.tools.calls import ONE_TASK, TWO_TASKS, Answer, Json, Tools, lease_on, new_run
from tests.tools.security.vault import session

pytestmark = pytest.mark.anyio

_REVIEW: Final = {"name": "review", "kind": "review", "criteria": ["It is short."], "reviewers": ["rita"]}


@dataclass(frozen=True, kw_only=True)
class _Scenario:
    """Calls of tools about one run, each of which must do what it is for; `called` are the tools."""

    tools: Tools
    run: str
    called: set[str] = field(default_factory=set)

    async def __call__(self, tool: str, /, **arguments: Json) -> Answer:
        self.called.add(tool)
        return await self.tools.ok(tool, **arguments)

    async def here(self, tool: str, /, **arguments: Json) -> Answer:
        """Call a tool about the run."""
        return await self(tool, workflow_id=self.run, **arguments)

    async def one_task(self, task: Json, **more: Json) -> None:
        workflow = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True, **task}}}}
        await new_run(self.tools, self.run, workflow, **more)
        await self.tools.ok("notify_next_worker_agent", workflow_id=self.run)


async def _talk(ask: _Scenario) -> None:
    await ask.one_task({})
    holding = {"state": "A", "lease_token": await lease_on(ask.tools, ask.run)}
    await ask.here("log_event", **holding, number=1, message="half done")
    await ask.here("leave_note", state="A", text="Mind the currency.", agent_id="worker-1")
    here = await ask.here("ask_question", **holding, question="Which currency?", ask="planner")
    await ask.here("answer_question", question_id=here["question_id"], answer="EUR", agent_id="planner-1")
    await ask.here("set_budget", budget_json={"tokens": 1000})
    await ask.here("read_usage")
    await ask.here("get_context", agent_id="worker-1")
    await ask.here("hold_run", hold=True, reason="a holiday")
    await ask("list_runs", status="running")


async def _correct(ask: _Scenario) -> None:
    await new_run(ask.tools, ask.run, TWO_TASKS)
    await ask.tools.ok("notify_next_worker_agent", workflow_id=ask.run)
    await ask("find_work", agent_id="worker-1", workflow_id=ask.run)
    token = await lease_on(ask.tools, ask.run)
    await ask.here("complete_states", results=[{"state": "A", "lease_token": token, "output_json": {"total": 1}}])
    await ask.here("correct_result", state="A", lease_token=token, output_json={"total": 2}, reason="a typo")


async def _grow(ask: _Scenario) -> None:
    await ask.here("open_run", name="release")
    units = [{"name": "Phase", "kind": "group"}, {"name": "One", "group": "Phase", "agents": ["ann"]}]
    await ask.here("add_units", units=units)
    for status in ("failed", "succeeded"):
        work = (await ask.tools.ok("find_work", agent_id="ann", workflow_id=ask.run, claim=True))["work"]
        holding = {"state": "One", "lease_token": work["lease_token"], "new_status": status}
        await ask.tools.call("update_workflow_control_plane", workflow_id=ask.run, **holding)
        if status == "failed":
            await ask.here("retry_unit", unit="One", reason="the network is back")
    await ask.here("rewind_unit", unit="One", reason="wrong input")
    await ask.here("seal_group", group="Phase")
    issue = await ask.here("add_journal_entry", kind="issue", text="Which tax?", blocks=True, agent_id="ann")
    await ask.here("resolve_issue", issue=issue["entry"], how="20 %.", agent_id="ann")
    await ask.here("promote_issue", issue=issue["entry"], title="Tax", severity="low", category="pricing")
    await ask.here("read_journal")
    await ask.here("close_run", status="failed", summary="Given up.", force=True)
    await ask.here("delete_run")


async def _judge(ask: _Scenario) -> None:
    passed = {"verdict": "pass", "criteria": [{"criterion": "It is short.", "passed": True}], "agent_id": "rita"}
    for tool, judged in (("decide_gate", passed), ("override_gate", {"reason": "by phone", "agent_id": "olga"})):
        other = _Scenario(tools=ask.tools, run=f"{ask.run}-{tool[:3]}", called=ask.called)
        await other.one_task({"Gates": [_REVIEW]})
        done = {"state": "A", "lease_token": await lease_on(ask.tools, other.run), "new_status": "succeeded"}
        await ask.tools.call("update_workflow_control_plane", workflow_id=other.run, **done, output_json={"text": 1})
        (opened,) = (await other.here("list_gates"))["gates"]
        seen = {"content_sha256": opened["content_sha256"]} if tool == "decide_gate" else {}
        await other.here(tool, state="A", gate="review", **judged, **seen)


async def _ask_people(ask: _Scenario) -> None:
    question = {"to": ["rita"], "title": "Approve the order"}
    await ask.one_task({"Resource": "dcf:human", "Parameters": question}, agents_map_json={})
    (task,) = (await ask.here("list_human_tasks"))["tasks"]
    await ask.here("answer_human_task", state=task["state"], choice="approve", agent_id="rita")


async def _call_back(ask: _Scenario) -> None:
    for number, tool in enumerate(("send_task_success", "send_task_failure")):
        other = _Scenario(tools=ask.tools, run=f"{ask.run}-{number}", called=ask.called)
        await other.one_task(
            {"Resource": "dcf:callback.waitForTaskToken", "Parameters": {"token.$": "$$.Task.Token"}},
            agents_map_json={},
        )
        read = await ask.tools.ok("read_workflow_control_plane", workflow_id=other.run, states_json=["A"])
        called_back = {"task_token": read["inputs"]["A"]["token"]}
        await ask("send_task_heartbeat", **called_back)
        await ask(tool, **called_back)


async def _signal(ask: _Scenario) -> None:
    await ask.one_task({"Resource": "dcf:signal", "Parameters": {"name": "paid"}}, agents_map_json={})
    await ask.here("send_signal", name="paid", payload_json={"n": 1})


async def _keep(ask: _Scenario) -> None:
    await new_run(ask.tools, ask.run)
    here = await ask.here("put_artifact", name="prices.md", content="# Prices")
    await ask.here("get_artifact", artifact_id=here["artifact"]["artifact_id"])
    await ask.here("list_artifacts")
    finding = await ask("add_finding", title="Prices", text="They are net.", severity="low", category="pricing")
    known = {"finding_id": finding["finding"]["finding_id"]}
    await ask("update_finding", **known, text="They are gross.")
    await ask("get_finding", **known)
    await ask("search_findings", text="gross")
    await ask("search", query="gross")
    await ask("delete_finding", **known)
    rule = {"kind": "rule", "name": ask.run}
    await ask("put_definition", **rule, content={"text": "Be short."})
    await ask("get_definition", **rule)
    await ask("search_definitions", kind="rule")
    await ask("delete_definition", **rule)


async def _own(ask: _Scenario) -> None:
    shop = {"project": ask.run}
    await ask("put_project", **shop, name="Shop", paths_json=["/srv/shop"])
    await ask("get_project", **shop)
    await ask("list_projects")
    await ask("delete_project", **shop)
    every_day = {"name": ask.run, "workflow_json": ONE_TASK, "cron": "0 7 * * 1-5"}
    await ask("create_schedule", **every_day)
    await ask("operate_schedule", name=ask.run, action="pause")
    await ask("list_schedules")
    await ask("delete_schedule", name=ask.run)
    await ask("register_agent", agent_id="far-1", url="https://agents.example/far-1")
    await ask("list_registered_agents")
    await ask("read_health")
    await ask("describe_workflow_language")


async def _share(ask: _Scenario) -> None:
    """Agents share an account, whose turns are reserved, billed, stopped and let go on."""
    account, turn = {"account": ask.run}, {"account": ask.run, "reservation": "t1"}
    await ask("put_account", **account, in_flight=20)
    await ask("put_prices", prices_json={"m-*": {"input": "3", "output": "15", "currency": "USD"}})
    await ask("assign_account", agent_id="coder-3", **account)
    await ask("reserve_turn", **turn, agent_id="coder-3", for_run=ask.run, tokens=100)
    await ask("report_turn", **turn, usage_json={"tokens_in": 60, "model": "m-1"}, ended=True, accepted=True)
    await ask("settle_account", **account, bills_json=[{"reservation": "t1", "usage": {"tokens_in": 50}}])
    await ask("report_limit", **account, agent_id="coder-3", until="90s")
    await ask("reserve_turn", account=ask.run, reservation="t2", agent_id="coder-3")
    await ask("read_account", **account)
    await ask("list_accounts")
    await ask("open_account", **account)
    await ask("assign_account", agent_id="coder-3")


_SCENARIOS: Final[dict[str, Callable[[_Scenario], Awaitable[None]]]] = {
    scenario.__name__.strip("_"): scenario
    for scenario in (_talk, _correct, _grow, _judge, _ask_people, _call_back, _signal, _keep, _own, _share)
}


async def test_every_tool_answers_in_a_scenario_as_its_schema_says(operator: Tools, run_id: str) -> None:
    """Each call is checked by `Tools`, as all calls are."""
    called = {name for name, _ in session("", {})}
    for name, scenario in _SCENARIOS.items():
        await scenario(_Scenario(tools=operator, run=f"{run_id}-{name[:4]}", called=called))
    assert called == set(TOOLS)
