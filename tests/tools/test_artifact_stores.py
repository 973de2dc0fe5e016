"""Stores of artifacts: a directory and an S3-compatible bucket keep the same promises; processes die in the middle.

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
from typing import Any

import pytest

from dcf.adapters.blobs import open_blob_store
from dcf.application import Application
from dcf.core.access import Scope
from dcf.core.artifacts import ArtifactKind, ArtifactStands
from dcf.errors import InvalidArgument, StoreUnavailable
from dcf.ports import BlobStore
from dcf.runs.artifacts import PartGiven
from dcf.store.artifacts import blob_name
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK

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


@pytest.fixture(params=["directory", "bucket"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "bucket":
        found: str = request.getfixturevalue("bucket")
        return f"{found}/{secrets.token_hex(4)}"
    return f"dir:{tmp_path / 'blobs'}"


@pytest.fixture
def blobs(where: str) -> BlobStore:
    found = open_blob_store(where)
    assert found is not None
    return found


def test_what_is_written_is_read_and_nothing_else_is_there(blobs: BlobStore) -> None:
    data = secrets.token_bytes(100_000)
    assert blobs.read("run/1/a/u/1") is None
    blobs.write("run/1/a/u/1", data)
    blobs.write("run/1/a/u/1", data)
    assert blobs.read("run/1/a/u/1") == data
    blobs.write("run/1/a/u/2", b"")
    assert blobs.read("run/1/a/u/2") == b""


def test_only_what_is_below_a_name_is_deleted(blobs: BlobStore) -> None:
    for name in ("run/1/a/u/1", "run/1/b/u/1", "run/10/a/u/1", "run-2/1/a/u/1"):
        blobs.write(name, name.encode())
    blobs.delete("run/1")
    blobs.delete("run/1")
    blobs.delete("nothing/at/all")
    left = [name for name in ("run/1/a/u/1", "run/1/b/u/1", "run/10/a/u/1", "run-2/1/a/u/1") if blobs.read(name)]
    assert left == ["run/10/a/u/1", "run-2/1/a/u/1"]


async def test_artifacts_are_kept_in_parts_and_go_with_their_run(
    where: str, replica: Callable[..., Application], run_id: str
) -> None:
    app = replica(artifact_store=where, artifact_inline_bytes=100)
    await _ok(app, "start_run", workflow_json=ONE_TASK, workflow_id=run_id)
    pieces = [secrets.token_bytes(70_000) for _ in range(3)]
    for number, piece in enumerate(pieces, 1):
        answer = app.artifacts.put(given(run_id, piece, number, 3))
    assert isinstance(answer, ArtifactStands)
    assert answer.artifact is not None
    found = app.artifacts.read(run_id, "big", 69_990, 20)
    assert getattr(found, "data", None) == (pieces[0] + pieces[1])[69_990:70_010]
    blobs = open_blob_store(where)
    assert blobs is not None
    prefix = app.artifacts._store.blobs_of_run(run_id)
    one = f"{prefix}/{blob_name('big', answer.artifact.upload_id, answer.artifact.parts[1])}"
    assert blobs.read(one) == pieces[1]
    await _ok(app, "cancel_run", workflow_id=run_id)
    await _ok(app, "delete_run", workflow_id=run_id)
    assert blobs.read(one) is None


def test_a_store_that_does_not_work_is_told_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    broken = open_blob_store(f"dir:{tmp_path}/file/below")
    assert broken is not None
    with pytest.raises(StoreUnavailable, match="does not work"):
        broken.write("a/b", b"")
    open_to_all = tmp_path / "open"
    open_to_all.mkdir(mode=0o755)
    shared = open_blob_store(f"dir:{open_to_all}")
    assert shared is not None
    with pytest.raises(StoreUnavailable, match="open to other users"):
        shared.write("a/b", b"")
    if NO_BUCKETS:
        return
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anybody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    nowhere = open_blob_store("s3://nowhere/below")
    assert nowhere is not None
    with pytest.raises(StoreUnavailable) as told:
        nowhere.write("a/b", b"")
    assert "very-secret" not in f"{told.value} {told.value.hint}"


@pytest.mark.skipif(not NO_BUCKETS, reason="obstore is installed")
def test_a_bucket_without_the_extra_says_what_to_install() -> None:
    bucket = open_blob_store("s3://shelf/below")
    assert bucket is not None
    with pytest.raises(InvalidArgument) as told:
        bucket.write("a/b", b"")
    assert "dcf-mcp[s3]" in told.value.hint


def given(run: str, data: bytes, number: int = 1, of: int = 1) -> PartGiven:
    kind = ArtifactKind(name="big", content_type="application/octet-stream", metadata={})
    return PartGiven(workflow_id=run, artifact_id="big", kind=kind, data=data, number=number, of=of)


def _ended(script: list[str]) -> int:
    return subprocess.run(script, cwd=ROOT, env=dict(os.environ), check=False).returncode


async def _ok(app: Application, tool: str, **arguments: Any) -> Any:
    answer = await ask(app, key_of(*Scope), tool, **arguments)
    assert answer.code == "ok", answer.text
    return answer


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
    await _ok(app, "start_run", workflow_json=ONE_TASK, workflow_id=run_id)
    for number in range(1, of):
        app.artifacts.put(given(run_id, bytes([number]) * 100_000, number, of))
    script = [sys.executable, "-c", DYING, str(app.redis_url), str(home), run_id, moment, str(of), str(of)]
    assert _ended(script) == -signal.SIGKILL
    listed = await _ok(app, "list_artifacts", workflow_id=run_id)
    assert listed["artifacts"] == [], "what is not whole is not there"
    done = app.artifacts.put(given(run_id, bytes([of]) * 100_000, of, of))
    assert isinstance(done, ArtifactStands)
    assert done.artifact is not None
    found = app.artifacts.read(run_id, "big", 0, None)
    assert getattr(found, "data", None) == b"".join(bytes([number]) * 100_000 for number in range(1, of + 1))
    assert (await _ok(app, "list_artifacts", workflow_id=run_id))["total_bytes"] == of * 100_000
    await _ok(app, "cancel_run", workflow_id=run_id)
    await _ok(app, "delete_run", workflow_id=run_id)
    assert not list(home.iterdir())
