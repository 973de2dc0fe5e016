"""One run with agents on a real Letta server and agents with a mailbox, made and told by the same process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta

from dcf.application.application import Application, open_application
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.creation import Create
from dcf.settings.process import Settings
from dcf.workforce.crew.records import CrewWish
from dcf.workforce.crew.templates import read_staffing
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.support.waiting import wait_until
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import parallel, task
from tests.system.letta.installed.server import LettaServer
from tests.system.letta.model import HANDLE, ScriptedModel
from tests.system.letta.waiting import LONG

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]

MIXED: dict[str, Any] = {
    **workflow({"Both": parallel({"OnLetta": task()}, {"Here": task()})}),
    "agents": [
        {"agent_name": "OnLetta", "instructions": "You are told of states."},
        {"agent_name": "Here", "platform": "mailbox", "instructions": "You read an inbox."},
    ],
}


@pytest.fixture
def redis_alone(short_directory: Path) -> Iterator[RestrictedRedis]:
    with restricted_redis(short_directory / "mixed") as result:
        yield result


@pytest.fixture
def app(redis_alone: RestrictedRedis, letta_server: LettaServer) -> Iterator[Application]:
    settings = {"redis_url": redis_alone.url, "letta_base_url": letta_server.url, "letta_model": HANDLE}
    with open_application(Settings.model_validate(settings)) as application:
        yield application


def test_each_agent_is_made_told_and_deleted_where_it_lives(
    app: Application, model: ScriptedModel, raw: Letta, tmp_path: Path, mark: str
) -> None:
    run = f"run-{mark}"
    wish = Create(
        workflow_id=run,
        definition=read_definition(MIXED),
        run_input={},
        agents={},
        planner_agent_id=None,
        retention_s=None,
        max_attempts=10,
    )
    app.control_plane.create(wish)
    staffing = read_staffing(MIXED, import_dirs=(tmp_path,), agents_dir=tmp_path)
    made = app.workers.create(CrewWish(workflow_id=run, staffing=staffing))
    assert made.failure is None
    there, here = made.agents["OnLetta"], made.agents["Here"]
    assert app.platforms.kinds_of((there, here)) == {there: "letta", here: "mailbox"}
    assert "You are told of states." in (raw.agents.retrieve(there).system or "")
    app.control_plane.kick_off(run, "initial")
    app.clock.pulse()
    wait_until(lambda: [item for item in list(model.log) if item.conversation.event.get("agent_id") == there], LONG)
    assert [item.event["target_state"] for item in app.inbox.waiting(here, 10)] == ["Both/1/Here"]
    assert {dismissed.deleted for dismissed in app.workers.delete_workers(run)} == {True}
    assert app.records.platforms_of((there, here)) == {}
    assert not raw.agents.list(tags=[f"wf:{run}"]).items
