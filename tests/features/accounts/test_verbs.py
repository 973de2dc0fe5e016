"""The verbs of accounts, as operators and hosts call them, and what keys of agents may not do."""

import secrets

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio


@pytest.fixture
def account() -> str:
    return f"acc-{secrets.token_hex(4)}"


async def test_an_operator_sets_reads_closes_and_opens_an_account(operator: Tools, account: str) -> None:
    made = await operator.ok("put_account", account=account, in_flight=2, tokens_per_day=500)
    money = {"cost": "12.5", "currency": "EUR"}
    await operator.ok("put_account", account=account, in_flight=3, cost_per_day_json=money)
    assert made["limits"] == {"in_flight": 2, "tokens_per_day": 500}
    shown = await operator.ok("read_account", account=account)
    assert shown["limits"] == {"in_flight": 3, "tokens_per_day": 500, "cost_per_day": money}
    assert (shown["status"], shown["closed"]) == ("open", None)
    closed = await operator.ok("report_limit", account=account, until="2h", reason="lunch")
    assert closed["closed_for_s"] == pytest.approx(7200, abs=1)
    shown = await operator.ok("read_account", account=account)
    assert (shown["status"], shown["closed"]["reason"], shown["closed"]["is_known"]) == ("closed", "lunch", True)
    assert account in [row["account"] for row in (await operator.ok("list_accounts"))["accounts"]]
    assert (await operator.ok("open_account", account=account))["was_closed"]
    assert (await operator.ok("read_account", account=account))["status"] == "opening"


async def test_a_limit_of_zero_is_none(operator: Tools, account: str) -> None:
    await operator.ok("put_account", account=account, in_flight=2, tokens_per_day=500)
    assert (await operator.ok("put_account", account=account, in_flight=0))["limits"] == {"tokens_per_day": 500}


async def test_a_host_reserves_reports_and_settles_a_turn(operator: Tools, account: str) -> None:
    turn = {"account": account, "reservation": "t1"}
    await operator.ok("put_account", account=account, in_flight=1)
    reserved = await operator.ok("reserve_turn", **turn, agent_id="ann", for_run="r", tokens=100)
    assert (reserved["granted"], reserved["ask_again_s"]) == (True, None)
    full = await operator.ok("reserve_turn", account=account, reservation="t2", agent_id="bob")
    assert (full["granted"], full["verdict"], full["ask_again_s"]) == (False, "in_flight", 0.5)
    assert (await operator.ok("report_turn", **turn, usage_json={"tokens_in": 60}))["outcome"] == "renewed"
    shown = await operator.ok("read_account", account=account)
    assert (shown["in_flight"], shown["reserved_tokens"]) == (1, 40)
    used = {"tokens_in": 60, "cost": "0.2", "currency": "EUR"}
    done = await operator.ok("report_turn", **turn, usage_json=used, ended=True, accepted=True)
    assert done["outcome"] == "settled"
    bills = [{"reservation": "t1", "usage": {"tokens_in": 50, "cost": "0.1", "currency": "EUR"}}]
    stated = await operator.ok("settle_account", account=account, bills_json=bills)
    assert (stated["lines"], stated["today"]["cost"], stated["today"]["tokens_in"]) == (1, {"EUR": "0.1"}, 50)
    await operator.refused(
        "invalid_argument", "report_turn", account=account, reservation="t3", usage_json={"cost": 1}, ended=True
    )


async def test_a_turn_reports_money_in_one_currency(operator: Tools, account: str) -> None:
    turn = {"account": account, "reservation": "t1"}
    await operator.ok("reserve_turn", **turn, agent_id="ann")
    await operator.ok("report_turn", **turn, usage_json={"cost": "1", "currency": "EUR"})
    await operator.refused("invalid_argument", "report_turn", **turn, usage_json={"cost": "1", "currency": "USD"})


async def test_register_agent_gives_an_agent_its_account(operator: Tools, account: str) -> None:
    agent = f"a-{secrets.token_hex(4)}"
    registered = await operator.ok("register_agent", agent_id=agent, account=account)
    assert registered["status"] == f"Agent '{agent}' has the account '{account}'."
    assert (await operator.ok("read_account", account=account))["agents"] == [agent]
    await operator.ok("assign_account", agent_id=agent)
    assert (await operator.ok("read_account", account=account))["agents"] == []


async def test_a_key_of_an_agent_closes_the_account_of_its_own_agent_only(alone: Application, account: str) -> None:
    me = f"a-{secrets.token_hex(4)}"
    caller = key_of(Scope.WORK, agent_id=me)
    limit = {"account": account, "agent_id": me, "until": "90s"}
    assert (await ask(alone, caller, "report_limit", **limit)).code == "forbidden"
    assert (await ask(alone, caller, "assign_account", agent_id=me, account=account)).code == "ok"
    assert (await ask(alone, caller, "report_limit", **limit)).code == "ok"
    assert (await ask(alone, caller, "assign_account", agent_id=me, account="other")).code == "forbidden"
    assert (await ask(alone, caller, "open_account", account=account)).code == "forbidden"
    assert (await ask(alone, caller, "put_account", account=account, in_flight=0)).code == "forbidden"


@rows(
    "tool, arguments",
    [
        ("report_limit", {"until": "soon"}),
        ("report_limit", {"until": "9d"}),
        ("put_account", {"in_flight": 1001}),
        ("put_account", {"cost_per_day_json": {"tokens_in": 5}}),
        ("settle_account", {"bills_json": []}),
    ],
)
async def test_what_is_no_limit_is_rejected_in_words(
    operator: Tools, account: str, tool: str, arguments: dict[str, object]
) -> None:
    await operator.ok("put_account", account=account)
    await operator.refused("invalid_argument", tool, account=account, **arguments)


async def test_an_account_that_is_not_there_is_not_found(operator: Tools, account: str) -> None:
    await operator.refused("not_found", "read_account", account=account)


async def test_the_refusal_of_a_lease_names_the_account_its_end_and_the_agent_that_reported_it(
    operator: Tools, account: str
) -> None:
    me, run = f"a-{secrets.token_hex(4)}", f"r-{secrets.token_hex(4)}"
    await operator.ok("assign_account", agent_id=me, account=account)
    machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}
    await operator.ok("start_run", workflow_id=run, workflow_json={"asl": machine}, agents_map_json={"A": me})
    closed = await operator.ok("report_limit", account=account, agent_id="bob", until="1h")
    for tool, arguments in (
        ("acquire_state_lease", {"state": "A", "owner_agent_id": me}),
        ("claim_ready_state", {"agent_id": me}),
    ):
        refused = await operator.refused("account_closed", tool, workflow_id=run, **arguments)
        assert f"Account {account} is closed until {closed['closed_until'][:19]}Z" in refused["error"]
        assert "reported by bob" in refused["error"]
        assert "No work is lost. Wait with" in refused["hint"]
        assert refused["retry_after_s"] == pytest.approx(3600, abs=60)
    waited = await operator.ok("await_workflow_event", agent_id=me, timeout_s=0)
    assert waited["status"] == "timeout", "the event brings no lease either"
    shown = await operator.ok("read_workflow_control_plane", workflow_id=run)
    assert (shown["states"]["A"]["status"], shown["states"]["A"]["attempts"]) == ("pending", 0)
