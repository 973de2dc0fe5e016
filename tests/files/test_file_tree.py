"""Files below roots: nothing outside is touched, nothing is destroyed unasked (the rows D-90 to D-96)."""

import errno
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dcf.files.tree import FileTree, Listing
from dcf.values.refusal import Refusal
from tests.files.trees import SECRET, below, code, move, names, read, state_of, write
from tests.support.racing import race
from tests.support.tables import rows

CALLS: dict[str, Callable[[FileTree, str], object]] = {
    "list": lambda tree, path: tree.entries(path, recursive=True, hidden=True, limit=9, room=9999, after=None),
    "read": lambda tree, path: tree.read(path, 0, 10),
    "write": lambda tree, path: write(tree, path, b"x"),
    "append": lambda tree, path: write(tree, path, b"x", append=True),
    "make": lambda tree, path: tree.make_directory(path, parents=True, exist_ok=False),
    "delete": lambda tree, path: tree.delete(path, recursive=True),
    "move from": lambda tree, path: move(tree, path, "new", overwrite=True),
    "move to": lambda tree, path: move(tree, "ours", path, overwrite=True),
}


@rows("call", CALLS)
def test_d90_without_configured_directories_the_variables_are_named(call: str) -> None:
    result = CALLS[call](FileTree((), ()), "x")
    assert code(result) == "not_configured"
    assert isinstance(result, Refusal)
    assert "DCF_FILES_READ" in result.hint
    assert "DCF_FILES_WRITE" in result.hint


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "path",
    ["../outside/secret", "a/../../outside/secret", "..", "", "/", "/etc/passwd", "/proc/self/environ", "x\0y",
     "{outside}/secret", "{root}/../outside/secret", "{root}x", "{root}/../root/ours", "link/secret", "link",
     "file-link", "inner/up/secret"],
)  # fmt: skip
def test_d90_no_path_leads_out_of_the_roots(tree: FileTree, root: Path, outside: Path, call: str, path: str) -> None:
    (root / "ours").write_bytes(b"ours")
    (root / "inner").mkdir()
    (root / "link").symlink_to(outside)
    (root / "inner/up").symlink_to("../../outside")
    (root / "file-link").symlink_to(outside / "secret")
    before = state_of(outside)
    result = CALLS[call](tree, path.format(root=root, outside=outside))
    assert state_of(outside) == before
    if call in {"delete", "move from", "move to"} and path in {"link", "file-link"}:
        return  # the link itself is gone, or replaced
    if isinstance(result, Refusal):
        assert SECRET.decode() not in result.message
        return
    raise AssertionError(result)


@rows("call", sorted(set(CALLS) - {"list", "read"}))
def test_d90_what_may_only_be_read_is_not_written(root: Path, outside: Path, call: str) -> None:
    (root / "ours").write_bytes(b"ours")
    tree = FileTree((outside,), (root,))
    before = state_of(outside)
    assert read(tree, f"{outside}/secret") == SECRET
    target = f"{outside}/secret" if call != "make" else f"{outside}/new"
    ours = str(root / "ours")
    calls = CALLS | {"move from": lambda tree, path: move(tree, path, f"{root}/new", overwrite=True),
                     "move to": lambda tree, path: move(tree, ours, path, overwrite=True)}  # fmt: skip
    assert code(calls[call](tree, target)) == "forbidden"
    assert state_of(outside) == before


def test_d90_a_read_only_directory_inside_a_writable_one_stays_so(root: Path, tmp_path: Path) -> None:
    (root / "a/fixed").mkdir(parents=True)
    (root / "a/fixed/f").write_bytes(b"1")
    (tmp_path / "alias").symlink_to(root)
    for fixed in (root / "a/fixed", tmp_path / "alias/a/fixed"):
        tree = FileTree((fixed,), (root,))
        before = state_of(root)
        for base in (root, fixed.parent.parent):
            assert code(write(tree, f"{base}/a/fixed/f", b"2")) == "forbidden"
            assert code(tree.delete(f"{base}/a", recursive=True)) == "forbidden"
            assert code(move(tree, f"{base}/a", f"{root}/b")) == "forbidden"
            assert code(tree.delete(f"{base}/a/fixed", recursive=True)) == "forbidden"
        assert state_of(root) == before


@pytest.mark.parametrize("call", CALLS)
def test_d90_devices_pipes_and_sockets_are_not_opened(tree: FileTree, root: Path, call: str) -> None:
    (root / "ours").write_bytes(b"ours")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "s"))
        for name in ("pipe", "s"):
            assert code(CALLS[call](tree, name)) in {
                "not_a_directory", "not_a_file", "already_exists", "unsupported_type", "destination_exists",
            }  # fmt: skip
            assert (root / name).exists()


def test_d91_moving_onto_itself_or_into_itself_or_onto_its_parent_destroys_nothing(tree: FileTree, root: Path) -> None:
    write(tree, "d/inner/f", b"1")
    before = state_of(root)
    for overwrite in (True, False):
        assert not isinstance(move(tree, "d/inner/f", "d/inner/f", overwrite=overwrite), Refusal)
        assert not isinstance(move(tree, "d", f"{root}/./d/", overwrite=overwrite), Refusal)
        assert code(move(tree, "d", "d/inner/new", overwrite=overwrite)) == "move_failed"
        assert code(move(tree, "d/inner/f", "d/inner", overwrite=overwrite)) == "destination_exists"
        assert code(move(tree, "d/inner", "d", overwrite=overwrite)) == "destination_exists"
        assert code(move(tree, ".", "d/x", overwrite=overwrite)) == "forbidden"
        assert code(move(tree, "d", ".", overwrite=overwrite)) == "forbidden"
        assert code(move(tree, "nothing", "d", overwrite=overwrite)) == "source_not_found"
        assert state_of(root) == before


def test_d91_only_a_file_or_an_empty_directory_is_replaced_and_only_when_asked(tree: FileTree, root: Path) -> None:
    write(tree, "a", b"a")
    write(tree, "b", b"b")
    write(tree, "full/f", b"1")
    write(tree, "other/g", b"2")
    (root / "empty").mkdir()
    assert code(move(tree, "a", "b")) == "destination_exists"
    assert code(move(tree, "other", "empty")) == "destination_exists"
    assert code(move(tree, "other", "full", overwrite=True)) == "destination_exists"
    assert code(move(tree, "a", "empty", overwrite=True)) == "destination_exists"
    assert names(tree) == ["a", "b", "empty", "full", "full/f", "other", "other/g"]
    assert move(tree, "a", "b", overwrite=True) == (f"{root}/a", f"{root}/b")
    move(tree, "other", "empty", overwrite=True)
    move(tree, "full", "new/place")
    assert read(tree, "b") == b"a"
    assert names(tree) == ["b", "empty", "empty/g", "new", "new/place", "new/place/f"]
    assert code(move(tree, "b", "no/where", create_parents=False)) == "destination_parent_missing"


def test_d91_two_names_of_one_file_become_one(tree: FileTree, root: Path) -> None:
    write(tree, "a", b"1")
    (root / "b").hardlink_to(root / "a")
    move(tree, "a", "b", overwrite=True)
    assert names(tree) == ["b"]


def one_of_eight(tree: FileTree, kind: str, number: int) -> object:
    return move(tree, f"{kind}{number}", f"{kind}-target")


def test_d91_of_eight_movers_to_a_free_name_one_succeeds_and_nothing_is_lost(tree: FileTree, root: Path) -> None:
    for kind in ("file", "directory"):
        for number in range(8):
            write(tree, f"{kind}{number}" if kind == "file" else f"{kind}{number}/f", str(number).encode())
        results = race(8, partial(one_of_eight, tree, kind))
        assert sum(not isinstance(result, Refusal) for result in results) == 1
    contents = sorted(item.read_bytes() for item in root.rglob("*") if item.is_file())
    assert contents == sorted(str(number).encode() for number in [*range(8), *range(8)])


def test_d92_a_file_is_replaced_as_a_whole_or_not_at_all(
    tree: FileTree, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree, "f", b"old")
    (root / "f").chmod(0o640)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        result = write(tree, "f", b"new")
        assert code(result) == "write_failed"
        assert isinstance(result, Refusal)
        assert "the disk is full" in result.message
        assert code(write(tree, "g", b"new")) == "write_failed"
    assert (read(tree, "f"), below(root)) == (b"old", ["f"])
    write(tree, "f", b"new")
    assert read(tree, "f") == b"new"
    assert (root / "f").stat().st_mode & 0o777 == 0o640


def test_d92_a_reader_sees_one_content_or_the_other(tree: FileTree) -> None:
    contents = [bytes([number]) * 900 for number in range(8)]
    write(tree, "f", contents[0])

    def work(number: int) -> None:
        for _ in range(50):
            if number < 4:
                write(tree, "f", contents[number])
            else:
                assert read(tree, "f") in contents

    race(8, work)


def test_what_eight_append_is_all_there_and_whole(tree: FileTree, root: Path) -> None:
    race(8, lambda number: [write(tree, "log", f"{number}-{turn}\n".encode(), append=True) for turn in range(20)])
    lines = (root / "log").read_text().splitlines()
    assert sorted(lines) == sorted(f"{number}-{turn}" for number in range(8) for turn in range(20))


def test_what_could_not_be_appended_as_a_whole_is_taken_back(tree: FileTree, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tree, "log", b"one\n")
    real_write = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) < 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_write(file, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    assert code(write(tree, "log", b"two and three\n", append=True)) == "write_failed"
    assert read(tree, "log") == b"one\n"


def test_one_call_writes_a_bounded_number_of_bytes_and_files_grow_to_a_bound(tree: FileTree) -> None:
    assert code(write(tree, "f", b"x" * 1001)) == "too_large"
    assert code(write(tree, "f", b"x" * 1001, append=True)) == "too_large"
    for _ in range(64):
        write(tree, "f", b"x" * 1000, append=True)
    assert code(write(tree, "f", b"x", append=True)) == "too_large"


def test_parents_are_made_or_said_to_be_missing(tree: FileTree, root: Path) -> None:
    assert code(write(tree, "a/b/f", b"1", create_parents=False)) == "parent_missing"
    assert names(tree) == []
    write(tree, "a/b/f", b"1")
    assert code(write(tree, "a/b/f/g", b"1")) == "not_a_directory"
    assert code(write(tree, "a/b", b"1")) == "not_a_file"
    assert code(tree.make_directory("x/y", parents=False, exist_ok=True)) == "parent_missing"


def test_d94_a_listing_shows_what_there_is_by_one_rule(tree: FileTree, root: Path, outside: Path) -> None:
    for name in ("b/z", "b/a", ".hidden/x", "b/.y", "c"):
        write(tree, name, b"12")
    (root / "dir-link").symlink_to(outside)
    (root / "broken").symlink_to("nowhere")
    os.utime(root / "c", (0, 1_700_000_000.5))
    assert names(tree) == ["b", "b/a", "b/z", "broken", "c", "dir-link"]
    assert names(tree, recursive=False) == ["b", "broken", "c", "dir-link"]
    assert names(tree, hidden=True) == [
        ".hidden", ".hidden/x", "b", "b/.y", "b/a", "b/z", "broken", "c", "dir-link",
    ]  # fmt: skip
    entries = tree.entries(str(root), recursive=False, hidden=False, limit=9, room=9999, after=None)
    assert isinstance(entries, Listing)
    kinds = {entry.name: entry.type for entry in entries.entries}
    assert kinds == {"b": "directory", "broken": "symlink", "c": "file", "dir-link": "symlink"}
    (item,) = [entry for entry in entries.entries if entry.name == "c"]
    assert (item.size, item.modified, item.path) == (2, "2023-11-14T22:13:20.500000Z", f"{root}/c")
    assert code(tree.entries("c", recursive=False, hidden=False, limit=9, room=9999, after=None)) == "not_a_directory"
    assert code(tree.entries("x", recursive=False, hidden=False, limit=9, room=9999, after=None)) == "path_not_found"


@rows("limit", [1, 2, 3, 7, 100])
@rows("room", [1, 400, 10**6])
def test_d94_pages_of_a_listing_are_the_listing_and_the_last_one_says_so(tree: FileTree, limit: int, room: int) -> None:
    for name in ("a/1", "a/2/x", "a.txt", "a/10", "b", "a/2/y", "ab/c"):
        write(tree, name, b"")
    every = names(tree)
    result: list[str] = []
    after: str | None = None
    while True:
        page = tree.entries(".", recursive=True, hidden=False, limit=limit, room=room, after=after)
        assert isinstance(page, Listing)
        assert 1 <= len(page.entries) <= limit
        result += [entry.path[len(page.path) + 1 :] for entry in page.entries]
        after = page.cursor
        if after is None:
            break
    assert result == every
    exact = tree.entries(".", recursive=True, hidden=False, limit=len(every), room=10**6, after=None)
    assert isinstance(exact, Listing)
    assert exact.cursor is None


def test_names_that_are_no_unicode_are_counted(tree: FileTree, root: Path) -> None:
    (root / os.fsdecode(b"\xff")).touch()
    entries = tree.entries(".", recursive=True, hidden=False, limit=9, room=9999, after=None)
    assert isinstance(entries, Listing)
    assert (entries.entries, entries.skipped) == ((), 1)


def test_with_several_roots_paths_are_absolute_and_the_roots_are_listed(root: Path, outside: Path) -> None:
    tree = FileTree((outside,), (root,))
    assert code(tree.read("secret", 0, 9)) == "invalid_argument"
    entries = tree.entries(".", recursive=False, hidden=False, limit=9, room=9999, after=None)
    assert isinstance(entries, Listing)
    assert [entry.path for entry in entries.entries] == [str(outside), str(root)]


def test_a_root_may_itself_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    tree = FileTree((), (tmp_path / "alias",))
    write(tree, f"{tmp_path}/alias/f", b"1")
    assert read(tree, "f") == read(tree, f"{root}/f") == b"1"


def test_d95_a_broken_link_is_deleted_and_a_link_never_what_it_leads_to(
    tree: FileTree, root: Path, outside: Path
) -> None:
    (root / "broken").symlink_to("nowhere")
    (root / "d").mkdir()
    (root / "d/out").symlink_to(outside)
    tree.delete("broken", recursive=False)
    assert code(tree.delete("d", recursive=False)) == "not_empty"
    tree.delete("d", recursive=True)
    assert (below(root), below(outside)) == ([], ["secret"])
    assert code(tree.delete("d", recursive=True)) == "path_not_found"
    assert code(tree.delete(".", recursive=True)) == "forbidden"


def test_d96_a_directory_is_created_only_when_it_is_new(tree: FileTree, root: Path) -> None:
    assert tree.make_directory("a/b", parents=True, exist_ok=True) == (f"{root}/a/b", True)
    assert tree.make_directory("a/b", parents=True, exist_ok=True) == (f"{root}/a/b", False)
    assert tree.make_directory(".", parents=True, exist_ok=True) == (str(root), False)
    assert code(tree.make_directory("a", parents=True, exist_ok=False)) == "already_exists"
    write(tree, "f", b"")
    assert code(tree.make_directory("f", parents=True, exist_ok=True)) == "already_exists"
    results = race(8, lambda _: tree.make_directory("new", parents=True, exist_ok=True))
    assert sum(result == (f"{root}/new", True) for result in results) == 1


def test_names_that_the_system_refuses_are_told_without_its_words(tree: FileTree, root: Path) -> None:
    long = "n" * 300
    for call in CALLS.values():
        result = call(tree, long)
        assert isinstance(result, Refusal)
        assert "Errno" not in result.message
    deep = "/".join("d" * 70)
    write(tree, f"{deep}/f", b"")
    assert code(tree.delete("d", recursive=True)) == "remove_failed"
    assert code(tree.entries(".", recursive=True, hidden=False, limit=1000, room=10**6, after=None)) == "scan_failed"
