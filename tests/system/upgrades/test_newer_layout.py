"""A server that runs while a newer dcf raises the layout answers nothing more, once it has to connect again."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import redis

from dcf.errors import DcfError
from dcf.store.connection.layout import LAYOUT
from dcf.store.keys import table as keys
from tests.support.redis.servers import redis_server
from tests.system.upgrades.servers import served
from tests.system.upgrades.stages import TWO_TASKS

pytestmark = pytest.mark.processes

NEWER = json.dumps({"version": LAYOUT + 1, "dcf": "9.1.0"})


@pytest.fixture
def client(tmp_path: Path) -> Iterator[redis.Redis]:
    (home := tmp_path / "redis").mkdir()
    with redis_server(home) as port, redis.Redis(port=port) as result:
        yield result


def test_a_running_server_refuses_a_raised_layout_and_serves_again_without_it(
    client: redis.Redis, tmp_path: Path
) -> None:
    port = client.connection_pool.connection_kwargs["port"]
    with served(port, tmp_path / "server.log") as server:
        calls = server.calls
        assert calls.surely("start_run", workflow_json=TWO_TASKS, workflow_id="run")["code"] == "ok"
        known = client.get(keys.LAYOUT)
        client.set(keys.LAYOUT, NEWER)
        client.client_kill_filter(_type="normal", skipme=True)
        for tool in ("read_workflow_control_plane", "pause_run"):
            with pytest.raises(DcfError) as refused:
                calls.surely(tool, workflow_id="run")
            assert refused.value.code == "store_too_new"
            assert refused.value.message.startswith("Use dcf 9.1.0 or newer with this Redis")
        assert httpx2.get(f"{server.url}/readyz").status_code == 503
        client.set(keys.LAYOUT, known or "")
        assert calls.surely("pause_run", workflow_id="run")["code"] == "ok"
