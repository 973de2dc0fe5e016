"""The inbox: what waits for people, whole, with a form for each answer, and what a form would send."""

import json
import re
import secrets
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.errors import InvalidArgument
from dcf.verbs.authentication import the_local_user
from dcf.web.pages.inbox import check_answer, inbox_page
from dcf.web.site import build_site
from dcf.web.visit import ToolRefused, Visit
from tests.web.browsing import HOST, HOSTILE, Browser, check_harmless, text_of

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "required": ["amount"],
    "properties": {"amount": {"type": "number", "maximum": 9, "title": "Amount"}},
}
CRITERIA = ["Every claim has a source.", "It is short."]


@pytest.fixture
def browser(application: Application) -> Browser:
    return Browser(build_site(application))


def acting(application: Application, **more: Any) -> Visit:
    """A visit of a person who may do everything here."""
    caller = Caller(name="key:0123456789ab", scopes=frozenset(Scope), **more)
    return Visit(application=application, caller=caller, may_act=True)


def do(application: Application, tool: str, **arguments: Any) -> Mapping[str, Any]:
    return acting(application).ask(tool, **arguments)


def start(application: Application, states: Any, **more: Any) -> str:
    run = f"r-{secrets.token_hex(5)}"
    workflow = {"asl": {"StartAt": next(iter(states)), "States": states}}
    details = do(application, "start_run", workflow_json=workflow, workflow_id=run, **more)
    assert details["code"] == "ok", details
    return run


def asking(application: Application, parameters: Mapping[str, Any] | None = None, **more: Any) -> str:
    """A run that asks people."""
    request = {"to": ["alice", {"group": "finance"}], "title": "Approve it", **(parameters or {})}
    task = {"Type": "Task", "Resource": "dcf:human", "Parameters": request, "TimeoutSeconds": 7200, "End": True}
    return start(application, {"Ask": task}, **more)


def holding(application: Application, task: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The arguments with which worker-1 writes, who holds Write."""
    run = start(
        application, {"Write": {"Type": "Task", **(task or {}), "End": True}}, agents_map_json={"Write": "worker-1"}
    )
    holding = {"workflow_id": run, "state": "Write"}
    token = do(application, "acquire_state_lease", **holding, owner_agent_id="worker-1")["lease"]["token"]
    return {**holding, "lease_token": token}


def judged(application: Application, output: Any = "done", **gate: Any) -> str:
    """A run whose output waits for the verdict of rita."""
    review = {"name": "review", "kind": "review", "criteria": CRITERIA, "reviewers": ["rita"], **gate}
    review = {name: value for name, value in review.items() if value is not None}
    holder = holding(application, {"Gates": [review]})
    written = {"new_status": "succeeded", "output_json": {"text": output}, "owner_agent_id": "worker-1"}
    assert do(application, "update_workflow_control_plane", **holder, **written)["code"] == "review_running"
    return str(holder["workflow_id"])


def fields_of(page: str) -> dict[str, str]:
    """The hidden fields of the one form of a page."""
    findall = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)
    return {name: unescape(value) for name, value in findall if not name.startswith("_")}


async def test_a_task_is_listed_with_who_is_asked_and_until_when_and_shown_whole(
    application: Application, browser: Browser
) -> None:
    run = asking(application, {"instructions": "Look\nwell.", "details": {"total": 7}})
    listed = text_of(await browser.get(f"/ui/inbox?run={run}"))
    for details in ("Approve it", f"Ask of {run}", "asked alice, group finance", "ends in 1 h 59 min"):
        assert details in listed
    whole = text_of(await browser.get(f"/ui/inbox?run={run}&state=Ask"))
    assert "Look well." in whole
    assert '"total": 7' in whole


async def test_who_may_not_answer_here_is_told_the_command(application: Application, browser: Browser) -> None:
    run = asking(application)
    page = await browser.get(f"/ui/inbox?run={run}&state=Ask")
    assert "<form" not in page
    assert f"dcf approve {run} Ask --epoch " in text_of(page)


def test_a_task_without_a_schema_is_answered_by_the_action_itself(application: Application) -> None:
    run = asking(application, {"choices": ["approve", {"name": "reject", "comment": "required"}]})
    page = inbox_page(acting(application), {"run": run, "state": "Ask"})
    assert 'action="/ui/act/answer_human_task"' in page
    assert re.findall(r'type="radio" name="choice" value="([^"]+)"', page) == ["approve", "reject"]
    sent = fields_of(page)
    answer = {**sent, "epoch": int(sent["epoch"]), "choice": "approve", "agent_id": "alice"}
    assert do(application, "answer_human_task", **answer)["code"] == "ok"
    assert "Nothing waits at Ask" in text_of(inbox_page(acting(application), {"run": run, "state": "Ask"}))


def test_an_answer_with_a_schema_is_checked_and_what_is_sent_then_is_taken(application: Application) -> None:
    visit, run = acting(application), asking(application, {"schema": SCHEMA})
    page = inbox_page(visit, {"run": run, "state": "Ask"})
    assert 'action="/ui/validate/answer"' in page
    assert ">Amount <" in page
    filled = {**fields_of(page), "choice": "approve", "agent_id": "alice"}
    for amount, details in (("", "needed"), ("x", "not a number"), ("10", "9")):
        wrong = check_answer(visit, filled | {"answer_json/amount": amount})
        assert details in re.findall(r'class="problem failed"[^>]*>✘ ([^<]+)', wrong)[0]
        assert f'name="answer_json/amount" value="{amount}"' in wrong
    checked = check_answer(visit, filled | {"answer_json/amount": "8"})
    assert 'action="/ui/act/answer_human_task"' in checked
    sent = fields_of(checked)
    assert sent["answer_json"] == '{"amount":8}'
    assert do(application, "answer_human_task", **{**sent, "epoch": int(sent["epoch"])})["code"] == "ok"


def test_to_reject_an_answer_may_be_left_out_and_a_comment_may_be_needed(application: Application) -> None:
    choices = ["approve", {"name": "reject", "comment": "required"}]
    visit, run = acting(application), asking(application, {"schema": SCHEMA, "choices": choices})
    filled = {**fields_of(inbox_page(visit, {"run": run, "state": "Ask"})), "choice": "reject"}
    assert "To reject, say why." in check_answer(visit, filled)
    assert "answer_json" not in fields_of(check_answer(visit, filled | {"comment": "too dear"}))
    assert "Choose one." in check_answer(visit, filled | {"choice": "maybe"})


def test_an_answer_to_what_does_not_wait_any_more_is_refused(application: Application) -> None:
    visit, run = acting(application), asking(application, {"schema": SCHEMA})
    filled = {**fields_of(inbox_page(visit, {"run": run, "state": "Ask"})), "choice": "approve"}
    for wrong in ({"epoch": "1795440437810902"}, {"tool": "decide_gate"}, {"state": ""}):
        with pytest.raises(InvalidArgument, match="no longer waits"):
            check_answer(visit, filled | wrong)


def test_a_question_of_a_worker_is_answered_with_one_of_its_choices(application: Application) -> None:
    holder = holding(application)
    request = {"question": "Which tone?", "choices_json": ["formal", "casual"], "ask": ["alice"], "give_back": False}
    assert do(application, "ask_question", **holder, **request)["code"] == "ok"
    run = holder["workflow_id"]
    page = inbox_page(acting(application), {"run": run, "state": "Write"})
    assert "Which tone?" in text_of(page)
    assert "by worker-1" in text_of(page)
    assert re.findall(r'type="radio" name="answer" value="([^"]+)"', page) == ["formal", "casual"]
    answer = {**fields_of(page), "answer": "formal", "agent_id": "alice"}
    assert do(application, "answer_question", **answer)["code"] == "ok"


def test_a_verdict_is_given_for_each_criterion_of_the_output_that_is_shown(application: Application) -> None:
    visit, run = acting(application), judged(application)
    assert run in inbox_page(visit, {"person": "rita"})
    page = inbox_page(visit, {"run": run, "state": "Write"})
    assert '"text": "done"' in text_of(page)
    assert all(item in text_of(page) for item in CRITERIA)
    filled = {**fields_of(page), "verdict": "pass", "agent_id": "rita", "criteria/criterion 1/passed": "true"}
    assert "This is needed." in check_answer(visit, filled)
    more = {"criteria/criterion 2/passed": "false", "criteria/criterion 2/feedback": "Cut it."}
    sent: dict[str, Any] = {**fields_of(check_answer(visit, filled | more))}
    rita = Visit(application=application, caller=Caller(name="key:ba9876543210", scopes=frozenset(Scope)))
    answer = rita.ask("decide_gate", **{**sent, "criteria": json.loads(sent["criteria"])})
    assert answer["verdict"] == "fail"


def test_a_verdict_that_is_asked_of_a_person_is_listed_once(application: Application) -> None:
    visit, person = acting(application), f"p-{secrets.token_hex(4)}"
    run = judged(application, kind="person", reviewers=None, criteria=None, people=[person])
    for parameters in ({"person": person}, {"run": run}):
        assert inbox_page(visit, parameters).count('<article class="card">') == 1
    assert "agent_id" in inbox_page(visit, {"run": run, "state": "Write"})


async def test_the_list_is_of_a_person_a_group_or_a_run_and_goes_on_at_a_link(
    application: Application, browser: Browser
) -> None:
    name = f"p-{secrets.token_hex(4)}"
    runs = [asking(application, {"to": [name]}) for _ in range(21)]
    other = asking(application)
    first = await browser.get(f"/ui/inbox?person={name}")
    link = re.search(r'<a href="([^"]+)" rel="next">', first)
    assert link is not None
    second = await browser.get(unescape(link[1]))
    assert all(run in first + second for run in runs)
    assert other not in first + second
    assert "Nothing waits for nobody-here" in text_of(await browser.get("/ui/inbox?person=nobody-here"))


def test_a_key_of_a_person_sees_what_waits_for_them_and_need_not_say_who_they_are(application: Application) -> None:
    name = f"p-{secrets.token_hex(4)}"
    own, other = asking(application, {"to": [name]}), asking(application)
    visit = acting(application, agent_id=name)
    page = inbox_page(visit, {})
    assert own in page
    assert other not in page
    assert other in inbox_page(visit, {"person": "alice"})
    assert 'name="agent_id"' not in inbox_page(visit, {"run": own, "state": "Ask"})


def test_an_empty_inbox_says_what_would_fill_it(application: Application) -> None:
    caller = Caller(name="key:0123456789ab", scopes=frozenset({Scope.READ}), project="no-such-project")
    text = text_of(inbox_page(Visit(application=application, caller=caller), {}))
    assert "Nothing waits for people" in text
    assert "dcf inbox" in text


def test_a_key_bound_to_a_project_sees_only_what_waits_in_its_runs(application: Application) -> None:
    own, other = (asking(application, project=project) for project in ("mine", "theirs"))
    visit = acting(application, project="mine")
    page = inbox_page(visit, {})
    assert own in page
    assert other not in page
    for parameters in ({"run": other}, {"run": other, "state": "Ask"}):
        with pytest.raises(ToolRefused, match="There is no run"):
            inbox_page(visit, parameters)


async def test_hostile_text_is_shown_and_never_obeyed(application: Application, browser: Browser) -> None:
    schema = {**SCHEMA, "properties": {HOSTILE: {"type": "string", "title": HOSTILE, "default": HOSTILE}}}
    title = HOSTILE.replace("\u202e", "").replace("\x1b", "")
    request = {"title": title, "instructions": HOSTILE, "details": {HOSTILE: HOSTILE}, "choices": ["approve"]}
    run = asking(application, {**request, "schema": {**schema, "required": []}})
    visit = acting(application)
    page = inbox_page(visit, {"run": run, "state": "Ask"})
    for item in (await browser.get(f"/ui/inbox?run={run}"), page):
        check_harmless(item)
    check_harmless(check_answer(visit, {**fields_of(page), "choice": "approve", "comment": title}))
    check_harmless(inbox_page(visit, {"run": judged(application, HOSTILE), "state": "Write"}))


async def test_a_form_is_checked_by_a_request_of_this_page_that_changes_nothing(
    application: Application, browser: Browser
) -> None:
    run = asking(application, {"schema": SCHEMA})
    filled = {**fields_of(inbox_page(acting(application), {"run": run, "state": "Ask"})), "choice": "approve"}
    checked = await browser.post("/ui/validate/answer", filled | {"answer_json/amount": "8"})
    assert (checked.status_code, "This will be sent" in checked.text) == (200, True)
    assert "Approve it" in text_of(await browser.get(f"/ui/inbox?run={run}"))
    assert (await browser.post("/ui/validate/answer", filled, origin="http://evil.example")).status_code == 403
    assert (await browser.post("/ui/validate/answer", {"a": "b" * 4_000_000})).status_code == 413
    assert (await browser.ask("POST", "/ui/validate/answer", "a=b", origin=HOST)).status_code == 415
    assert (await browser.ask("GET", "/ui/validate/answer")).status_code in {404, 405}


def test_the_local_user_of_this_server_is_no_operator(application: Application) -> None:
    """The assumptions of the tests above that go through the browser."""
    assert Scope.ANSWER not in the_local_user(application.settings)().scopes
