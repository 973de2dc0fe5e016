"""The page of agents: who holds what and until when, and what only operators see of them."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from dcf.application.application import Application, open_application
from dcf.core.access.model import Caller, Scope
from dcf.core.completing.updates import Update
from dcf.core.documents.model import StateDoc, Status
from dcf.core.leasing.lease import Acquire
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.events.activity import ActivityRecords
from dcf.store.lists.agents import AgentRecord
from dcf.values.json_text import dump
from dcf.values.refusal import Refusal
from dcf.web.pages.agents import agents_page
from dcf.web.visit import ToolRefused, Visit
from tests.support.redis.documents import asking, set_member
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.web.browsing import HOSTILE, text_of

TASKS = {name: {"Type": "Task", "End": True} for name in ("A", "B")}
BOTH = [{"StartAt": name, "States": {name: task}} for name, task in TASKS.items()]


@pytest.fixture(scope="module")
def redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A server of this file's own: the page shows the newest of all runs."""
    with restricted_redis(short_directory / "agents") as result:
        yield result


@pytest.fixture(scope="module")
def here(redis: RestrictedRedis) -> Iterator[Application]:
    with open_application(Settings.model_validate({"redis_url": redis.url, "auth": "off"})) as opened:
        yield opened


@pytest.fixture
def onlooker(redis: RestrictedRedis) -> Iterator[Connections]:
    connections = Connections(open_pool(redis.admin_url))
    yield connections
    connections.close()


def visit_of(application: Application, *scopes: Scope, project: str | None = None) -> Visit:
    caller = Caller(name="key:0123456789ab", scopes=frozenset(scopes or Scope), project=project)
    return Visit(application=application, caller=caller, may_act=True)


def held(application: Application, agent: str, state: str = "A", **more: Any) -> str:
    """A run of whose state the agent has a lease."""
    document = {"asl": {"StartAt": state, "States": {state: {"Type": "Task", "End": True}}}}
    visit, run = visit_of(application), f"r-{secrets.token_hex(5)}"
    visit.ask("start_run", workflow_json=document, workflow_id=run, **more)
    answer = visit.ask("acquire_state_lease", workflow_id=run, state=state, owner_agent_id=agent, lease_ttl_s=7200)
    assert answer["code"] == "ok", answer
    return run


def expire(application: Application, onlooker: Connections, run: str, state: str = "A") -> None:
    """As if the lease had ended an hour ago."""
    key = application.control_plane.transactions.store.keys(run).state(state)
    set_member(asking(onlooker), key, ("lease", "expires_at"), "2026-01-01T00:00:00.000000Z")
    assert isinstance(application.runs.read(run, (state,)).states[state].doc, StateDoc)


def test_without_runs_the_page_says_what_makes_one_and_what_makes_an_agent(short_directory: Path) -> None:
    with (
        restricted_redis(short_directory / "no-agents") as redis,
        open_application(Settings.model_validate({"redis_url": redis.url, "auth": "off"})) as empty,
    ):
        text = text_of(agents_page(visit_of(empty), {}))
    assert "dcf run workflows/order_processing.json" in text
    assert "dcf worker FUNCTIONS.py --agent-id NAME" in text


def test_a_lease_is_shown_with_its_holder_its_state_and_the_time_that_is_left(here: Application) -> None:
    run = held(here, "worker-7")
    page = agents_page(visit_of(here), {})
    row = page[: page.index(f'href="/ui/runs/{run}"')].rpartition("<tr>")[2]
    assert "worker-7" in row
    assert re.search(r"1 h 59 min|2 h", row)
    assert f'href="/ui/runs/{run}?state=A"' in row


def test_what_is_over_comes_first_and_asks_why_nobody_took_over(here: Application, onlooker: Connections) -> None:
    over, live = held(here, "gone-1"), held(here, "worker-8")
    expire(here, onlooker, over)
    page = agents_page(visit_of(here), {})
    assert page.index(f'href="/ui/runs/{over}"') < page.index(f'href="/ui/runs/{live}"')
    assert f'href="/ui/why?run={over}&amp;state=A"' in page
    assert "1 lease has expired" in text_of(page)


def test_the_lease_of_what_is_judged_is_never_over(here: Application, onlooker: Connections) -> None:
    gate = {"name": "review", "kind": "review", "criteria": ["It is short."]}
    document = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Gates": [gate], "End": True}}}}
    visit, run = visit_of(here), f"r-{secrets.token_hex(5)}"
    visit.ask("start_run", workflow_json=document, workflow_id=run)
    wish = Acquire(state="A", owner="ann", token=f"token-{secrets.token_hex(8)}", ttl_s=60)
    here.control_plane.acquire(run, wish)
    done = Update(state="A", token=wish.token, owner="ann", status=Status.SUCCEEDED, output={})
    answer = here.control_plane.update(run, done)
    assert isinstance(answer, Refusal)
    assert answer.code == "review_running"
    expire(here, onlooker, run)
    page = agents_page(visit, {})
    row = page[: page.index(f'href="/ui/runs/{run}"')].rpartition("<tr>")[2]
    assert "while its output is judged" in row
    assert "over" not in text_of(row)


def test_leases_of_older_runs_are_a_page_further(here: Application) -> None:
    runs = [held(here, "worker-9") for _ in range(26)]
    page = agents_page(visit_of(here), {})
    link = re.search(r'<a href="/ui/agents\?cursor=([^"]+)" rel="next">', page)
    assert link is not None
    further = agents_page(visit_of(here), {"cursor": unquote(link[1])})
    assert all(run in page + further for run in runs)
    assert not all(run in page for run in runs)


def test_operators_see_who_is_registered_and_who_was_seen_in_pages(here: Application, onlooker: Connections) -> None:
    seen = [f"seen-{number:02}-{secrets.token_hex(2)}" for number in range(49)]
    ActivityRecords(onlooker).saw(seen)
    registered = visit_of(here).ask("register_agent", agent_id="hook-1", url="https://agents.example/x?key=hidden")
    page = agents_page(visit_of(here), {})
    assert any(agent in page for agent in seen)
    assert re.search(r"<td>[0-9]+ s ago", page)
    further = agents_page(visit_of(here), {"from": "50"})
    assert all(agent in page + further for agent in seen)
    assert "webhook" in further
    assert "agents.example" in page + further
    for hidden in ("key=hidden", registered["secret"]):
        assert hidden not in page + further


def test_who_is_no_operator_sees_only_holders_and_is_told_so(here: Application, onlooker: Connections) -> None:
    held(here, "worker-7")
    ActivityRecords(onlooker).saw(["seen-only"])
    page = agents_page(visit_of(here, Scope.READ), {})
    assert "worker-7" in page
    assert "seen-only" not in page
    assert "scope operate" in text_of(page)


def test_what_states_put_out_is_not_read_for_their_leases(here: Application, onlooker: Connections) -> None:
    """Outputs may have megabytes, and the page looks at many runs."""
    visit, run = visit_of(here), f"r-{secrets.token_hex(5)}"
    states = {"First": {"Type": "Task", "Next": "Second"}, "Second": {"Type": "Task", "End": True}}
    visit.ask("start_run", workflow_json={"asl": {"StartAt": "First", "States": states}}, workflow_id=run)
    held_by = {"workflow_id": run, "owner_agent_id": "writer"}
    token = secrets.token_urlsafe(24)
    visit.ask("acquire_state_lease", state="First", lease_token=token, **held_by)
    output = dump("x" * 200_000)
    visit.ask(
        "update_workflow_control_plane", workflow_id=run, state="First", lease_token=token,
        new_status="succeeded", output_json=output,
    )  # fmt: skip
    visit.ask("acquire_state_lease", state="Second", **held_by)
    before = sent_by(onlooker)
    page = agents_page(visit, {})
    assert "state=Second" in page
    assert sent_by(onlooker) - before < len(output)


def sent_by(onlooker: Connections) -> int:
    """The bytes that Redis has sent."""
    (stats,) = onlooker.send(("INFO", "stats"))
    match = re.search(rb"total_net_output_bytes:(\d+)", stats)
    assert match is not None
    return int(match[1])


def test_a_key_bound_to_a_project_sees_only_the_leases_of_its_runs(here: Application) -> None:
    own, other = held(here, "mine-1", project="mine"), held(here, "theirs-1", project="theirs")
    page = agents_page(visit_of(here, project="mine"), {})
    assert own in page
    for hidden in (other, "theirs-1", "skills loaded"):
        assert hidden not in page


def test_hostile_text_is_shown_and_never_obeyed(here: Application) -> None:
    state = HOSTILE.replace("\u202e", "").replace("\x1b", "")[:70]
    held(here, "worker-7", state)
    page = agents_page(visit_of(here), {})
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>" not in page
    assert "<img src=x" not in page


def test_a_key_without_the_scope_read_is_refused(here: Application) -> None:
    with pytest.raises(ToolRefused, match="scope 'read'"):
        agents_page(visit_of(here, Scope.WORK), {})


def test_operators_see_the_skills_that_were_loaded_into_an_agent(here: Application) -> None:
    agent = f"skilled-{secrets.token_hex(3)}"
    here.records.create(AgentRecord(agent_id=agent, name=agent))
    held(here, agent)
    visit = visit_of(here)
    assert visit.ask("load_skill", skill_json="skill://calculate.pricing@0.1.0", agent_id=agent)["code"] == "ok"
    page = agents_page(visit, {})
    row = page[page.rindex(f'<th scope="row">{agent}') :].partition("</tr>")[0]
    assert "calculate.pricing@0.1.0" in row
