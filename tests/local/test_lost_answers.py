"""Files that the helper makes artifacts of: whole, though answers of Redis are lost on the way to the server."""

import secrets
from pathlib import Path

import pytest

from dcf.application.application import open_application
from dcf.features.artifacts.operations import ArtifactRead
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.local.helper import ONE_TASK, Options, agent_of
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.restricted import restricted_redis
from tests.tools.calls import serving

pytestmark = pytest.mark.anyio


async def test_a_file_is_a_whole_artifact_when_the_answer_to_its_commit_is_lost(
    short_directory: Path, project: Path
) -> None:
    data = secrets.token_bytes(200_000)
    (project / "plan.bin").write_bytes(data)
    with restricted_redis(short_directory / "local-lost") as redis, Proxy(redis.socket, redis.login()) as way:
        store = f"dir:{short_directory / 'local-lost-artifacts'}"
        settings = Settings.model_validate({"redis_url": way.url, "auth": "off", "artifact_store": store})
        with open_application(settings) as application, serving(build_http_app(application)) as address:
            async with agent_of(f"{address}/mcp", Options(root=project)) as agent:
                run = (await agent.ok("start_run", workflow_json=ONE_TASK))["workflow_id"]
                for _ in range(4):  # the clock of the server commits too
                    way.plan(Fault.LOSE_REPLY)
                named = {"paths": ["plan.bin"], "workflow_id": run}
                first, again = await agent.ok("local_files", **named), await agent.ok("local_files", **named)
            stored = application.artifacts.read(run, first["files"][0]["artifact_id"], 0, None)
    assert first["files"] == again["files"]
    assert isinstance(stored, ArtifactRead)
    assert stored.data == data
