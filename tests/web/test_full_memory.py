"""On a Redis whose memory is full a person logs in at the page, and ends runs there."""

from pathlib import Path

import pytest

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.web.site import build_site
from tests.support.redis.restricted import restricted_redis
from tests.web.test_actions import OPERATOR, asked, create
from tests.web.visitors import Visitor

pytestmark = pytest.mark.anyio


async def test_a_person_logs_in_sees_the_banner_and_closes_a_run(short_directory: Path) -> None:
    with (
        restricted_redis(short_directory / "full") as redis,
        open_application(Settings.model_validate({"redis_url": redis.url, "auth": "keys"})) as application,
        redis.admin() as admin,
    ):
        key, run = application.keys.create(OPERATOR, agent_id=None, label=None, life_s=None).text, create(application)
        admin.config_set("maxmemory", 1)
        visitor = Visitor(build_site(application, may_act=True))

        assert (await visitor.log_in(key)).status_code == 303
        assert "its memory is full" in (await visitor.get("/ui/runs")).text
        cancelled = await visitor.post("/ui/act/cancel_run", await asked(visitor, run, "cancel_run"))
        assert "is cancelled." in (await visitor.follow(cancelled)).text
        closed = await visitor.post("/ui/act/finalize_workflow", await asked(visitor, run, "finalize_workflow"))
        assert "✔ Finalize the run" in (await visitor.follow(closed)).text
        admin.config_set("maxmemory", 0)
