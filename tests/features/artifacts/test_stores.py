"""Stores of artifacts: what a directory promises.

`tests/system/stories/test_artifact_stores.py` tries the same with a bucket, and kills processes in the middle.
"""

import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcf.adapters.blobs import open_blob_store
from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument, StoreUnavailable
from dcf.features.artifacts.model import ArtifactKind, ArtifactStands, PartGiven
from dcf.features.artifacts.storage import blob_name
from dcf.ports import BlobStore
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK

pytestmark = pytest.mark.anyio


@pytest.fixture
def where(tmp_path: Path) -> str:
    return f"dir:{tmp_path / 'blobs'}"


@pytest.fixture
def blobs(where: str) -> BlobStore:
    blob_store = open_blob_store(where)
    assert blob_store is not None
    return blob_store


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
    await succeeds(app, "start_run", workflow_json=ONE_TASK, workflow_id=run_id)
    pieces = [secrets.token_bytes(70_000) for _ in range(3)]
    for number, piece in enumerate(pieces, 1):
        answer = app.artifacts.put(given(run_id, piece, number, 3))
    assert isinstance(answer, ArtifactStands)
    assert answer.artifact is not None
    result = app.artifacts.read(run_id, "big", 69_990, 20)
    assert getattr(result, "data", None) == (pieces[0] + pieces[1])[69_990:70_010]
    blobs = open_blob_store(where)
    assert blobs is not None
    prefix = app.artifacts._store.blobs_of_run(run_id)
    text = f"{prefix}/{blob_name('big', answer.artifact.upload_id, answer.artifact.parts[1])}"
    assert blobs.read(text) == pieces[1]
    await succeeds(app, "cancel_run", workflow_id=run_id)
    await succeeds(app, "delete_run", workflow_id=run_id)
    assert blobs.read(text) is None


def test_a_directory_that_cannot_be_used_says_why(tmp_path: Path) -> None:
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


def test_a_bucket_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    bucket = open_blob_store("s3://shelf/below")
    assert bucket is not None
    with pytest.raises(InvalidArgument) as raised:
        bucket.write("a/b", b"")
    assert "dcf-mcp[s3]" in raised.value.hint


def given(run: str, data: bytes, number: int = 1, of: int = 1) -> PartGiven:
    kind = ArtifactKind(name="big", content_type="application/octet-stream", metadata={})
    return PartGiven(workflow_id=run, artifact_id="big", kind=kind, data=data, number=number, of=of)


async def succeeds(app: Application, tool: str, **arguments: Any) -> Any:
    answer = await ask(app, key_of(*Scope), tool, **arguments)
    assert answer.code == "ok", answer.text
    return answer
