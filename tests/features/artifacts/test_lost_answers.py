"""Puts of artifacts whose answers are lost: each is applied once, its bytes are whole, and its key is charged once."""

import hashlib
import secrets
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.quotas import Account, Quotas
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.creation import Create
from dcf.errors import StoreUnavailable, UnknownOutcome
from dcf.features.artifacts import quota_storage as artifact_quotas
from dcf.features.artifacts.keys import arriving
from dcf.features.artifacts.model import ArtifactKind, ArtifactPut, ArtifactStands, PartGiven
from dcf.features.artifacts.operations import ArtifactRead
from dcf.features.artifacts.storage import ArtifactStore
from dcf.store.access.authors import authored_by
from dcf.store.keys import table as keys
from dcf.tools.mcp.server import build_http_app
from dcf.values.refusal import Refusal
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.tools.calls import ONE_TASK, serving

INLINE = 1024
SHAPES = {"short": [b"a" * 10], "long": [b"b" * 5000], "parts": [b"c" * 3000, b"d" * 3000]}


@pytest.fixture
def way(own_redis: RestrictedRedis) -> Iterator[Proxy]:
    with Proxy(own_redis.socket, own_redis.login()) as proxy:
        yield proxy


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def shelf(replica: Callable[..., Application], home: Path) -> Application:
    return replica(artifact_store=f"dir:{home}", artifact_inline_bytes=INLINE)


@pytest.fixture
def remote(replica: Callable[..., Application], home: Path, way: Proxy) -> Application:
    """The same, where requests and answers can be lost on their way."""
    return replica(artifact_store=f"dir:{home}", artifact_inline_bytes=INLINE, redis_url=way.url)


def new_run(shelf: Application) -> str:
    wish = Create(
        workflow_id=f"r-{secrets.token_hex(5)}", definition=read_definition(ONE_TASK), run_input={}, agents={},
        planner_agent_id=None, retention_s=None, max_attempts=10,
    )  # fmt: skip
    shelf.control_plane.create(wish)
    return wish.workflow_id


def new_account() -> Account:
    return Account(key_id=secrets.token_hex(6), quotas=Quotas())


def parts_of(run: str, pieces: list[bytes], name: str = "a") -> list[PartGiven]:
    kind, whole = ArtifactKind(name=name, content_type="binary", metadata={}), hashlib.sha256(b"".join(pieces))
    return [
        PartGiven(
            workflow_id=run, artifact_id=name, kind=kind, data=data, number=number, of=len(pieces),
            whole=whole.hexdigest(),
        )
        for number, data in enumerate(pieces, 1)
    ]  # fmt: skip


def put(remote: Application, account: Account, parts: list[PartGiven]) -> list[ArtifactStands | Refusal]:
    """Put an artifact. A call that Redis did not answer is repeated, as its error advises."""
    answers = []
    with authored_by(f"key:{account.key_id}", account):
        for part in parts:
            try:
                answers.append(remote.artifacts.put(part))
            except (StoreUnavailable, UnknownOutcome):
                answers.append(remote.artifacts.put(part))
    return answers


def assert_is_whole(shelf: Application, run: str, home: Path, pieces: list[bytes]) -> None:
    """Assert that the artifact is there with its bytes, counted once for its run, and that nothing else is kept."""
    artifact = shelf.artifacts.read(run, "a", 0, None)
    assert isinstance(artifact, ArtifactRead), artifact
    assert artifact.data == b"".join(pieces)
    page = shelf.artifacts.page(run, None, 10)
    assert (page.count, page.bytes, len(page.uploads)) == (1, artifact.artifact.size, 0)
    sizes = sorted(path.stat().st_size for path in (home / run).rglob("*") if path.is_file())
    assert sizes == [len(piece) for piece in pieces if len(piece) > INLINE]


@rows("shape", SHAPES)
@rows("fault", [Fault.LOSE_REPLY, Fault.CUT_BEFORE])
def test_put_with_a_fault_in_any_packet_stores_and_counts_its_bytes_once(
    shelf: Application,
    remote: Application,
    way: Proxy,
    home: Path,
    raw_redis: Any,
    monkeypatch: pytest.MonkeyPatch,
    shape: str,
    fault: Fault,
) -> None:
    monkeypatch.setattr(artifact_quotas, "_ARRIVES_WITHIN_S", 0)
    pieces = SHAPES[shape]
    for before in count():
        run, account = new_run(shelf), new_account()
        way.plan(fault, None, before=before)
        answers = put(remote, account, parts_of(run, pieces))
        assert all(isinstance(answer, ArtifactStands) for answer in answers), (before, answers)
        assert_is_whole(shelf, run, home, pieces)
        put(shelf, account, parts_of(run, [b"x"], "next"))
        quota = raw_redis.hgetall(keys.quota(account.key_id, "artifacts"))
        assert int(quota[b""]) == sum(map(len, pieces)) + 1, before
        assert sum(map(int, quota.values())) == 2 * int(quota[b""]), before
        if not way.is_spent:
            break
    assert before > len(pieces)
    way._plans.clear()


@rows("shape", SHAPES)
def test_put_whose_commit_reply_was_lost_reports_the_stored_artifact(
    shelf: Application, remote: Application, way: Proxy, home: Path, shape: str
) -> None:
    pieces, run = SHAPES[shape], new_run(shelf)
    for part in parts_of(run, pieces):
        way.plan(Fault.LOSE_REPLY)
        (answer,) = put(remote, new_account(), [part])
        assert isinstance(answer, ArtifactStands)
        assert (answer.existed, way.is_spent) == (False, True)
    assert_is_whole(shelf, run, home, pieces)


def test_upload_with_wrong_bytes_is_rejected_although_a_reply_is_lost(
    shelf: Application, remote: Application, way: Proxy, home: Path
) -> None:
    run = new_run(shelf)
    first, last = parts_of(run, [b"e" * 3000, b"f" * 3000])
    (wrong, _) = parts_of(run, [b"g" * 3000, b"f" * 3000])
    put(shelf, new_account(), [wrong])
    way.plan(Fault.LOSE_REPLY, before=1)
    (refused,) = put(remote, new_account(), [last])
    assert way.is_spent
    assert isinstance(refused, Refusal)
    assert refused.code == "sha256_differs"
    assert not [path for path in (home / run).rglob("*") if path.is_file()]
    put(shelf, new_account(), [first, last])
    assert_is_whole(shelf, run, home, [first.data, last.data])


def test_a_body_put_over_http_is_whole_when_the_answer_of_redis_is_lost(
    shelf: Application, replica: Callable[..., Application], way: Proxy, home: Path
) -> None:
    run, data = new_run(shelf), secrets.token_bytes(200_000)
    site = replica(artifact_store=f"dir:{home}", redis_url=way.url, auth="keys")
    text = site.keys.create((Scope.READ, Scope.WORK), agent_id=None, label=None, life_s=600).text
    with serving(build_http_app(site)) as url:
        way.plan(Fault.LOSE_REPLY)
        named, headers = {"name": "a", "artifact_id": "a"}, {"Authorization": f"Bearer {text}"}
        answers = [httpx2.put(f"{url}/artifacts/{run}", params=named, content=data, headers=headers) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 200]
        assert way.is_spent
        assert httpx2.get(f"{url}/artifacts/{run}/a", headers=headers).content == data
    assert_is_whole(shelf, run, home, [data])


class Died(Exception):
    """The process of a put ends."""


@rows("shape", SHAPES)
def test_the_sweep_gives_back_the_bytes_of_a_put_whose_process_died(
    shelf: Application, raw_redis: Any, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    def dies(*_: Any, **__: Any) -> None:
        raise Died

    run, account = new_run(shelf), new_account()
    put(shelf, account, parts_of(run, [b"kept"], "kept"))
    last = parts_of(run, SHAPES[shape])[-1]
    with monkeypatch.context() as patch, authored_by(f"key:{account.key_id}", account):
        reserve = ArtifactStore.reserve

        def reserved(store: ArtifactStore, prefix: str, wish: ArtifactPut) -> Refusal | None:
            answer = reserve(store, prefix, wish)
            patch.setattr(ArtifactStore, "transact", dies)
            return answer

        patch.setattr(ArtifactStore, "reserve", reserved)
        with pytest.raises(Died):
            shelf.artifacts.put(last)
    quota = keys.quota(account.key_id, "artifacts")
    assert int(raw_redis.hget(quota, "")) == len(b"kept") + len(last.data)
    shelf.sweep.look(repair=True)
    assert int(raw_redis.hget(quota, "")) == len(b"kept") + len(last.data), "the put may still go on"
    with monkeypatch.context() as patch:
        patch.setattr(artifact_quotas, "_ARRIVES_WITHIN_S", 0)
        shelf.sweep.look(repair=True)
    assert int(raw_redis.hget(quota, "")) == len(b"kept")
    assert raw_redis.exists(arriving(account.key_id)) == 0
