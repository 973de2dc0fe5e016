"""Actions of the page over ASGI: confirmed with a reason, applied once, told as they went, written to the history."""

import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Leased
from dcf.core.leasing.lease import Acquire
from dcf.core.lifecycle.creation import Create
from dcf.core.listing.events import EventQuery
from dcf.verbs.registry import TOOLS
from dcf.web.action_table import ACTIONS
from dcf.web.site import build_site
from dcf.web.templating import html
from dcf.web.visit import Visit
from tests.support.tables import rows
from tests.tools.calls import TWO_TASKS
from tests.web.visitors import Visitor, form, forms

pytestmark = pytest.mark.anyio

OPERATOR = (Scope.READ, Scope.WORK, Scope.PLAN, Scope.OPERATE)


def create(application: Application, workflow: Any = TWO_TASKS, **more: Any) -> str:
    wish = Create(
        workflow_id=f"r-{secrets.token_hex(5)}", definition=read_definition(workflow), run_input={},
        agents={}, planner_agent_id=None, retention_s=None, max_attempts=10, **more,
    )  # fmt: skip
    application.control_plane.create(wish)
    return wish.workflow_id


def lease(application: Application, run: str, state: str = "A", owner: str = "worker-7") -> str:
    wish = Acquire(state=state, owner=owner, token=f"token-{secrets.token_hex(8)}", ttl_s=600)
    assert isinstance(application.control_plane.acquire(run, wish), Leased)
    return wish.token


def events(application: Application, run: str, kind: str) -> list[dict[str, Any]]:
    page = application.histories.page(run, EventQuery(), cursor=None, limit=100)
    return [body for body in (event.as_json() for event in page.events) if body["type"] == kind]


async def logged_in(application: Application, *scopes: Scope, may_act: bool = True, **more: Any) -> Visitor:
    """Somebody at a page that may act, logged in with a new key."""
    named = {"agent_id": None, "label": None, "life_s": None} | more
    visitor = Visitor(build_site(application, may_act=may_act))
    assert (await visitor.log_in(application.keys.create(scopes or OPERATOR, **named).text)).status_code == 303
    return visitor


async def token_of(visitor: Visitor) -> str:
    return form((await visitor.get("/ui/runs")).text, "/ui/logout")["_token"]


async def asked(visitor: Visitor, run: str, tool: str) -> dict[str, str]:
    """The form that asks to confirm what the only button of a tool on a run's page is for."""
    page = await visitor.get(f"/ui/runs/{run}")
    confirmation = await visitor.post(f"/ui/act/{tool}", form(page.text, f"/ui/act/{tool}"))
    assert confirmation.status_code == 200, confirmation.text
    return form(confirmation.text, f"/ui/act/{tool}")


async def test_a_confirmed_action_is_in_the_history_with_its_actor_and_reason(keyed: Application) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    page = await visitor.get(f"/ui/runs/{run}")
    confirmation = await visitor.post("/ui/act/cancel_run", form(page.text, "/ui/act/cancel_run"))
    assert "<h1>Cancel the run</h1>" in confirmation.text
    assert "Open states become cancelled" in confirmation.text
    assert run in confirmation.text
    assert keyed.runs.overview(run).word == "running", "only asked"
    confirmed = form(confirmation.text, "/ui/act/cancel_run") | {"reason": "the order was\r\nwithdrawn"}
    done = await visitor.post("/ui/act/cancel_run", confirmed)
    assert done.headers["location"].startswith(f"/ui/runs/{run}")
    assert keyed.runs.overview(run).word == "cancelled"
    (event,) = events(keyed, run, "RunCancelled")
    assert event["reason"] == "the order was\nwithdrawn"
    assert event["by"].startswith("key:")
    shown = await visitor.follow(done)
    assert f"✔ Cancel the run: Run &#39;{run}&#39; is cancelled." in shown.text
    assert "is cancelled." not in (await visitor.get(f"/ui/runs/{run}")).text, "it is shown once"


async def test_a_confirmation_that_is_sent_again_is_applied_once(keyed: Application) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    confirmed = await asked(visitor, run, "pause_run")
    await visitor.post("/ui/act/pause_run", confirmed)
    await visitor.post("/ui/act/resume_run", await asked(visitor, run, "resume_run"))
    again = await visitor.post("/ui/act/pause_run", confirmed)
    assert "nothing was done twice" in (await visitor.follow(again)).text
    assert len(events(keyed, run, "RunPaused")) == 1
    assert keyed.runs.overview(run).word == "running"


async def test_a_tool_without_request_ids_is_called_once_and_repeats_its_answer(
    keyed: Application,
) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    lease(keyed, run)
    fields = {"workflow_id": run, "state": "A", "_token": await token_of(visitor), "_back": f"/ui/runs/{run}"}
    confirmation = await visitor.post("/ui/act/release_state_lease", fields)
    confirmed = form(confirmation.text, "/ui/act/release_state_lease")
    first = await visitor.follow(await visitor.post("/ui/act/release_state_lease", confirmed))
    assert "✔ Release the lease: lease released" in first.text
    lease(keyed, run, owner="worker-8")
    second = await visitor.follow(await visitor.post("/ui/act/release_state_lease", confirmed))
    assert "✔ Release the lease: lease released" in second.text
    assert len(events(keyed, run, "LeaseReleased")) == 1, "the next holder keeps the state"


async def test_a_lost_race_is_told_as_what_it_is(keyed: Application) -> None:
    visitor, other, run = await logged_in(keyed), await logged_in(keyed), create(keyed)
    confirmed = await asked(visitor, run, "pause_run")
    await other.post("/ui/act/cancel_run", await asked(other, run, "cancel_run"))
    shown = await visitor.follow(await visitor.post("/ui/act/pause_run", confirmed))
    assert "✘ Pause the run:" in shown.text
    assert "✔" not in shown.text.partition('class="outcome')[2].partition("</p>")[0]
    assert events(keyed, run, "RunPaused") == []


async def test_a_release_is_of_the_holder_that_was_seen_and_of_no_later_one(keyed: Application) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    lease(keyed, run)
    epoch = str(keyed.runs.read(run, ("A",)).states["A"].doc.lease.epoch)
    fields = {"workflow_id": run, "state": "A", "epoch": epoch, "reason": "it hangs", "_token": await token_of(visitor)}
    first, second = [
        form((await visitor.post("/ui/act/release_state_lease", fields)).text, "/ui/act/release_state_lease")
        for _ in range(2)
    ]
    await visitor.post("/ui/act/release_state_lease", first)
    lease(keyed, run, owner="worker-8")
    late = await visitor.follow(await visitor.post("/ui/act/release_state_lease", second))
    assert "✘ Release the lease: State &#39;A&#39; has moved on" in late.text
    (event,) = events(keyed, run, "LeaseReleased")
    assert (event["reason"], event["forced"], event["by"][:4]) == ("it hangs", True, "key:")


async def test_what_is_filled_in_wrongly_is_asked_again_with_what_was_written(keyed: Application) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    fields = {"workflow_id": run, "state": "A", "_token": await token_of(visitor), "_back": f"/ui/runs/{run}"}
    confirmation = await visitor.post("/ui/act/resolve_state", fields)
    confirmed = form(confirmation.text, "/ui/act/resolve_state") | {"output_json": '{"price": 1', "reason": "by hand"}
    again = await visitor.post("/ui/act/resolve_state", confirmed)
    assert again.status_code == 400
    corrected = form(again.text, "/ui/act/resolve_state")
    assert (corrected["output_json"], corrected["reason"]) == ('{"price": 1', "by hand")
    assert corrected["_request"] != confirmed["_request"]
    done = await visitor.post("/ui/act/resolve_state", corrected | {"output_json": '{"price": 1}'})
    assert "✔ Resolve the state: State &#39;A&#39;" in (await visitor.follow(done)).text
    (event,) = events(keyed, run, "StateResolved")
    assert event["reason"] == "by hand"


async def test_a_run_again_leads_to_the_new_run(keyed: Application) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    done = await visitor.post("/ui/act/rerun", await asked(visitor, run, "rerun"))
    new = done.headers["location"].removeprefix("/ui/runs/")
    assert new != run
    assert keyed.runs.overview(new).word == "running"


async def test_a_box_that_is_ticked_by_itself_can_be_left_unticked(keyed: Application) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    fields = {"workflow_id": run, "_token": await token_of(visitor), "_back": "/ui/runs"}
    for ticked in (True, False):
        confirmed = form((await visitor.post("/ui/act/hold_run", fields)).text, "/ui/act/hold_run")
        assert confirmed.pop("hold") == "1"
        await visitor.post("/ui/act/hold_run", confirmed | ({"hold": "1"} if ticked else {}))
        assert bool(keyed.runs.overview(run).document.get("hold")) is ticked


@rows(
    ("scopes", "shown"),
    [
        ((Scope.READ,), set()),
        ((Scope.READ, Scope.WORK), set()),
        ((Scope.READ, Scope.PLAN), {"pause_run", "cancel_run", "send_signal", "rerun"}),
    ],
)
async def test_a_button_is_hidden_where_the_key_may_not_press_it(
    keyed: Application, scopes: tuple[Scope, ...], shown: set[str]
) -> None:
    run = create(keyed)
    page = (await (await logged_in(keyed, *scopes)).get(f"/ui/runs/{run}")).text
    assert {tool for tool in ACTIONS if forms(page, f"/ui/act/{tool}")} == shown
    only_shown = (await (await logged_in(keyed, *scopes, may_act=False)).get(f"/ui/runs/{run}")).text
    assert "/ui/act/" not in only_shown


def state_buttons(application: Application, run: str, state: str) -> dict[str, dict[str, str]]:
    """The forms of the actions on a state, by tool, for a person who may do everything."""
    caller = Caller(name="key:0123456789ab", scopes=frozenset(Scope))
    visit = Visit(application=application, caller=caller, may_act=True, form_token="t")
    doc = application.runs.read(run, (state,)).states[state].as_json()
    page = html("state_actions.html", visit=visit, workflow_id=run, state=state, state_doc=doc, back="/ui/runs")
    return {tool: form(page, f"/ui/act/{tool}") for tool in ACTIONS if forms(page, f"/ui/act/{tool}")}


def test_what_can_be_done_with_a_state_depends_on_how_it_stands(keyed: Application) -> None:
    run = create(keyed)
    assert state_buttons(keyed, run, "A").keys() == {"notify_if_ready", "resolve_state", "rerun"}
    lease(keyed, run)
    holding = state_buttons(keyed, run, "A")
    assert holding.keys() == {"notify_if_ready", "release_state_lease", "resolve_state", "rerun"}
    epoch = str(keyed.runs.read(run, ("A",)).states["A"].doc.lease.epoch)
    assert {item["epoch"] for item in (holding["release_state_lease"], holding["resolve_state"])} == {epoch}
    assert holding["rerun"]["from_state"] == "A"
    keyed.lifecycle.cancel(run, reason=None, request_id=None)
    assert state_buttons(keyed, run, "A").keys() == {"rerun"}


@rows("is_leased", [True, False])
async def test_a_state_that_nobody_has_had_can_be_resolved_as_well(keyed: Application, is_leased: bool) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    if is_leased:
        lease(keyed, run)
    fields = state_buttons(keyed, run, "A")["resolve_state"] | {"_token": await token_of(visitor)}
    confirmed = form((await visitor.post("/ui/act/resolve_state", fields)).text, "/ui/act/resolve_state")
    done = await visitor.post("/ui/act/resolve_state", confirmed | {"skip": "1"})
    assert "✔ Resolve the state" in (await visitor.follow(done)).text
    assert keyed.runs.read(run, ("A",)).states["A"].doc.status.value == "succeeded"


async def test_an_action_that_is_hidden_is_refused_and_noted(keyed: Application) -> None:
    visitor, run = await logged_in(keyed, Scope.READ), create(keyed)
    fields = {"workflow_id": run, "_token": await token_of(visitor)}
    assert (await visitor.post("/ui/act/cancel_run", fields)).status_code == 403
    noted = [item for item in keyed.audit.newest(1000) if item.kind == "refusal" and item.change == "cancel_run"]
    assert any(str(item.by).startswith("key:") for item in noted)


async def test_a_key_of_an_agent_says_who_it_is_by_itself(keyed: Application) -> None:
    fields = {"workflow_id": "r", "state": "A"}
    for agent_id, is_asked in ((None, True), ("alice", False)):
        visitor = await logged_in(keyed, Scope.READ, Scope.ANSWER, agent_id=agent_id)
        fields["_token"] = await token_of(visitor)
        asked_for = await visitor.post("/ui/act/answer_human_task", fields)
        assert ('name="agent_id"' in asked_for.text) is is_asked
    assert (await visitor.post("/ui/act/answer_human_task", fields | {"agent_id": "bob"})).status_code == 400


@rows(
    "extra",
    [
        {"force": "1"},
        {"lease_token": "x"},
        {"redis_url": "redis://evil.example"},
        {"request_id": "mine"},
        {"_request": "../../x", "_step": "apply"},
        {"_step": "apply"},
    ],
    ids="-".join,
)
async def test_a_field_that_the_action_does_not_take_is_refused(keyed: Application, extra: dict[str, str]) -> None:
    visitor, run = await logged_in(keyed), create(keyed)
    lease(keyed, run)
    fields = {"workflow_id": run, "state": "A", "_token": await token_of(visitor)}
    assert (await visitor.post("/ui/act/release_state_lease", fields | extra)).status_code == 400
    assert events(keyed, run, "LeaseReleased") == []


async def test_what_a_form_brings_is_shown_and_never_obeyed(keyed: Application) -> None:
    visitor = await logged_in(keyed)
    hostile = "\"'></textarea><script>alert(1)</script>\u202e"
    fields = {"workflow_id": hostile, "reason": hostile, "_token": await token_of(visitor)}
    page = (await visitor.post("/ui/act/cancel_run", fields | {"_back": "javascript:alert(1)"})).text
    assert "<script>" not in page
    assert "javascript:" not in page
    assert form(page, "/ui/act/cancel_run")["reason"] == hostile
    refused = await visitor.post("/ui/act/cancel_run", form(page, "/ui/act/cancel_run"))
    assert "<script>" not in refused.text


async def test_nobody_else_can_make_the_page_say_that_something_was_done(keyed: Application) -> None:
    visitor, other, run = await logged_in(keyed), await logged_in(keyed), create(keyed)
    await other.post("/ui/act/cancel_run", await asked(other, run, "cancel_run"))
    visitor.cookies["dcf_told"] = other.cookies["dcf_told"]
    assert "is cancelled." not in (await visitor.get("/ui/runs")).text


async def test_without_keys_a_page_that_may_act_asks_for_its_own_token(application: Application) -> None:
    visitor, run = Visitor(build_site(application, may_act=True)), create(application)
    confirmed = await asked(visitor, run, "cancel_run")
    elsewhere = Visitor(build_site(application, may_act=True))
    assert (await elsewhere.post("/ui/act/cancel_run", confirmed)).status_code == 403, "of another process"
    assert (await visitor.post("/ui/act/cancel_run", confirmed)).status_code == 303
    (event,) = events(application, run, "RunCancelled")
    assert event["by"] == "local"


@rows("tool", sorted(ACTIONS))
def test_every_action_is_a_tool_that_takes_what_its_form_may_say(tool: str) -> None:
    action, fields = ACTIONS[tool], TOOLS[tool].arguments.model_fields
    named = {element.name for element in action.given}
    assert named | set(action.always) <= set(fields)
    assert named.isdisjoint({"redis_url", "lease_token", "request_id", *action.always})
    assert {name for name, field in fields.items() if field.is_required()} <= {
        element.name for element in action.given if element.needed
    }
    assert action.is_repeatable == ("request_id" in fields)
    assert not TOOLS[tool].read_only
    for item in action.given:
        kind = str(fields[item.name].annotation)
        assert (item.kind == "flag") == ("bool" in kind), item.name
        assert (item.kind == "number") == ("int" in kind), item.name
