"""Bytes of artifacts over plain HTTP: the same key, scopes, projects, limits and refusals as the tools have."""

import hashlib
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.creation import Create
from dcf.tools.mcp.server import build_http_app
from tests.tools.calls import ONE_TASK, serving

Replica = Callable[..., Application]


@pytest.fixture(scope="module")
def site(replica: Replica, tmp_path_factory: pytest.TempPathFactory) -> Application:
    home = tmp_path_factory.mktemp("routes") / "blobs"
    return replica(auth="keys", artifact_store=f"dir:{home}")


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


@pytest.fixture
def run(site: Application) -> str:
    wish = Create(
        workflow_id=f"r-{secrets.token_hex(5)}", definition=read_definition(ONE_TASK), run_input={}, agents={},
        planner_agent_id=None, retention_s=None, max_attempts=10, project="ours",
    )  # fmt: skip
    site.control_plane.create(wish)
    return wish.workflow_id


def key(site: Application, *scopes: Scope, **more: Any) -> dict[str, str]:
    text = site.keys.create((Scope.READ, *scopes), **{"agent_id": None, "label": None, "life_s": 600, **more}).text
    return {"Authorization": f"Bearer {text}"}


def test_a_body_is_kept_and_streamed_as_it_was(site: Application, url: str, run: str) -> None:
    data, caller = secrets.token_bytes(3_000_000), key(site, Scope.WORK)
    named = {"name": "a.png", "artifact_id": "a"}
    headers = caller | {"Content-Type": "image/png"}
    put = httpx2.put(f"{url}/artifacts/{run}", params=named, content=data, headers=headers)
    assert (put.status_code, put.json()["artifact"]["sha256"]) == (201, hashlib.sha256(data).hexdigest())
    again = httpx2.put(f"{url}/artifacts/{run}", params=named, content=data, headers=headers)
    assert (again.status_code, again.json()["existed"]) == (200, True)
    got = httpx2.get(f"{url}/artifacts/{run}/a", headers=caller)
    assert (got.status_code, got.content == data, got.headers["content-type"]) == (200, True, "image/png")
    assert (got.headers["content-disposition"], got.headers["x-content-type-options"]) == ("attachment", "nosniff")
    part = httpx2.get(f"{url}/artifacts/{run}/a", headers=caller | {"Range": "bytes=1000-1999"})
    assert (part.status_code, part.content) == (206, data[1000:2000])
    assert part.headers["content-range"] == "bytes 1000-1999/3000000"
    beyond = httpx2.get(f"{url}/artifacts/{run}/a", headers=caller | {"Range": "bytes=3000000-"})
    assert beyond.status_code == 416
    same = httpx2.get(f"{url}/artifacts/{run}/a", headers=caller | {"If-None-Match": got.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    head = httpx2.head(f"{url}/artifacts/{run}/a", headers=caller)
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "3000000", b"")


def test_parts_make_one_artifact_longer_than_a_request_may_be(site: Application, url: str, run: str) -> None:
    pieces, caller = [secrets.token_bytes(2_500_000) for _ in range(3)], key(site, Scope.WORK)
    statuses = [
        httpx2.put(
            f"{url}/artifacts/{run}",
            params={"name": "big", "artifact_id": "big", "part": number, "of": 3},
            content=piece,
            headers=caller,
        ).status_code
        for number, piece in enumerate(pieces, 1)
    ]
    assert statuses == [202, 202, 201]
    assert httpx2.get(f"{url}/artifacts/{run}/big", headers=caller).content == b"".join(pieces)


def test_bytes_that_look_like_many_values_are_not_counted_as_json(site: Application, url: str, run: str) -> None:
    caller = key(site, Scope.WORK)
    put = httpx2.put(f"{url}/artifacts/{run}", params={"name": "commas"}, content=b"[," * 500_000, headers=caller)
    assert put.status_code == 201


def test_refusals_have_the_status_of_their_kind(site: Application, url: str, run: str) -> None:
    caller = key(site, Scope.WORK)
    named = {"name": "a", "artifact_id": "a"}
    put = f"{url}/artifacts/{run}"
    assert httpx2.put(put, params=named, content=b"one", headers=caller).status_code == 201
    conflict = httpx2.put(put, params=named, content=b"two", headers=caller)
    assert (conflict.status_code, conflict.json()["code"]) == (409, "conflict")
    wrong = httpx2.put(put, params={"name": "b", "sha256": "0" * 64}, content=b"two", headers=caller)
    assert (wrong.status_code, wrong.json()["code"]) == (422, "sha256_differs")
    assert httpx2.put(put, content=b"nameless", headers=caller).status_code == 400
    assert httpx2.put(put, params={"name": "b", "part": "x"}, content=b"", headers=caller).status_code == 400
    assert httpx2.put(put, params=named, content=b"x" * 4_200_000, headers=caller).status_code == 413
    assert httpx2.put(f"{url}/artifacts/nowhere", params=named, content=b"", headers=caller).status_code == 404
    assert httpx2.get(f"{put}/missing", headers=caller).status_code == 404


def test_the_key_decides_as_for_the_tools(site: Application, url: str, run: str) -> None:
    put, named = f"{url}/artifacts/{run}", {"name": "a", "artifact_id": "a"}
    assert httpx2.put(put, params=named, content=b"one").status_code == 401
    assert httpx2.get(f"{put}/a").status_code == 401
    assert httpx2.put(put, params=named, content=b"one", headers=key(site)).status_code == 403
    elsewhere = key(site, Scope.WORK, project="theirs")
    assert httpx2.put(put, params=named, content=b"one", headers=elsewhere).status_code == 404
    ours = key(site, Scope.WORK, project="ours")
    assert httpx2.put(put, params=named, content=b"one", headers=ours).status_code == 201
    assert httpx2.get(f"{put}/a", headers=elsewhere).status_code == 404
    assert httpx2.get(f"{put}/a", headers=key(site)).content == b"one"
    foreign = key(site, Scope.WORK) | {"Origin": "https://evil.example"}
    assert httpx2.put(put, params=named, content=b"one", headers=foreign).status_code == 403


def test_a_server_that_changes_nothing_takes_no_bytes(replica: Replica, site: Application, run: str) -> None:
    caller = key(site, Scope.WORK)
    with serving(build_http_app(replica(auth="keys", read_only=True))) as url:
        assert httpx2.put(f"{url}/artifacts/{run}", params={"name": "a"}, content=b"", headers=caller).status_code in {
            404,
            405,
        }
        assert httpx2.get(f"{url}/artifacts/{run}/a", headers=caller).json()["code"] == "unknown_artifact"


def test_content_that_breaks_off_is_not_taken_for_all(site: Application, url: str, run: str) -> None:
    caller = key(site, Scope.WORK)
    pieces = [secrets.token_bytes(3_000_000) for _ in range(2)]
    for number, piece in enumerate(pieces, 1):
        named = {"name": "big", "artifact_id": "big", "part": str(number), "of": "2"}
        httpx2.put(f"{url}/artifacts/{run}", params=named, content=piece, headers=caller)
    home = Path(str(site.settings.artifact_store).removeprefix("dir:"))
    (second,) = home.glob(f"{run}/*/big/*/2-*")
    second.write_bytes(b"damaged")
    with pytest.raises(httpx2.HTTPError):
        httpx2.get(f"{url}/artifacts/{run}/big", headers=caller)
