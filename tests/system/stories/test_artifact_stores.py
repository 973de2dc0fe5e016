"""Stores of artifacts: a bucket keeps the promises of a directory; processes die in the middle.

The bucket is one of moto's server, where it and obstore are installed (CONTRIBUTING.md says how).
"""

import importlib
import importlib.util
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dcf.adapters.blobs import open_blob_store
from dcf.application import Application
from dcf.core.artifacts import ArtifactStands
from dcf.errors import StoreUnavailable
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.tools.calls import ONE_TASK
from tests.tools.test_artifact_stores import (
    blobs,
    given,
    succeeds,
    test_artifacts_are_kept_in_parts_and_go_with_their_run,
    test_only_what_is_below_a_name_is_deleted,
    test_what_is_written_is_read_and_nothing_else_is_there,
)

__all__ = [
    "blobs",
    "test_artifacts_are_kept_in_parts_and_go_with_their_run",
    "test_only_what_is_below_a_name_is_deleted",
    "test_what_is_written_is_read_and_nothing_else_is_there",
]
"""These tests use a bucket here, since `where` is another fixture."""

pytestmark = pytest.mark.anyio

NO_BUCKETS = importlib.util.find_spec("moto") is None or importlib.util.find_spec("obstore") is None


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of an S3 server of this test."""
    if NO_BUCKETS:
        pytest.skip("needs obstore and moto's server")
    moto, boto3 = importlib.import_module("moto.server"), importlib.import_module("boto3")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    chosen = {
        "AWS_ACCESS_KEY_ID": "anybody",
        "AWS_SECRET_ACCESS_KEY": "anything",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in chosen.items():
            patch.setenv(name, value)
        boto3.client("s3").create_bucket(Bucket="shelf")
        yield "s3://shelf/below"
    server.stop()


@pytest.fixture
def where(bucket: str) -> str:
    return f"{bucket}/{secrets.token_hex(4)}"


@pytest.mark.skipif(NO_BUCKETS, reason="needs obstore and moto's server")
def test_a_bucket_that_is_away_is_told_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anybody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    nowhere = open_blob_store("s3://nowhere/below")
    assert nowhere is not None
    with pytest.raises(StoreUnavailable) as told:
        nowhere.write("a/b", b"")
    assert "very-secret" not in f"{told.value} {told.value.hint}"


def _exit_of(script: list[str]) -> int:
    return subprocess.run(script, cwd=ROOT, env=dict(os.environ), check=False).returncode


DYING = """
import os, signal, sys
from pathlib import Path
from dcf.adapters.blobs import directory
from dcf.application import open_application
from dcf.settings import Settings
from tests.tools.test_artifact_stores import given

url, home, run, moment, number, of = sys.argv[1:]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write = directory.DirectoryBlobs.write
if moment == "before the file has its name":
    Path.rename = die
elif moment == "before the record":
    def written(self, name, data):
        write(self, name, data)
        die()
    directory.DirectoryBlobs.write = written
with open_application(Settings.model_validate({"redis_url": url, "artifact_store": f"dir:{home}"})) as app:
    if moment == "before it is whole":
        app.artifacts._finish = die
    app.artifacts.put(given(run, bytes([int(number)]) * 100_000, int(number), int(of)))
"""


@rows("of", [1, 2])
@rows("moment", ["before the file has its name", "before the record", "before it is whole"])
async def test_what_a_killed_process_began_is_done_again_and_leaves_nothing(
    replica: Callable[..., Application], run_id: str, tmp_path: Path, moment: str, of: int
) -> None:
    if (of, moment) == (1, "before it is whole"):
        return  # whole artifacts have no such moment
    home = tmp_path / "blobs"
    app = replica(artifact_store=f"dir:{home}")
    await succeeds(app, "start_run", workflow_json=ONE_TASK, workflow_id=run_id)
    for number in range(1, of):
        app.artifacts.put(given(run_id, bytes([number]) * 100_000, number, of))
    script = [sys.executable, "-c", DYING, str(app.redis_url), str(home), run_id, moment, str(of), str(of)]
    assert _exit_of(script) == -signal.SIGKILL
    listed = await succeeds(app, "list_artifacts", workflow_id=run_id)
    assert listed["artifacts"] == [], "what is not whole is not there"
    done = app.artifacts.put(given(run_id, bytes([of]) * 100_000, of, of))
    assert isinstance(done, ArtifactStands)
    assert done.artifact is not None
    found = app.artifacts.read(run_id, "big", 0, None)
    assert getattr(found, "data", None) == b"".join(bytes([number]) * 100_000 for number in range(1, of + 1))
    assert (await succeeds(app, "list_artifacts", workflow_id=run_id))["total_bytes"] == of * 100_000
    await succeeds(app, "cancel_run", workflow_id=run_id)
    await succeeds(app, "delete_run", workflow_id=run_id)
    assert not list(home.iterdir())
