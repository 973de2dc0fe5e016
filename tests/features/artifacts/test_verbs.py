"""Artifacts through their tools: immutable, checked, in parts, in Redis and beyond, gone with their run alone."""

import base64
import hashlib
import json
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.core.access.quotas import Account, Quotas
from dcf.features.artifacts.keys import BLOBS, UPLOADS
from dcf.features.artifacts.model import MOST_PARTS, UPLOAD_LIFE_S, ArtifactKind, ArtifactStands, PartGiven
from dcf.store.keys import table as keys
from dcf.tools.mcp.server import build_server
from dcf.values.refusal import Refusal
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import Answer, Tools, new_run

pytestmark = pytest.mark.anyio

INLINE = 1024
ONE = 300_000
RUN = 1_000_000


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shelf") / "artifacts"


@pytest.fixture(scope="session")
def shelf(replica: Callable[..., Application], home: Path) -> Application:
    """An application with a directory for long content, and small limits."""
    return replica(
        artifact_store=f"dir:{home}",
        artifact_inline_bytes=INLINE,
        artifact_max_bytes=ONE,
        artifact_run_bytes=RUN,
        allow_operator=True,
    )


@pytest.fixture
async def shelved(shelf: Application) -> Any:
    async with Client(build_server(shelf)) as client:
        yield await Tools.of(client)


@pytest.fixture
async def run(shelved: Tools, run_id: str) -> str:
    return await new_run(shelved, run_id)


def b64(data: bytes) -> dict[str, str]:
    return {"content": base64.b64encode(data).decode(), "encoding": "base64"}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def files(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def below(home: Path, run: str) -> list[Path]:
    return files(home / run)


async def whole(tools: Tools, run: str, artifact_id: str) -> bytes:
    """The content, read in answers of a few bytes less than there are."""
    whole, offset = b"", 0
    while offset is not None:
        answer = await tools.ok(
            "get_artifact", workflow_id=run, artifact_id=artifact_id, offset=offset, length=90_000, encoding="base64"
        )
        whole += base64.b64decode(answer["content"])
        offset = answer["next_offset"]
    return whole


@pytest.mark.parametrize("size", [0, 1, INLINE, INLINE + 1, 200_001])
async def test_what_is_put_is_what_is_got(shelved: Tools, run: str, home: Path, size: int) -> None:
    data = secrets.token_bytes(size)
    put = await shelved.ok("put_artifact", workflow_id=run, name="a.bin", content_type="binary", **b64(data))
    artifact = put["artifact"]
    assert (artifact["size"], artifact["sha256"]) == (size, sha(data))
    assert await whole(shelved, run, artifact["artifact_id"]) == data
    assert len(below(home, run)) == (1 if size > INLINE else 0), "short content is in Redis"


async def test_an_id_that_dcf_makes_begins_with_the_name(shelved: Tools, run: str) -> None:
    put = await shelved.ok("put_artifact", workflow_id=run, name="Q3 report (draft).md", content="x")
    assert re.fullmatch(r"Q3-report-draft-.md-[0-9a-f]{12}", put["artifact"]["artifact_id"])


async def test_what_is_no_text_is_sent_as_base64_without_saying_so(shelved: Tools, run: str) -> None:
    data = secrets.token_bytes(50)
    content = base64.b64encode(data).decode()
    put = await shelved.ok("put_artifact", workflow_id=run, name="a.png", content=content, content_type="image/png")
    assert put["artifact"]["sha256"] == sha(data)
    await shelved.refused(
        "invalid_argument",
        "put_artifact",
        workflow_id=run,
        name="b.png",
        content="no base64!",
        content_type="image/png",
    )


async def test_text_comes_back_as_text_cut_between_characters(shelved: Tools, run: str) -> None:
    text = "Grüße, 世界! " * 20
    put = await shelved.ok("put_artifact", workflow_id=run, name="hello.md", content=text, content_type="markdown")
    assert put["artifact"]["content_type"] == "text/markdown"
    result, offset, pieces = "", 0, 0
    while offset is not None:
        answer = await shelved.ok(
            "get_artifact", workflow_id=run, artifact_id=put["artifact"]["artifact_id"], offset=offset, length=7
        )
        assert answer["encoding"] == "text"
        result, offset, pieces = result + answer["content"], answer["next_offset"], pieces + 1
    assert result == text
    assert pieces > 30


async def test_the_same_content_again_is_the_same_artifact(shelved: Tools, run: str) -> None:
    wish = {"workflow_id": run, "name": "plan.txt", "content": "first this, then that"}
    first, again = await shelved.ok("put_artifact", **wish), await shelved.ok("put_artifact", **wish)
    assert (first["existed"], again["existed"]) == (False, True)
    assert first["artifact"] == again["artifact"]
    listed = await shelved.ok("list_artifacts", workflow_id=run)
    assert listed["total"] == len(listed["artifacts"]) == 1
    events = await shelved.ok("read_run_events", workflow_id=run, types_json=["ArtifactPut"])
    assert len(events["events"]) == 1


@pytest.mark.parametrize("size", [10, 5000])
async def test_other_content_under_an_id_is_a_conflict(shelved: Tools, run: str, home: Path, size: int) -> None:
    wish = {"workflow_id": run, "name": "plan.txt", "artifact_id": "plan"}
    await shelved.ok("put_artifact", **wish, content="x" * size)
    before = below(home, run)
    await shelved.refused("conflict", "put_artifact", **wish, content="y" * size)
    await shelved.refused("conflict", "put_artifact", **wish | {"name": "other.txt"}, content="x" * size)
    assert below(home, run) == before, "nothing of the refused content is left"
    assert (await whole(shelved, run, "plan")) == b"x" * size


async def test_the_digest_of_the_caller_is_compared(shelved: Tools, run: str, home: Path) -> None:
    wish = {"workflow_id": run, "name": "a", "content": "x" * 5000}
    await shelved.ok("put_artifact", **wish, sha256=sha(b"x" * 5000).upper())
    await shelved.refused("sha256_differs", "put_artifact", **wish | {"name": "b"}, sha256=sha(b"y"))
    assert len(below(home, run)) == 1


async def test_provenance_is_kept(shelved: Tools, run: str) -> None:
    await shelved.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="worker-1")
    put = await shelved.ok(
        "put_artifact",
        workflow_id=run,
        name="out/report.json",
        content='{"total": 3}',
        content_type="json",
        state="A",
        agent_id="worker-1",
        metadata_json={"rows": 3},
    )
    artifact = put["artifact"]
    assert (artifact["state"], artifact["attempt"], artifact["agent_id"]) == ("A", 1, "worker-1")
    assert (artifact["created_by"], artifact["metadata"], artifact["content_type"]) == (
        "local",
        {"rows": 3},
        "application/json",
    )


async def test_parts_come_in_any_order_and_more_than_once(shelved: Tools, run: str, home: Path) -> None:
    data = secrets.token_bytes(250_000)
    pieces = [data[at : at + 100_000] for at in range(0, len(data), 100_000)]
    wish = {"workflow_id": run, "name": "big", "artifact_id": "big", "content_type": "binary", "of": 3}
    for number in (3, 1, 3):
        answer = await shelved.ok("put_artifact", **wish, part=number, **b64(pieces[number - 1]))
        assert answer["artifact"] is None
    assert answer["upload"]["missing"] == [2]
    await shelved.refused("unknown_artifact", "get_artifact", workflow_id=run, artifact_id="big")
    listed = await shelved.ok("list_artifacts", workflow_id=run)
    assert [upload["artifact_id"] for upload in listed["uploads"]] == ["big"]
    done = await shelved.ok("put_artifact", **wish, part=2, sha256=sha(data), **b64(pieces[1]))
    assert done["artifact"]["sha256"] == sha(data)
    assert await whole(shelved, run, "big") == data
    again = await shelved.ok("put_artifact", **wish, part=1, **b64(pieces[0]))
    assert again["existed"] is True
    assert len(below(home, run)) == 3
    assert (await shelved.ok("list_artifacts", workflow_id=run))["uploads"] == []


async def test_another_part_of_a_number_is_a_conflict(shelved: Tools, run: str) -> None:
    wish = {"workflow_id": run, "name": "big", "artifact_id": "big", "of": 2}
    await shelved.ok("put_artifact", **wish, part=1, content="one")
    await shelved.refused("conflict", "put_artifact", **wish, part=1, content="two")
    await shelved.refused("conflict", "put_artifact", **wish | {"of": 3}, part=2, content="two")


async def test_an_upload_that_became_something_else_than_meant_is_dropped(shelved: Tools, run: str, home: Path) -> None:
    wish = {"workflow_id": run, "name": "big", "artifact_id": "big", "of": 2}
    await shelved.ok("put_artifact", **wish, part=1, content="one")
    await shelved.refused("sha256_differs", "put_artifact", **wish, part=2, content="two", sha256=sha(b"else"))
    assert below(home, run) == []
    assert (await shelved.ok("list_artifacts", workflow_id=run))["total"] == 0
    await shelved.ok("put_artifact", **wish, part=1, content="another")


@rows(
    ("wrong", "code"),
    [
        ({"content": "no base64!", "encoding": "base64"}, "invalid_argument"),
        ({"content_type": "nonsense"}, "invalid_argument"),
        ({"content_type": "json", "content": "{"}, "invalid_argument"),
        ({"part": 2, "of": 1}, "invalid_argument"),
        ({"of": 2}, "invalid_argument"),
        ({"of": MOST_PARTS + 1, "artifact_id": "a"}, "invalid_argument"),
        ({"sha256": "g" * 64}, "invalid_argument"),
        ({"name": "a\u200bb"}, "invalid_argument"),
        ({"metadata_json": {"long": "x" * 20_000}}, "too_large"),
        ({"metadata_json": []}, "invalid_argument"),
        ({"state": "Nowhere"}, "unknown_state"),
        ({"content": "x" * (ONE + 1)}, "too_large"),
    ],
)
async def test_what_is_no_artifact_is_refused(shelved: Tools, run: str, wrong: dict[str, Any], code: str) -> None:
    await shelved.refused(code, "put_artifact", **{"workflow_id": run, "name": "a", "content": "b"} | wrong)
    assert (await shelved.ok("list_artifacts", workflow_id=run))["total"] == 0


async def test_a_run_has_no_more_bytes_of_artifacts_than_it_may(shelved: Tools, run: str) -> None:
    for number in range(3):
        await shelved.ok("put_artifact", workflow_id=run, name=f"f{number}", content=f"{number}" * ONE)
    refused = await shelved.refused("too_large", "put_artifact", workflow_id=run, name="f3", content="3" * ONE)
    assert "DCF_ARTIFACT_RUN_BYTES" in refused.hint
    parts = {"workflow_id": run, "name": "f4", "artifact_id": "f4", "of": 2}
    await shelved.ok("put_artifact", **parts, part=1, content="4" * 90_000)
    await shelved.refused("too_large", "put_artifact", **parts, part=2, content="4" * 90_000)


async def test_an_upload_may_not_become_longer_than_an_artifact(shelved: Tools, run: str) -> None:
    parts = {"workflow_id": run, "name": "f", "artifact_id": "f", "of": 2}
    await shelved.ok("put_artifact", **parts, part=1, content="4" * 200_000)
    await shelved.refused("too_large", "put_artifact", **parts, part=2, content="4" * 200_000)


async def test_a_run_has_a_thousand_artifacts_at_most(
    shelved: Tools, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.features.artifacts.rules.MOST_ARTIFACTS", 3)
    for number in range(3):
        await shelved.ok("put_artifact", workflow_id=run, name=f"f{number}", content="x")
    await shelved.refused("too_many", "put_artifact", workflow_id=run, name="f3", content="x")
    await shelved.ok("put_artifact", workflow_id=run, name="f2", content="x")


async def test_without_a_store_only_short_content_is_kept(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    limit = 64 * 1024
    await tools.ok("put_artifact", workflow_id=run_id, name="fits", content="x" * limit)
    refused = await tools.refused(
        "no_artifact_store", "put_artifact", workflow_id=run_id, name="not", content="x" * (limit + 1)
    )
    assert "DCF_ARTIFACT_STORE" in refused.hint
    parts = {"workflow_id": run_id, "name": "p", "artifact_id": "p", "of": 2}
    await tools.ok("put_artifact", **parts, part=1, content="x" * 60_000)
    await tools.refused("no_artifact_store", "put_artifact", **parts, part=2, content="x" * 60_000)


async def test_pages_follow_each_other_oldest_first(shelved: Tools, run: str) -> None:
    for number in range(5):
        await shelved.ok("put_artifact", workflow_id=run, name=f"f{number}", content="x")
    names, cursor = list[str](), None
    while True:
        more: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        page = await shelved.ok("list_artifacts", workflow_id=run, limit=2, **more)
        names += [artifact["name"] for artifact in page["artifacts"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert names == [f"f{number}" for number in range(5)]


@rows("damage", ["changed", "gone"])
async def test_damaged_content_is_not_handed_out(shelved: Tools, run: str, home: Path, damage: str) -> None:
    await shelved.ok("put_artifact", workflow_id=run, name="a", artifact_id="a", content="x" * 5000)
    (path,) = below(home, run)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"y" * 5000)
    await shelved.refused("damaged", "get_artifact", workflow_id=run, artifact_id="a")


async def test_files_are_private_and_whole_under_their_names(shelved: Tools, run: str, home: Path) -> None:
    await shelved.ok("put_artifact", workflow_id=run, name="a", content="x" * 5000)
    (path,) = below(home, run)
    assert path.stat().st_mode & 0o777 == 0o600
    assert {item.stat().st_mode & 0o777 for item in (home, *path.parents[: len(path.relative_to(home).parts) - 1])} == {
        0o700
    }
    assert not [file for file in files(home) if file.name.startswith(".part-")]


async def test_a_deleted_run_takes_its_artifacts_along_and_no_others(
    shelved: Tools, run: str, home: Path, raw_redis: Any
) -> None:
    """Two runs have the same content; what one loses the other keeps."""
    other = await new_run(shelved, f"{run}-other")
    for workflow_id in (run, other):
        await shelved.ok("put_artifact", workflow_id=workflow_id, name="same", artifact_id="same", content="x" * 5000)
        await shelved.ok("put_artifact", workflow_id=workflow_id, name="short", content="x")
    await shelved.ok("cancel_run", workflow_id=run)
    await shelved.ok("delete_run", workflow_id=run)
    assert raw_redis.keys(f"*wf:{run}:*") == []
    assert not (home / run).exists()
    assert not [item for item in raw_redis.zrange(BLOBS, 0, -1) if item.startswith(f"{run}/".encode())]
    assert await whole(shelved, other, "same") == b"x" * 5000


async def test_bytes_of_a_run_that_is_gone_are_found_and_deleted(
    shelf: Application, shelved: Tools, run: str, home: Path, raw_redis: Any
) -> None:
    """Redis lets keys of a run expire, or the process that deleted it died before it came to the files."""
    await shelved.ok("put_artifact", workflow_id=run, name="a", content="x" * 5000)
    other = await new_run(shelved, f"{run}-other")
    await shelved.ok("put_artifact", workflow_id=other, name="a", artifact_id="a", content="x" * 5000)
    for key in raw_redis.keys(f"*wf:{run}:*"):
        raw_redis.delete(key)
    _clean(shelf)
    assert below(home, run), "a run may be just being made: nothing is deleted in the first minutes"
    _age(raw_redis)
    _clean(shelf)
    assert not (home / run).exists()
    assert await whole(shelved, other, "a") == b"x" * 5000


async def test_a_run_made_anew_under_the_same_id_has_none_of_the_old_artifacts(
    shelf: Application, shelved: Tools, run: str, home: Path, raw_redis: Any
) -> None:
    await shelved.ok("put_artifact", workflow_id=run, name="a", artifact_id="a", content="old" * 5000)
    for key in raw_redis.keys(f"*wf:{run}:*"):
        raw_redis.delete(key)
    await new_run(shelved, run)
    await shelved.refused("unknown_artifact", "get_artifact", workflow_id=run, artifact_id="a")
    await shelved.ok("put_artifact", workflow_id=run, name="a", artifact_id="a", content="new" * 5000)
    _age(raw_redis)
    _clean(shelf)
    assert await whole(shelved, run, "a") == b"new" * 5000
    assert len(below(home, run)) == 1


def _clean(shelf: Application) -> None:
    """Clean up as the timer loop does, a few at a time, until it has looked at all that is due."""
    for _ in range(10):
        shelf.artifacts.clean()


def _age(raw_redis: Any) -> None:
    """Let all entries be of an hour ago."""
    for member, at in raw_redis.zrange(BLOBS, 0, -1, withscores=True):
        raw_redis.zadd(BLOBS, {member: at - 3600 * 1_000_000})


async def test_an_upload_that_nobody_finishes_is_dropped(
    shelf: Application, shelved: Tools, run: str, home: Path, raw_redis: Any
) -> None:
    parts = {"workflow_id": run, "name": "p", "artifact_id": "p", "of": 2}
    await shelved.ok("put_artifact", **parts, part=1, content="x" * 5000)
    assert len(below(home, run)) == 1
    _forget_uploads(raw_redis, run)
    _clean(shelf)
    assert below(home, run) == []
    assert (await shelved.ok("list_artifacts", workflow_id=run))["total_bytes"] == 0
    assert _uploads_of(raw_redis, run) == []


async def test_a_deleted_run_leaves_no_upload_in_the_index(shelved: Tools, run: str, raw_redis: Any) -> None:
    parts = {"workflow_id": run, "name": "p", "of": 2, "part": 1, "content": "x" * 5000}
    for name in ("p", "q"):
        await shelved.ok("put_artifact", **parts, artifact_id=name)
    assert len(_uploads_of(raw_redis, run)) == 2
    await shelved.ok("cancel_run", workflow_id=run)
    await shelved.ok("delete_run", workflow_id=run)
    assert _uploads_of(raw_redis, run) == []


async def test_the_clock_takes_uploads_of_an_expired_run_off_the_index(
    shelf: Application, shelved: Tools, run: str, raw_redis: Any
) -> None:
    other = await new_run(shelved, f"{run}-2")
    for owner in (run, other):
        await shelved.ok("put_artifact", workflow_id=owner, name="p", artifact_id="p", of=2, part=1, content="x" * 5000)
    for key in raw_redis.keys(f"*wf:{run}:*"):
        raw_redis.delete(key)
    _clean(shelf)
    assert (len(_uploads_of(raw_redis, run)), len(_uploads_of(raw_redis, other))) == (0, 1)


def _uploads_of(raw_redis: Any, run: str) -> list[bytes]:
    """The entries of a run in the index of uploads."""
    return [entry for entry in raw_redis.zrange(UPLOADS, 0, -1) if entry.startswith(f"{run}/".encode())]


async def test_an_upload_that_goes_on_is_not_dropped(
    shelf: Application, shelved: Tools, run: str, raw_redis: Any
) -> None:
    parts = {"workflow_id": run, "name": "p", "artifact_id": "p", "of": 2}
    await shelved.ok("put_artifact", **parts, part=1, content="x" * 5000)
    for member in raw_redis.zrange(UPLOADS, 0, -1):
        raw_redis.zadd(UPLOADS, {member: 1})
    _clean(shelf)
    done = await shelved.ok("put_artifact", **parts, part=2, content="y" * 5000)
    for member in raw_redis.zrange(UPLOADS, 0, -1):
        raw_redis.zadd(UPLOADS, {member: 1})
    _clean(shelf)
    assert await whole(shelved, run, "p") == b"x" * 5000 + b"y" * 5000
    assert done["artifact"]["size"] == 10_000


async def test_a_whole_put_over_an_unfinished_upload_leaves_nothing_of_it(
    shelf: Application, shelved: Tools, run: str, home: Path, raw_redis: Any
) -> None:
    parts = {"workflow_id": run, "name": "p", "artifact_id": "p"}
    await shelved.ok("put_artifact", **parts, of=2, part=1, content="x" * 5000)
    await shelved.ok("put_artifact", **parts, content="whole" * 1000)
    assert (await shelved.ok("list_artifacts", workflow_id=run))["total_bytes"] == 5000
    for member in raw_redis.zrange(UPLOADS, 0, -1):
        raw_redis.zadd(UPLOADS, {member: 1})
    _clean(shelf)
    assert len(below(home, run)) == 1
    assert await whole(shelved, run, "p") == b"whole" * 1000


def _forget_uploads(raw_redis: Any, run: str) -> None:
    """Let the uploads of a run be of two days ago."""
    key = f"dp:wf:{run}:uploads"
    for name, text in raw_redis.hgetall(key).items():
        document = json.loads(text)
        document["at"] -= 2 * UPLOAD_LIFE_S * 1_000_000
        raw_redis.hset(key, name, json.dumps(document))
    for member in raw_redis.zrange(UPLOADS, 0, -1):
        raw_redis.zadd(UPLOADS, {member: 1})


def _given(run: str, data: bytes, number: int = 1, of: int = 1, artifact_id: str = "raced") -> PartGiven:
    kind = ArtifactKind(name="raced", content_type="application/octet-stream", metadata={})
    return PartGiven(workflow_id=run, artifact_id=artifact_id, kind=kind, data=data, number=number, of=of, whole=None)


async def _at_once(attempts: list[Callable[[], Any]]) -> list[Any]:
    begin, answers = threading.Barrier(len(attempts)), list[Any]()

    def attempt(do: Callable[[], Any]) -> None:
        begin.wait()
        answers.append(do())

    threads = [threading.Thread(target=attempt, args=(item,)) for item in attempts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.parametrize("size", [10, 5000])
async def test_of_two_who_put_other_content_at_once_one_is_kept_and_the_other_is_told(
    shelf: Application, shelved: Tools, run: str, home: Path, size: int
) -> None:
    for number in range(50):
        name = f"raced-{number}"
        contents = [bytes([which]) * size for which in (1, 2)]
        wishes = [_given(run, data, artifact_id=name) for data in contents]
        answers = await _at_once([partial(shelf.artifacts.put, wish) for wish in wishes])
        refused = [answer for answer in answers if isinstance(answer, Refusal)]
        stored = [answer for answer in answers if isinstance(answer, ArtifactStands) and not answer.existed]
        assert ([item.code for item in refused], len(stored)) == (["conflict"], 1)
        assert await whole(shelved, run, name) in contents
    assert len(below(home, run)) == (50 if size > INLINE else 0), "nothing of those who lost is left"


async def test_a_part_is_not_damaged_by_who_writes_other_bytes_for_it_at_once(
    shelf: Application, shelved: Tools, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = secrets.token_bytes(2000), secrets.token_bytes(2000)
    write, first = shelf.artifacts._write, [True]

    def late(prefix: str, name: str, data: bytes) -> None:
        if first.pop() if first else False:  # they were slower: ours is kept before their bytes are written
            assert isinstance(shelf.artifacts.put(_given(run, ours, 1, 2)), ArtifactStands)
        write(prefix, name, data)

    monkeypatch.setattr(shelf.artifacts, "_write", late)
    refused = shelf.artifacts.put(_given(run, theirs, 1, 2))
    assert isinstance(refused, Refusal)
    done = shelf.artifacts.put(_given(run, ours, 2, 2))
    assert isinstance(done, ArtifactStands), done
    assert await whole(shelved, run, "raced") == ours + ours


async def test_two_who_send_the_same_parts_at_once_make_one_artifact(
    shelf: Application, shelved: Tools, run: str, home: Path
) -> None:
    for number in range(10):
        name, pieces = f"raced-{number}", [secrets.token_bytes(2000) for _ in range(3)]

        def send(name: str = name, pieces: list[bytes] = pieces) -> Any:
            answer: Any = None
            for at, piece in enumerate(pieces, 1):
                answer = shelf.artifacts.put(_given(run, piece, at, 3, name))
                assert isinstance(answer, ArtifactStands), answer
            return answer

        answers = await _at_once([send, send, send])
        made = {answer.artifact.upload_id for answer in answers if answer.artifact is not None}
        assert len(made) == 1
        assert await whole(shelved, run, name) == b"".join(pieces)
    listed = await shelved.ok("list_artifacts", workflow_id=run)
    assert (listed["total"], listed["total_bytes"]) == (10, 60_000)


def bound(agent_id: str, *scopes: Scope, **more: Any) -> Caller:
    return replace(key_of(*scopes, agent_id=agent_id), **more)


async def test_only_agents_of_the_run_put_artifacts_into_it(shelf: Application, run: str) -> None:
    wish = {"workflow_id": run, "name": "a", "content": "b"}
    stranger = await ask(shelf, bound("stranger", Scope.READ, Scope.WORK), "put_artifact", **wish)
    assert stranger.code == "owner_mismatch"
    other = await ask(shelf, bound("worker-1", Scope.READ, Scope.WORK), "put_artifact", **wish, agent_id="worker-2")
    assert other.code == "forbidden"
    own = await ask(shelf, bound("worker-1", Scope.READ, Scope.WORK), "put_artifact", **wish)
    assert (own.code, own["artifact"]["agent_id"]) == ("ok", "worker-1")


async def test_a_key_holds_no_more_bytes_of_artifacts_than_its_quota(
    shelf: Application, shelved: Tools, run: str, raw_redis: Any
) -> None:
    account = Account(key_id=secrets.token_hex(6), quotas=Quotas(artifact_bytes=8000))
    caller = bound("worker-1", Scope.READ, Scope.WORK, account=account)

    async def put(name: str) -> Answer:
        return await ask(shelf, caller, "put_artifact", workflow_id=run, name=name, content="x" * 5000)

    assert (await put("a")).code == "ok"
    assert (await put("a")).code == "ok", "the same again costs nothing"
    assert (await put("b")).code == "quota_exceeded"
    quota = keys.quota(account.key_id, "artifacts")
    assert raw_redis.hget(quota, "") == b"5000"
    await shelved.ok("cancel_run", workflow_id=run)
    await shelved.ok("delete_run", workflow_id=run)
    again = await new_run(shelved, f"{run}-next")
    more = await ask(shelf, caller, "put_artifact", workflow_id=again, name="b", content="x" * 5000)
    assert more.code == "ok", more.text


async def test_a_finalized_run_takes_no_artifacts_but_shows_them(shelved: Tools, run: str) -> None:
    await shelved.ok("put_artifact", workflow_id=run, name="a", artifact_id="a", content="b")
    await shelved.ok("finalize_workflow", workflow_id=run)
    await shelved.refused("run_over", "put_artifact", workflow_id=run, name="c", content="d")
    assert (await shelved.ok("get_artifact", workflow_id=run, artifact_id="a"))["content"] == "b"


async def test_a_run_that_is_not_there_has_no_artifacts(shelved: Tools) -> None:
    for tool, more in (
        ("put_artifact", {"name": "a", "content": "b"}),
        ("get_artifact", {"artifact_id": "a"}),
        ("list_artifacts", {}),
    ):
        await shelved.refused("unknown_run", tool, workflow_id="nowhere", **more)
