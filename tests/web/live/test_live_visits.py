"""Event streams where callers log in with a key: they end with the visit, and are for callers who are logged in."""

from functools import partial

import anyio
import pytest
from starlette.applications import Starlette

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.web.live import streams as live_module
from dcf.web.site import build_site
from tests.support.tables import rows
from tests.tools.calls import TWO_TASKS
from tests.web.live.listening import PATIENCE_S, Listener, in_thread, listening
from tests.web.visitors import Visitor
from tests.web.worked_runs import a_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def site(keyed: Application) -> Starlette:
    return build_site(keyed)


@rows("path", ["/ui/live", "/ui/runs/{run}/live"])
async def test_a_stream_ends_soon_after_its_key_is_revoked(
    keyed: Application, site: Starlette, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "CHECK_S", 0.01)
    run = await in_thread(a_run, keyed, TWO_TASKS)
    key = await in_thread(lambda: keyed.keys.create((Scope.READ,), agent_id=None, label=None, life_s=600))
    visitor = Visitor(site)
    await visitor.log_in(key.text)
    page = Listener(site, path.format(run=run.workflow_id), cookies=visitor.cookies)
    async with listening(page):
        assert page.status == 200
        await in_thread(keyed.keys.revoke, key.record.key_id)
        with anyio.fail_after(PATIENCE_S):
            await page.is_over.wait()
    assert page.told()[-1].event == "ended"
    again = Listener(site, path.format(run=run.workflow_id), cookies=visitor.cookies)
    await again.listen()
    assert again.status in {303, 401}


@rows("path", ["/ui/live", "/ui/runs/{run}/live"])
async def test_a_key_that_asks_too_often_gets_no_stream(keyed: Application, site: Starlette, path: str) -> None:
    """Each costs reads of Redis, like a page."""
    run = await in_thread(a_run, keyed, TWO_TASKS)
    quotas = {"calls_per_s": 0.01, "calls_burst": 1}
    make = partial(keyed.keys.create, (Scope.READ,), agent_id=None, label=None, life_s=600, quotas=quotas)
    visitor = Visitor(site)
    await visitor.log_in((await in_thread(make)).text)
    page = Listener(site, path.format(run=run.workflow_id), cookies=visitor.cookies)
    async with listening(page):
        pass
    assert page.status == 429
    assert int(page.headers["retry-after"]) > 1


async def test_who_is_not_logged_in_gets_no_stream(site: Starlette) -> None:
    page = Listener(site, "/ui/live")
    await page.listen()
    assert page.status in {303, 401}
    assert page.told() == []


async def test_a_stream_ends_when_its_run_is_gone_and_another_project_has_one_of_its_name(
    keyed: Application, site: Starlette, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "CHECK_S", 0.01)
    run = await in_thread(lambda: a_run(keyed, TWO_TASKS, project="mine"))
    make = partial(keyed.keys.create, (Scope.READ,), agent_id=None, label=None, life_s=600, project="mine")
    visitor = Visitor(site)
    await visitor.log_in((await in_thread(make)).text)
    page = Listener(site, f"/ui/runs/{run.workflow_id}/live", cookies=visitor.cookies)
    async with listening(page):
        assert page.status == 200
        await in_thread(run.tool, "cancel_run")
        await in_thread(keyed.retention.delete, run.workflow_id)
        await in_thread(lambda: a_run(keyed, TWO_TASKS, run.workflow_id, project="theirs"))
        with anyio.fail_after(PATIENCE_S):
            await page.is_over.wait()
