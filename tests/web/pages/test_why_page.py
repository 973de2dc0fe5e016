"""The page that says why runs do not move: each cause with a scripted run, its evidence and what helps."""

import re
from collections.abc import Callable, Iterator

import pytest

from dcf.application.application import Application, open_application
from dcf.core.access.model import Caller, Scope
from dcf.settings.process import Settings
from dcf.store.keys import table as keys
from dcf.web.pages.why import why_page
from dcf.web.site import build_site
from dcf.web.visit import ToolRefused, Visit
from tests.cli.reading.test_catalog import stuck_run
from tests.support.advised import advised_command, on_page
from tests.support.ahead import now
from tests.support.redis.restricted import RestrictedRedis
from tests.support.workflows.machines import chain, workflow
from tests.support.world import World
from tests.web.browsing import HOSTILE, Browser, check_harmless, text_of
from tests.web.stuck_runs import CAUSES, lease_held, not_taken, paused, started, timer_due, waiting_for_person

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def here(server: RestrictedRedis) -> Iterator[Application]:
    """A control plane on the Redis on which `real` scripts its runs."""
    with open_application(Settings.model_validate({"redis_url": server.url, "auth": "off"})) as opened:
        yield opened


@pytest.fixture
def browser(here: Application) -> Browser:
    return Browser(build_site(here))


@pytest.fixture(autouse=True)
def _clock(real: World) -> None:
    """A clock has just looked, unless a test says otherwise."""
    real.ask("SET", keys.SERVER_TIME, now(real))


@pytest.mark.parametrize("script", CAUSES, ids=lambda script: str(script.__name__))
async def test_each_cause_is_shown_with_its_sentence_evidence_and_what_helps(
    here: Application, browser: Browser, real: World, script: Callable[[World], str]
) -> None:
    real.ask("SET", keys.SERVER_TIME, now(real))  # a row before may have left a clock that is late
    run = script(real)
    (finding,) = here.diagnosis.explain(run).findings
    assert finding.cause.value == script.__name__
    text = text_of(page := await browser.get(f"/ui/why?run={run}"))
    assert script.__name__.replace("_", " ") in text
    assert finding.sentence[:100] in text
    assert on_page(finding.remedy.sentence) in text
    assert ("! stuck" if finding.stuck else "◷ waiting") in text
    assert advised_command(finding.remedy) in text
    for name, value in finding.evidence.items():
        if isinstance(value, str) and name != "root":
            assert value in text, name
    if finding.state is not None:
        assert f'href="/ui/runs/{run}?state={finding.state}"' in page


async def test_the_list_of_runs_begins_with_what_is_stuck_however_old_it_is(browser: Browser, real: World) -> None:
    stuck = stuck_run(real, "Forgotten")
    newer = [real.create(chain("A")) for _ in range(2)]
    page = await browser.get("/ui/runs")
    links = [f'href="/ui/runs/{run}"' for run in (stuck, *newer)]
    assert page.index(links[0]) < min(map(page.index, links[1:]))
    assert page.count(links[0]) == 1
    assert links[0] not in await browser.get("/ui/runs?status=succeeded")


async def test_across_runs_what_is_stuck_comes_before_what_only_waits(browser: Browser, real: World) -> None:
    stuck, waits = paused(real), timer_due(real)
    page = await browser.get("/ui/why")
    assert page.index(f'href="/ui/runs/{stuck}"') < page.index(f'href="/ui/runs/{waits}"')


async def test_the_list_goes_on_at_a_link(browser: Browser, real: World) -> None:
    runs = [timer_due(real) for _ in range(21)]
    pages, link = "", "/ui/why"
    while link:
        page = await browser.get(link)
        pages += page
        match = re.search(r'<a href="([^"]+)" rel="next">', page)
        link = "" if match is None else match[1].replace("&amp;", "&")
    assert all(f'href="/ui/runs/{run}"' in pages for run in runs)


async def test_the_button_that_helps_is_there_for_who_may_press_it(here: Application, real: World) -> None:
    run = paused(real)
    planner = Caller(name="key:0123456789ab", scopes=frozenset({Scope.READ, Scope.PLAN}))
    page = why_page(Visit(application=here, caller=planner, may_act=True), {"run": run})
    assert '<form class="action" method="post" action="/ui/act/resume_run">' in page
    assert f'<input type="hidden" name="workflow_id" value="{run}">' in page
    assert f'name="_back" value="/ui/why?run={run}"' in page
    reader = Caller(name="key:0123456789ab", scopes=frozenset({Scope.READ}))
    for visit in (Visit(application=here, caller=reader, may_act=True), Visit(application=here, caller=planner)):
        assert "/ui/act/" not in why_page(visit, {"run": run})


async def test_what_people_are_asked_is_answered_in_the_inbox(browser: Browser, real: World) -> None:
    run = waiting_for_person(real)
    assert f'href="/ui/inbox?run={run}&amp;state=H"' in await browser.get(f"/ui/why?run={run}")


async def test_where_more_runs_are_blocked_than_are_shown_the_list_is_linked_to(here: Application, real: World) -> None:
    worker = Visit(application=here, caller=Caller(name="local", scopes=frozenset(Scope), local=True))
    issue = {"agent_id": "a-1", "kind": "issue", "text": "The key is missing.", "blocks": True}
    for _ in range(21):
        run = started(real, chain("A"), agents={"A": "a-1"}, project="many")
        assert worker.ask("add_journal_entry", workflow_id=run, **issue)["code"] == "ok"
    page = why_page(Visit(application=here, caller=bound("many")), {})
    assert 'href="/ui/runs?blocked=1"' in page
    assert "dcf journal resolve" in page
    assert 'href="/ui/runs?blocked=1"' not in why_page(Visit(application=here, caller=bound("few")), {})


async def test_one_state_that_waits_for_others_can_be_asked_about(browser: Browser, real: World) -> None:
    run = not_taken(real)
    text = text_of(await browser.get(f"/ui/why?run={run}&state=B"))
    assert "waiting for" in text
    assert "a-gone" in text


async def test_a_run_that_is_over_and_a_run_that_there_is_not(browser: Browser, real: World) -> None:
    run = lease_held(real)
    real.lifecycle.cancel(run)
    assert "not finalized" in text_of(await browser.get(f"/ui/why?run={run}"))
    assert (await browser.ask("GET", "/ui/why?run=none")).status_code == 404


async def test_a_server_without_runs_says_how_to_start_one(application: Application) -> None:
    visit = Visit(application=application, caller=bound("no-such-project"))
    text = text_of(why_page(visit, {}))
    assert "No run is under way" in text
    assert "dcf run workflows/order_processing.json" in text


async def test_hostile_text_is_shown_and_never_obeyed(browser: Browser, real: World) -> None:
    name = "<img src=x>'\""
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 3600}]
    document = workflow({name: {"Type": "Task", "Retry": retry, "End": True}})
    document["workflow_name"] = "<img src=y>"
    run = started(real, document, agents={name: "a-1"})
    real.fail(run, name, real.acquire(run, name, "a-1"), "Broken", HOSTILE)
    for path in ("/ui/why", f"/ui/why?run={run}", f"/ui/why?run={run}&state=%3Cimg%20src=x%3E%27%22"):
        check_harmless(await browser.get(path))


def bound(project: str, *scopes: Scope) -> Caller:
    return Caller(name="key:0123456789ab", scopes=frozenset(scopes or {Scope.READ}), project=project)


async def test_a_key_bound_to_a_project_sees_only_the_runs_of_it(here: Application, real: World) -> None:
    own, other = (started(real, chain("A"), agents={"A": "a-1"}, project=project) for project in ("mine", "theirs"))
    visit = Visit(application=here, caller=bound("mine"))
    page = why_page(visit, {})
    assert own in page
    assert other not in page
    with pytest.raises(ToolRefused, match="There is no run"):
        why_page(visit, {"run": other})


async def test_a_key_without_the_scope_read_is_refused(here: Application) -> None:
    with pytest.raises(ToolRefused, match="scope 'read'"):
        why_page(Visit(application=here, caller=bound("mine", Scope.WORK)), {})
