"""The file tools through a client: what is promised of every answer, text that is never cut, and binary content."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.tools.mcp.server import build_server
from tests.support.tables import rows
from tests.tools.access import EVERYTHING, ask, key_of
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]


@pytest.fixture
async def files(replica: Replica, tmp_path: Path) -> AsyncIterator[Tools]:
    (tmp_path / "root").mkdir()
    application = replica(files_write=(tmp_path / "root",), files_max_bytes=1000)
    async with Client(build_server(application)) as client:
        yield await Tools.of(client)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


CALLS: dict[str, dict[str, Any]] = {
    "list_directory": {"path": "{}"},
    "read_file": {"path": "{}"},
    "write_file": {"path": "{}", "content": "x"},
    "create_directory": {"path": "{}"},
    "delete_path": {"path": "{}"},
    "move_path": {"source": "{}", "destination": "new"},
}


def names(directory: Path) -> list[str]:
    return [item.name for item in directory.iterdir()]


@rows("tool", CALLS)
async def test_no_key_reaches_a_file_unless_directories_are_configured(
    replica: Replica, tmp_path: Path, tool: str
) -> None:
    unconfigured = replica(data_dir=tmp_path)
    answer = await ask(unconfigured, key_of(*EVERYTHING), tool, **CALLS[tool])
    assert answer.code == "not_configured"
    assert "DCF_FILES_READ or DCF_FILES_WRITE" in answer.hint
    assert names(tmp_path) == []


async def test_the_local_user_has_the_workflows_directory_of_the_data_directory(
    replica: Replica, tmp_path: Path
) -> None:
    async with Client(build_server(replica(data_dir=tmp_path / "data"))) as client:
        files = await Tools.of(client)
        written = await files.ok("write_file", path="order.json", content="{}")
        assert written["path"] == f"{tmp_path}/data/workflows/order.json"
        for path in ("../x", f"{tmp_path}/data", f"{tmp_path}/data/redis.log"):
            answer = await files.call("write_file", path=path, content="x")
            assert answer.code in {"forbidden", "invalid_argument"}
    assert names(tmp_path / "data") == ["workflows"]


async def test_a_configured_directory_takes_the_place_of_the_default(replica: Replica, tmp_path: Path) -> None:
    (tmp_path / "read").mkdir()
    configured = replica(data_dir=tmp_path / "data", files_read=(tmp_path / "read",))
    async with Client(build_server(configured)) as client:
        await (await Tools.of(client)).refused("forbidden", "write_file", path="x", content="x")
    assert not (tmp_path / "data").exists()


async def test_the_local_user_writes_where_the_setting_for_workflows_says(replica: Replica, tmp_path: Path) -> None:
    async with Client(build_server(replica(data_dir=tmp_path / "data", workflows_dir=tmp_path / "mine"))) as client:
        written = await (await Tools.of(client)).ok("write_file", path="a.json", content="{}")
    assert written["path"] == str(tmp_path / "mine" / "a.json")
    assert (tmp_path / "mine" / "a.json").read_text() == "{}"


async def test_a_data_directory_that_cannot_be_made_is_not_configured(replica: Replica, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with Client(build_server(replica(data_dir=tmp_path / "file"))) as client:
        await (await Tools.of(client)).refused("not_configured", "write_file", path="x", content="x")


@rows("tool", CALLS)
@rows("path", ["/etc/passwd", "../x", "/proc/self/environ", "a/../..", "x\0y"])
async def test_d90_a_path_outside_is_refused_in_words(files: Tools, tool: str, path: str) -> None:
    sent = {name: path if value == "{}" else value for name, value in CALLS[tool].items()}
    answer = await files.call(tool, **sent)
    assert answer.code in {"forbidden", "invalid_argument"}
    assert "root:" not in answer.text


async def test_a_file_is_written_read_moved_listed_and_deleted(files: Tools, root: Path) -> None:
    written = await files.ok("write_file", path="a/b.txt", content="größe")
    assert (written["path"], written["bytes_written"], written["mode"]) == (f"{root}/a/b.txt", 7, "overwrite")
    appended = await files.ok("write_file", path=f"{root}/a/b.txt", content="!", append=True)
    assert (appended["bytes_written"], appended["mode"]) == (1, "append")
    read = await files.ok("read_file", path="a/b.txt")
    assert (read["content"], read["bytes_read"], read["size"], read["next_offset"]) == ("größe!", 8, 8, None)
    moved = await files.ok("move_path", source="a/b.txt", destination="c/d.txt")
    assert (moved["source"], moved["destination"]) == (f"{root}/a/b.txt", f"{root}/c/d.txt")
    listed = await files.ok("list_directory", recursive=True, max_entries=2)
    assert [entry["path"] for entry in listed["entries"]] == [f"{root}/a", f"{root}/c"]
    assert (listed["truncated"], listed["next_cursor"]) == (True, "c")
    rest = await files.ok("list_directory", recursive=True, cursor="c")
    assert [(entry["name"], entry["type"], entry["size"]) for entry in rest["entries"]] == [("d.txt", "file", 8)]
    await files.refused("not_empty", "delete_path", path="c")
    assert (await files.ok("delete_path", path="c", recursive=True))["removed"]
    assert (await files.ok("create_directory", path="a"))["created"] is False


@rows("length", range(1, 8))
async def test_d93_text_is_never_cut_inside_a_character(files: Tools, root: Path, length: int) -> None:
    text = "aé状🎉z" * 3
    (root / "f").write_text(text, "utf-8")
    result, offset = "", 0
    while offset is not None:
        part = await files.ok("read_file", path="f", offset=offset, length=length)
        result += part["content"]
        offset = part["next_offset"]
    assert result == text
    inside = await files.ok("read_file", path="f", offset=2, length=3)
    assert (inside["offset"], inside["content"]) == (3, "状")


async def test_d93_what_is_no_text_is_read_and_written_as_base64(files: Tools, root: Path) -> None:
    data = bytes(range(256))
    await files.ok("write_file", path="f", content=base64.b64encode(data).decode(), encoding="base64")
    assert (root / "f").read_bytes() == data
    refused = await files.refused("decode_failed", "read_file", path="f")
    assert "base64" in refused.hint
    read = await files.ok("read_file", path="f", encoding="base64", offset=10, length=5)
    assert base64.b64decode(read["content"]) == data[10:15]


async def test_d93_one_call_reads_and_writes_a_bounded_number_of_bytes(files: Tools, root: Path) -> None:
    (root / "f").write_bytes(b"x" * 5000)
    read = await files.ok("read_file", path="f", length=4000)
    assert (read["bytes_read"], read["next_offset"], read["size"]) == (1000, 1000, 5000)
    await files.refused("too_large", "write_file", path="f", content="x" * 1001)
    end = await files.ok("read_file", path="f", offset=9999)
    assert (end["content"], end["next_offset"]) == ("", None)


@rows(("encoding", "content"), [("ascii", "é"), ("latin-1", "状"), ("base64", "no base64!")])
async def test_d92_content_that_cannot_be_encoded_destroys_nothing(
    files: Tools, root: Path, encoding: str, content: str
) -> None:
    (root / "f").write_text("old")
    for append in (False, True):
        wish = {"path": "f", "content": content, "append": append}
        await files.refused("invalid_argument", "write_file", **wish, encoding=encoding)
    assert (root / "f").read_text() == "old"


async def test_an_answer_full_of_what_must_be_escaped_keeps_its_limit(replica: Replica, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\x01" * 100_000)
    for number in range(100):
        (tmp_path / (f"{number}-" + "\x01" * 200)).touch()
    application = replica(files_read=(tmp_path,), max_result_bytes=16 * 1024)
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        assert len((await tools.ok("read_file", path="f")).text) < 16 * 1024
        await tools.ok(
            "json_create", redis_key="doc:escaped", initial_json=json.dumps(["\x01" * 100] * 50), overwrite=True
        )
        assert len((await tools.ok("json_read", redis_key="doc:escaped", pretty=True)).text) < 16 * 1024
        assert len((await tools.ok("list_directory")).text) < 16 * 1024
        await tools.refused("forbidden", "write_file", path="g", content="x")
