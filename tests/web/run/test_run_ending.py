"""The first thing on a run's page: how the run ended and what to do next, or the answer that it waits for."""

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.web.run.page import run_page
from dcf.web.visit import Visit
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, retrying, task
from tests.support.world import World
from tests.web import run_stories as stories
from tests.web import stuck_runs
from tests.web.pages.test_inbox_page import asking
from tests.web.run.run_visitor import Page


def visit(application: Application, *scopes: Scope, may_act: bool = True, local: bool = False) -> Visit:
    """A visit by a key with these scopes, by default all."""
    caller = Caller(name="key:0123456789ab", scopes=frozenset(scopes or Scope), local=local)
    return Visit(application=application, caller=caller, may_act=may_act)


def seen(by: Visit, run: str, **parameters: str) -> Page:
    return Page(run_page(by, parameters, run))


def test_a_run_that_succeeded_shows_its_output_and_how_to_run_it_again(agents: World, application: Application) -> None:
    run = agents.create(chain("Only"))
    agents.do(run, "Only", output={"total": 242})
    ending = seen(visit(application, may_act=False), run).part("ending")
    assert ending.has("Succeeded after", '"total": 242', "Choose a state below", f"dcf runs rerun {run}")
    assert "tab=table" in ending.links["table of all states"]
    assert "Failed" not in ending.text


def test_a_failed_run_names_the_state_inside_with_its_attempts_and_its_error_once(
    agents: World, application: Application
) -> None:
    flaky = task(Retry=retrying("Flaky", MaxAttempts=1, IntervalSeconds=1))
    run = agents.create(workflow({"Each": each({"Score": flaky})}), run_input=[1])
    path = "Each/0/Score"
    agents.fail(run, path, agents.acquire(run, path), "Broken", "the tank is empty")
    ending = seen(visit(application), run).part("ending")
    assert ending.has("Failed after", "failed after 1 attempt : Broken: the tank is empty")
    assert ending.text.count("the tank is empty") == 1, "the Map around it failed for the same reason"
    assert "tab=events" in ending.links["Attempts and events"]


def test_retry_is_a_button_or_a_command_and_is_gone_once_the_run_is_finalized(
    agents: World, application: Application
) -> None:
    run = stories.failed(agents)
    allowed, reader = visit(application), visit(application, Scope.READ)
    assert 'action="/ui/act/retry_run"' in seen(allowed, run).part("ending").html
    assert f"dcf retry {run}" in seen(reader, run).part("ending").text
    agents.finalize(run)
    for caller in (allowed, reader):
        ending = seen(caller, run).part("ending")
        assert "retry" not in ending.html.replace("no retry", "")
        assert "rerun" in ending.html


def test_a_cancelled_run_shows_the_reason(agents: World, application: Application) -> None:
    run = stories.held(agents).run
    visit(application).ask("cancel_run", workflow_id=run, reason="the customer called")
    assert seen(visit(application), run).part("ending").has("Cancelled", "the customer called")


def test_a_person_who_may_answer_finds_the_button_on_the_run_and_on_its_state(application: Application) -> None:
    run = asking(application)
    page = seen(visit(application), run, state="Ask")
    assert page.part("ending").has("Waits for an answer", "alice or the group finance", "Answer Ask")
    form = f"/ui/inbox?run={run}&state=Ask"
    assert page.part("ending").links["Answer Ask"].replace("&amp;", "&") == form
    assert page.part("panel").links["Answer"].replace("&amp;", "&") == form
    assert "Now:" not in page.text, "the wait is not told twice"


@rows(
    ("may_act", "local", "scopes", "reason"),
    [
        (False, False, tuple(Scope), "its server was started without --allow-actions"),
        (True, True, (Scope.READ, Scope.WORK, Scope.PLAN), "start it with DCF_ALLOW_OPERATOR=1, or log in with a key"),
        (True, False, (Scope.READ, Scope.PLAN), "Your key lacks the scope 'answer'"),
    ],
)
def test_a_person_who_may_not_answer_reads_why_and_the_command(
    application: Application, may_act: bool, local: bool, scopes: tuple[Scope, ...], reason: str
) -> None:
    run = asking(application)
    answers = seen(visit(application, *scopes, may_act=may_act, local=local), run).part("ending")
    assert answers.has(reason, f"dcf approve {run} Ask --epoch ", "--as alice")
    assert "Answer Ask" not in answers.text


@rows("story", [stuck_runs.waiting_for_verdict, stuck_runs.waiting_for_answer])
def test_verdicts_and_questions_have_a_button_as_well(agents: World, application: Application, story: object) -> None:
    assert callable(story)
    run = story(agents)
    assert "/ui/inbox?run=" in seen(visit(application), run).part("ending").html
