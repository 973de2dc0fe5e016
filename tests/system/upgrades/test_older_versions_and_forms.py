"""A Redis that keeps documents as text, or in RedisJSON, and a process that would keep them otherwise.

Versions before the record of the form know RedisJSON alone. Without the module they refuse at the start. Where it is,
they are refused each run by Redis, and change nothing of it.
"""

import subprocess
from itertools import repeat
from pathlib import Path
from typing import Final

import pytest
import redis

from dcf.errors import DcfError
from dcf.store.keys import table as keys
from lab.two_versions import checked_out, why_not
from tests.support.redis.servers import LOAD_JSON, redis_server
from tests.support.waiting import wait_until
from tests.system.upgrades.record import RECORDED
from tests.system.upgrades.servers import command, environment, served
from tests.system.upgrades.stages import TWO_TASKS
from tests.system.upgrades.team import LONG_S, Team

OLDER: Final = sorted(path.stem for path in RECORDED.glob("*.jsonl"))

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module", params=OLDER)
def older(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of an earlier version."""
    if (why := why_not(request.param)) is not None:
        pytest.skip(why)
    return checked_out(tmp_path_factory.mktemp("older"), request.param)


def answered(port: int, program: Path | None, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a version to its end."""
    own = environment(port, program) | settings
    return subprocess.run(
        command(*arguments), env=own, cwd=program, check=False, capture_output=True, text=True, timeout=2 * LONG_S
    )


def test_an_older_version_refuses_a_redis_without_redisjson_in_one_sentence(older: Path, tmp_path: Path) -> None:
    with redis_server(tmp_path, with_json=False) as port, redis.Redis(port=port) as client:
        assert answered(port, None, "ls").returncode == 0
        before = {*client.keys()}
        for arguments in (("ls",), ("serve", "--transport", "http", "--port", "0", "--auth", "off")):
            refused = answered(port, older, *arguments)
            assert refused.returncode == 4
            assert "This Redis has no RedisJSON module, which dcf keeps its documents in." in refused.stderr
        assert {*client.keys()} == before


@pytest.mark.skipif(not LOAD_JSON, reason="no wheel of this platform has RedisJSON, so older versions refuse at once")
def test_an_older_version_changes_no_run_that_is_kept_as_text(older: Path, tmp_path: Path) -> None:
    (home := tmp_path / "redis").mkdir()
    with redis_server(home, *LOAD_JSON, with_json=False) as port, redis.Redis(port=port) as client:
        client.set(keys.DOCUMENT_FORM, "text")
        with served(port, tmp_path / "this.log") as server:
            team = Team("kept", repeat(server.calls))
            team.start(TWO_TASKS)
            team.work("A")
        names = sorted(name.decode() for name in client.keys("?p:wf:*"))
        before = {name: client.dump(name) for name in names}
        client.delete(keys.SERVER_TIME)
        with served(port, tmp_path / "older.log", older) as server:
            for tool in ("read_workflow_control_plane", "pause_run", "delete_run", "cancel_run"):
                with pytest.raises(DcfError) as refused:
                    server.calls.surely(tool, workflow_id="kept")
                assert (refused.value.code, refused.value.message.count(".")) == ("store_unsuitable", 1), tool
            with pytest.raises(DcfError):
                server.calls.surely("start_run", workflow_json=TWO_TASKS, workflow_id="kept")
            wait_until(lambda: client.exists(keys.SERVER_TIME) == 1, LONG_S)  # its clock has looked
        assert answered(port, older, "doctor", "--repair").returncode in (0, 1, 4)
        assert {name.decode(): client.dump(name) for name in client.keys("?p:wf:*")} == before
        client.execute_command(
            "ACL", "SETUSER", "default", *(f"-json.{word}" for word in ("get", "set", "mget", "mset"))
        )
        refused_start = answered(port, older, "ls")
        assert refused_start.returncode == 4
        assert "Redis does not allow this user JSON.GET, which dcf needs (NOPERM)." in refused_start.stderr
        with served(port, tmp_path / "again.log") as server:
            team = Team("kept", repeat(server.calls))
            team.work("B")
            assert team.status() == "succeeded"
            assert "kept" in team.runs_of("recorded")


@pytest.mark.skipif(not LOAD_JSON, reason="no wheel of this platform has RedisJSON")
@pytest.mark.parametrize(("first", "second"), [("json", "text"), ("text", "json")])
def test_of_two_servers_with_different_settings_the_second_refuses_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    words = {"json": "in RedisJSON", "text": "as JSON text"}
    (home := tmp_path / "redis").mkdir()
    monkeypatch.setenv("DCF_DOCUMENTS", first)
    with redis_server(home, *LOAD_JSON, with_json=False) as port, served(port, tmp_path / "first.log") as server:
        serve = ("serve", "--transport", "http", "--port", "0", "--auth", "off")
        refused = answered(port, None, *serve, DCF_DOCUMENTS=second)
        assert refused.returncode == 4
        refusal = f"This Redis keeps documents {words[first]}, and DCF_DOCUMENTS is '{second}'."
        assert refusal in refused.stderr
        assert server.calls.surely("start_run", workflow_json=TWO_TASKS, workflow_id="run")["code"] == "ok"
