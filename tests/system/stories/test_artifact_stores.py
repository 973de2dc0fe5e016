"""Stores of artifacts: a bucket keeps the promises of a directory; processes die in the middle.

The bucket is one of moto's server, where it and obstore are installed (docs/contributing/dependencies.md says how).
"""

import importlib
import importlib.util
import json
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dcf.adapters.blobs import open_blob_store
from dcf.application.application import Application
from dcf.errors import StoreUnavailable
from dcf.features.artifacts.model import ArtifactStands
from tests.features.artifacts.test_stores import (
    blobs,
    given,
    succeeds,
    test_artifacts_are_kept_in_parts_and_go_with_their_run,
    test_only_what_is_below_a_name_is_deleted,
    test_what_is_written_is_read_and_nothing_else_is_there,
)
from tests.support.paths import ROOT
from tests.tools.calls import ONE_TASK

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
    with pytest.raises(StoreUnavailable) as raised:
        nowhere.write("a/b", b"")
    assert "very-secret" not in f"{raised.value} {raised.value.hint}"


def _statuses_of(script: list[str]) -> list[int]:
    done = subprocess.run(script, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return [int(word) for word in done.stdout.split()]


DYING = """
import json, os, signal, sys
from pathlib import Path
from dcf.adapters.blobs import directory
from dcf.application.application import open_application
from dcf.settings.process import Settings
from tests.features.artifacts.test_stores import given

def put(url, home, run, moment, of):
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
        app.artifacts.put(given(run, bytes([of]) * 100_000, of, of))

url, home, cases = sys.argv[1:]
for run, moment, of in json.loads(cases):
    if (child := os.fork()) == 0:
        put(url, home, run, moment, of)
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""
"""Each case in a process of its own, which has only to be forked."""

CASES = [
    ("before the file has its name", 1),
    ("before the file has its name", 2),
    ("before the record", 1),
    ("before the record", 2),
    ("before it is whole", 2),  # an artifact of one part has no such moment
]


async def test_what_killed_processes_began_is_done_again_and_leaves_nothing(
    replica: Callable[..., Application], run_id: str, tmp_path: Path
) -> None:
    home = tmp_path / "blobs"
    app = replica(artifact_store=f"dir:{home}")
    cases = [(f"{run_id}-{number}", moment, of) for number, (moment, of) in enumerate(CASES)]
    for run, _, of in cases:
        await succeeds(app, "start_run", workflow_json=ONE_TASK, workflow_id=run)
        for number in range(1, of):
            app.artifacts.put(given(run, bytes([number]) * 100_000, number, of))
    script = [sys.executable, "-c", DYING, str(app.redis_url), str(home), json.dumps(cases)]
    assert _statuses_of(script) == [int(signal.SIGKILL)] * len(CASES)
    for run, _, of in cases:
        await _is_done_again(app, run, of)
    assert not list(home.iterdir())


async def _is_done_again(app: Application, run: str, of: int) -> None:
    listed = await succeeds(app, "list_artifacts", workflow_id=run)
    assert listed["artifacts"] == [], "what is not whole is not there"
    done = app.artifacts.put(given(run, bytes([of]) * 100_000, of, of))
    assert isinstance(done, ArtifactStands)
    assert done.artifact is not None
    content = app.artifacts.read(run, "big", 0, None)
    assert getattr(content, "data", None) == b"".join(bytes([number]) * 100_000 for number in range(1, of + 1))
    assert (await succeeds(app, "list_artifacts", workflow_id=run))["total_bytes"] == of * 100_000
    await succeeds(app, "cancel_run", workflow_id=run)
    await succeeds(app, "delete_run", workflow_id=run)
