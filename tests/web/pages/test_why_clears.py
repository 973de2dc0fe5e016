"""The advice of the page of reasons clears the reason: its button is pressed and confirmed."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any, Final

import pytest

from dcf.application.application import Application, open_application
from dcf.features.diagnosis.model import Cause, Remedy
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.web.action_table import ACTIONS
from dcf.web.run.remedies import button_of, place_of
from dcf.web.site import build_site
from tests.features.diagnosis.test_remedies import ALL
from tests.store.connection.test_faults import TROUBLES, server_for
from tests.support.ahead import now
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.waiting import until
from tests.support.world import World
from tests.web import stuck_runs
from tests.web.browsing import text_of
from tests.web.visitors import Visitor, form

pytestmark = pytest.mark.anyio

WAITS_FOR_A_TIME: Final = [stuck_runs.timer_due, stuck_runs.retry_due, stuck_runs.account_closed]

CHECK: Final = "/ui/validate/answer"
WHY: Final = "because the test says so"


@pytest.fixture(scope="module")
def here(server: RestrictedRedis) -> Iterator[Application]:
    """A control plane on the Redis on which `real` scripts its runs, for the operator of this machine."""
    with opened(server.url) as result:
        yield result


@contextmanager
def opened(url: str) -> Iterator[Application]:
    chosen = {"redis_url": url, "auth": "off", "allow_operator": True}
    with open_application(Settings.model_validate(chosen)) as application:
        yield application


@pytest.fixture
def visitor(here: Application) -> Visitor:
    return Visitor(build_site(here, may_act=True))


@pytest.fixture(autouse=True)
def _clock(real: World) -> None:
    real.ask("SET", keys.SERVER_TIME, now(real))


def causes(application: Application, run: str) -> list[str]:
    return [finding.cause.value for finding in application.diagnosis.explain(run).findings]


@dataclass(frozen=True, kw_only=True)
class Pressed:
    """The button that helps, what is written into its confirmation, and what is found afterwards."""

    tool: str
    filled: Mapping[str, str] = field(default_factory=dict)
    then: tuple[str, ...] = ()


BY_BUTTON: Final[dict[Callable[[World], str], Pressed]] = {
    stuck_runs.not_started: Pressed(tool="notify_next_worker_agent", then=("not_notified", "not_taken")),
    stuck_runs.nobody_assigned: Pressed(
        tool="resolve_state", filled={"assign_json": '["a-1"]'}, then=("not_notified", "not_taken")
    ),
    stuck_runs.not_notified: Pressed(tool="notify_if_ready", then=("not_taken",)),
    stuck_runs.lease_held: Pressed(tool="release_state_lease", then=("not_notified", "not_taken")),
    stuck_runs.paused: Pressed(tool="resume_run", then=("not_taken",)),
    stuck_runs.blocked: Pressed(tool="resolve_issue", filled={"how": "It was found."}, then=("not_taken",)),
    stuck_runs.waiting_for_callback: Pressed(tool="resolve_state", filled={"error": "Lost"}, then=("not_finalized",)),
    stuck_runs.waiting_for_signal: Pressed(tool="send_signal", then=("not_finalized",)),
    stuck_runs.waiting_for_child: Pressed(tool="resolve_state", filled={"error": "Lost"}, then=("not_finalized",)),
    stuck_runs.delivery_failed: Pressed(
        tool="resolve_state", filled={"assign_json": '["a-1"]'}, then=("not_notified", "not_taken")
    ),
    stuck_runs.timer_lost: Pressed(tool="notify_if_ready", then=("not_taken",)),
    stuck_runs.nothing_open: Pressed(tool="cancel_run", then=("not_finalized",)),
    stuck_runs.killed_process: Pressed(tool="retry_run", then=("not_taken",)),
    stuck_runs.not_finalized: Pressed(tool="finalize_workflow"),
}


@rows("script", BY_BUTTON, ids=lambda item: str(item.__name__))
async def test_the_button_that_helps_clears_the_cause(
    here: Application, visitor: Visitor, real: World, script: Callable[[World], str]
) -> None:
    run, pressed = script(real), BY_BUTTON[script]
    shown = script.__name__.replace("_", " ")
    page = (await visitor.get(f"/ui/why?run={run}")).text
    assert shown in text_of(page)
    done = await confirmed(visitor, page, pressed.tool, pressed.filled)
    here.notifications.deliver_all(run)
    await until(lambda: script.__name__ not in causes(here, run))  # a thread of the commit may be delivering
    assert shown not in text_of((await visitor.get(f"/ui/why?run={run}")).text), text_of(done)
    result = causes(here, run)
    assert len(result) <= 1
    assert set(result) <= set(pressed.then)


async def confirmed(visitor: Visitor, page: str, tool: str, filled: Mapping[str, str]) -> str:
    """The page after its only form of a tool was filled in, sent, and confirmed with a reason."""
    act = f"/ui/act/{tool}"
    sent = await visitor.post(act, form(page, act) | dict(filled))
    assert sent.status_code == 200, text_of(sent.text)
    return await applied(visitor, sent.text, tool)


async def applied(visitor: Visitor, page: str, tool: str) -> str:
    """The page after the one that asks to confirm was sent, with a reason."""
    act = f"/ui/act/{tool}"
    request = form(page, act)
    done = await visitor.post(act, request | ({"reason": WHY} if "reason" in request else {}))
    text = (await visitor.follow(done)).text
    assert "✔" in text, text_of(text)
    return text


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A person's entries in the form of the inbox to which the page leads: the tool, the fields."""

    tool: str
    filled: Mapping[str, str]
    then: tuple[str, ...]


IN_INBOX: Final[dict[Callable[[World], str], Answered]] = {
    stuck_runs.waiting_for_person: Answered( tool="answer_human_task",
        filled={"choice": "approve", "agent_id": "alice"}, then=("not_finalized",),
    ),
    stuck_runs.waiting_for_verdict: Answered( tool="decide_gate",
        filled={"verdict": "pass", "criteria/criterion 1/passed": "true", "agent_id": "rita"}, then=("not_finalized",),
    ),
    stuck_runs.waiting_for_answer: Answered( tool="answer_question",
        filled={"answer": "Honey bees.", "agent_id": "pat"}, then=("not_notified", "not_taken"),
    ),
}  # fmt: skip


@rows("script", IN_INBOX, ids=lambda item: str(item.__name__))
async def test_the_link_to_the_inbox_leads_to_the_form_that_clears_the_cause(
    here: Application, visitor: Visitor, real: World, script: Callable[[World], str]
) -> None:
    run, answer = script(real), IN_INBOX[script]
    page = (await visitor.get(f"/ui/why?run={run}")).text
    assert script.__name__.replace("_", " ") in text_of(page)
    link = re.search(r'<a href="([^"]+)">Answer it in the inbox</a>', page)
    assert link is not None
    item = (await visitor.get(unescape(link[1]))).text
    if CHECK in item:  # what is asked for has a form of its own, whose check asks to confirm it
        checked = await visitor.post(CHECK, form(item, CHECK) | dict(answer.filled))
        await applied(visitor, checked.text, answer.tool)
    else:
        await confirmed(visitor, item, answer.tool, answer.filled)
    assert set(causes(here, run)) <= set(answer.then)
    assert script.__name__.replace("_", " ") not in text_of((await visitor.get(f"/ui/why?run={run}")).text)


def dcf(url: str, *words: str) -> subprocess.Popen[str]:
    """A command of dcf on this Redis, in a process of its own."""
    command = [sys.executable, "-m", "dcf", *words]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "REDIS_URL": url}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


async def command_on(visitor: Visitor, run: str) -> list[str]:
    """The words of the one command that the page shows, without the name of the program."""
    page = (await visitor.get(f"/ui/why?run={run}")).text
    (shown,) = re.findall(r'<pre class="command"><code>(.*?)</code>', page)
    program, *words = shlex.split(unescape(shown))
    assert program == "dcf"
    return words


@rows("script", WAITS_FOR_A_TIME, ids=lambda script: str(script.__name__))
async def test_what_waits_for_a_time_goes_on_when_it_comes(
    here: Application, visitor: Visitor, real: World, script: Callable[[World], str]
) -> None:
    run = script(real)
    shown, (state,) = script.__name__.replace("_", " "), here.diagnosis.explain(run).findings
    assert state.state is not None
    assert "it continues automatically" in text_of((await visitor.get(f"/ui/why?run={run}")).text)
    stuck_runs.put(real, run, state.state, "not_before", stuck_runs.LONG_AGO)
    real.make_due(run, state.state)
    here.clock.pulse()
    assert shown not in text_of((await visitor.get(f"/ui/why?run={run}")).text)


async def test_a_state_that_keeps_failing_is_cleared_by_a_worker_that_was_mended(visitor: Visitor, real: World) -> None:
    run = stuck_runs.keeps_failing(real)
    assert "keeps failing" in text_of((await visitor.get(f"/ui/why?run={run}")).text)
    stuck_runs.put(real, run, "A", "not_before", None)
    real.do(run, "A", "a-1")
    assert "keeps failing" not in text_of((await visitor.get(f"/ui/why?run={run}")).text)


async def test_a_lease_that_expired_is_taken_over_once_its_agents_were_told(
    here: Application, visitor: Visitor, real: World
) -> None:
    run = stuck_runs.lease_expired(real)
    page = (await visitor.get(f"/ui/why?run={run}")).text
    assert "lease expired" in text_of(page)
    await confirmed(visitor, page, "notify_if_ready", {})
    here.notifications.deliver_all(run)
    assert here.diagnosis.explain(run).findings[0].evidence["told_times"] == 1
    real.acquire(run, "A", "a-1")
    assert "lease expired" not in text_of((await visitor.get(f"/ui/why?run={run}")).text)


async def test_a_definition_that_was_lost_is_restored_from_a_backup(visitor: Visitor, real: World) -> None:
    run = stuck_runs.not_taken(real)
    key = real.store.keys(run).definition
    backup = real.ask("DUMP", key)
    real.ask("DEL", key)
    assert "definition unknown" in text_of((await visitor.get(f"/ui/why?run={run}")).text)
    real.ask("RESTORE", key, 0, backup)
    assert "definition unknown" not in text_of((await visitor.get(f"/ui/why?run={run}")).text)


async def test_a_redis_that_refuses_writes_is_named_until_it_takes_them(tmp_path: Path) -> None:
    trouble = TROUBLES["NOREPLICAS"]
    with server_for(tmp_path, trouble) as (url, server), opened(url) as here:
        world = World(connections=Connections(open_pool(url)))
        world.ask("SET", keys.SERVER_TIME, now(world))
        run, visitor = stuck_runs.not_taken(world), Visitor(build_site(here, may_act=True))
        trouble.begin(server)
        text = text_of((await visitor.get(f"/ui/why?run={run}")).text)
        assert "store refuses writes" in text
        assert trouble.said in text
        assert await command_on(visitor, run) == ["doctor"]
        trouble.end(server)
        assert "store refuses writes" not in text_of((await visitor.get(f"/ui/why?run={run}")).text)
        world.connections.close()


@rows(
    ("script", "place"),
    [
        (stuck_runs.keeps_failing, "tab=events"),
        (stuck_runs.clock_absent, "/ui/system"),
        (stuck_runs.waiting_for_child, "/ui/why"),
    ],
    ids=["errors", "system", "child"],
)
async def test_what_is_to_be_looked_at_is_linked_to(
    visitor: Visitor, real: World, script: Callable[[World], str], place: str
) -> None:
    """Elsewhere than in the inbox."""
    page = (await visitor.get(f"/ui/why?run={script(real)}")).text
    links = re.findall(r'<div class="help">.*?<a href="([^"]+)"', page, re.DOTALL)
    assert [place in link for link in links] == [True]
    assert (await visitor.get(unescape(links[0]))).status_code == 200


@rows("remedy", ALL.values(), ids=ALL)
def test_whatever_is_advised_has_a_button_or_a_page(remedy: Remedy) -> None:
    finding: dict[str, Any] = {"cause": "", "state": "A", "evidence": {}, "remedy": remedy.as_json()}
    asks_people = remedy.tool in {"answer_human_task", "answer_question", "list_gates"}
    button = button_of(finding["remedy"])
    assert asks_people or (button is None) != (place_of("r", finding) is None)
    assert button is None or button.tool in ACTIONS


async def test_a_state_that_waits_for_others_is_cleared_by_what_clears_their_cause(
    visitor: Visitor, real: World
) -> None:
    run = stuck_runs.not_taken(real)
    page = f"/ui/why?run={run}&state=B"
    assert "waiting for" in text_of((await visitor.get(page)).text)
    real.do(run, "A", "a-gone")
    assert "waiting for" not in text_of((await visitor.get(page)).text)


def test_every_cause_has_a_run_here_in_which_it_is_cleared() -> None:
    alone = {stuck_runs.not_taken, stuck_runs.clock_late, stuck_runs.clock_absent, *WAITS_FOR_A_TIME}
    alone |= {stuck_runs.keeps_failing, stuck_runs.lease_expired, stuck_runs.definition_unknown}
    named = {item.__name__ for item in {*BY_BUTTON, *IN_INBOX, *alone}}
    assert named | {"store_refuses_writes", "waiting_for"} == {item.value for item in Cause}
    assert {item.__name__ for item in stuck_runs.CAUSES} == named
