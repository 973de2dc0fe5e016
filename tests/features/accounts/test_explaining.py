"""The words about a parked state in `why`, in refusals and in notes to planners. It is not stuck."""

import uuid
from typing import Any

import pytest

from dcf.core.documents.answers import Released
from dcf.core.leasing.lease import Release
from dcf.core.leasing.parking import Excuse
from dcf.core.leasing.stuck import is_stuck_state
from dcf.core.listing.runs import RunQuery
from dcf.features.accounts.admission_operations import AccountAdmissions
from dcf.features.accounts.model import LimitMet
from dcf.features.accounts.operations import Accounts
from dcf.features.accounts.overview_storage import Overviews
from dcf.features.accounts.storage import AccountStore
from dcf.features.diagnosis.model import RunFinding
from dcf.features.work.listing import WorkQuery
from dcf.runs.views.lists import RunList
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.store.lists.pages import Catalog
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from tests.support.ahead import let_pass, now
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import task
from tests.support.world import World

HOUR = 3600


@pytest.fixture
def world(timely: World) -> World:
    """dcf in a time that tests let pass."""
    timely.ask("SET", keys.SERVER_TIME, now(timely))
    return timely


@pytest.fixture
def accounts(world: World, connections: Connections) -> Accounts:
    store = AccountStore(connections, lambda: now(world))
    world.plane.admitting.admissions = AccountAdmissions(store)
    return Accounts(world.plane, store, Overviews(connections))


@pytest.fixture
def account(accounts: Accounts) -> str:
    """An account that bob has closed."""
    name = f"acc-{uuid.uuid4().hex[:10]}"
    accounts.limit(name, LimitMet(until=0, kind="limit", by="bob", why="five-hour limit"), HOUR)
    return name


def park(world: World, accounts: Accounts, account: str, *, seconds: int = HOUR, **options: Any) -> str:
    """Return a run whose first state waits for an account."""
    machine = options.pop("machine", chain("A", "B"))
    run = world.create(machine, agents={"A": "ann", "B": "ann"}, **options)
    excuse = Excuse(within_s=seconds, account=account, by="bob")
    request = Release(state="A", token=world.acquire(run, "A", "ann"), excuse=excuse)
    assert isinstance(accounts.release(run, request), Released)
    return run


def lasting(seconds: int) -> Any:
    """Return a workflow whose runs time out."""
    document = workflow({"A": task()})
    document["asl"]["TimeoutSeconds"] = seconds
    return document


def finding(world: World, run: str) -> RunFinding:
    (only,) = world.diagnosis.explain(run).findings
    return only


def test_why_names_the_account_the_time_the_reason_and_who_reported_it(
    world: World, accounts: Accounts, account: str
) -> None:
    run = park(world, accounts, account)
    sentence = finding(world, run).sentence
    assert f"Account {account} is closed until " in sentence
    assert sentence.endswith("(five-hour limit, reported by bob).")
    assert finding(world, run).evidence["reason"] == "five-hour limit"


def test_why_says_which_place_a_state_has_among_those_that_wait(world: World, accounts: Accounts, account: str) -> None:
    later = park(world, accounts, account, seconds=2 * HOUR)
    first = park(world, accounts, account)
    assert "It is number 2 of 2 states that wait for the account." in finding(world, later).sentence
    assert " 2 states wait for the account." in finding(world, first).sentence
    assert (finding(world, first).evidence["ahead"], finding(world, later).evidence["ahead"]) == (0, 1)


def test_why_warns_if_the_run_times_out_first_and_says_what_helps(
    world: World, accounts: Accounts, account: str
) -> None:
    short = finding(world, park(world, accounts, account, machine=lasting(HOUR // 2)))
    assert " The run times out first, at " in short.sentence
    assert (short.remedy.tool, short.remedy.arguments) == ("open_account", {"account": account})
    long = finding(world, park(world, accounts, account, machine=lasting(2 * HOUR)))
    assert "times out" not in long.sentence
    assert long.remedy.tool == "read_run_events"


def test_the_planner_is_told_once_of_a_limit_that_outlasts_the_run(
    world: World, accounts: Accounts, account: str
) -> None:
    planner = f"planner-{uuid.uuid4().hex[:8]}"
    run = park(world, accounts, account, machine=lasting(HOUR // 2), planner=planner)
    world.notifications.pulse()
    (note,) = world.messages(planner)
    assert (note["type"], note["workflow_id"], note["from"]) == ("note", run, "dcf")
    assert f"Account {account} is closed until " in note["text"]
    other = f"planner-{uuid.uuid4().hex[:8]}"
    park(world, accounts, account, planner=other)
    world.notifications.pulse()
    assert not world.messages(other)


def test_an_agent_that_is_refused_hears_of_the_account(world: World, accounts: Accounts, account: str) -> None:
    run = park(world, accounts, account)
    refused = world.try_acquire(run, "A", "ann")
    assert isinstance(refused, Refusal)
    assert f"Account {account} is closed until " in refused.message
    assert "reported by bob" in refused.message
    assert refused.retry_after_s == pytest.approx(HOUR, abs=60)


def test_a_parked_state_that_failed_before_is_not_stuck_until_it_is_not_taken(
    world: World, accounts: Accounts, account: str
) -> None:
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 9}]
    run = world.create(workflow({"A": {**task(), "Retry": retry}}), agents={"A": "ann"})
    for _ in range(2):
        world.fail(run, "A", world.acquire(run, "A", "ann"))
        let_pass(world, 600)
    runs = RunList(Catalog(world.connections))

    def is_stuck() -> bool:
        (row,) = [row for row in runs.list_runs(RunQuery(limit=100)).rows if row.workflow_id == run]
        return row.stuck

    assert is_stuck()
    excuse = Excuse(within_s=HOUR, account=account)
    accounts.release(run, Release(state="A", token=world.acquire(run, "A", "ann"), excuse=excuse))
    assert not is_stuck()
    assert not finding(world, run).stuck
    let_pass(world, HOUR + 60)
    for _ in range(3):
        world.make_due(run, "A")
        world.notifications.pulse()
    assert is_stuck_state(world.doc(run, "A"), is_started=True)


def test_lists_of_work_say_which_account_a_state_waits_for(world: World, accounts: Accounts, account: str) -> None:
    run = park(world, accounts, account)
    items = world.work.find_work(WorkQuery(limit=50, run=run)).items
    assert [(item.state, item.status.value) for item in items if item.state == "A"] == [("A", "blocked")]
    (why,) = [item.why for item in items if item.state == "A"]
    assert why is not None
    assert why.startswith(f"it waits for account {account} until ")


@rows(
    "kind, words",
    [
        ("guess", "is closed, nobody knows until when"),
        ("spent", "has no credit: a person must pay"),
        ("day", "has used up its budget of the day"),
        ("wait", "has no room for another turn"),
    ],
)
def test_why_says_what_keeps_an_account_from_another_turn(
    world: World, accounts: Accounts, account: str, kind: str, words: str
) -> None:
    run = world.create(chain("A"), agents={"A": "ann"})
    excuse = Excuse(until=now(world) + HOUR * SECOND, kind=kind, account=account, by="bob")
    accounts.release(run, Release(state="A", token=world.acquire(run, "A", "ann"), excuse=excuse))
    sentence = finding(world, run).sentence
    assert f"Account {account} {words}" in sentence
    assert ("reported by bob" in sentence) is (kind in {"guess", "spent"})
