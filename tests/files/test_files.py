"""Items from directories: what is found there, and that nothing else of the machine ever is."""

import contextlib
import gzip
import json
import os
import random
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from dcf.asl.items.sources import bring
from dcf.asl.steps import Entry, NeedItems
from dcf.errors import StateError
from dcf.files.items import ItemFiles
from dcf.workflows.simulation import GivenFiles
from tests.support.racing import repeating
from tests.support.tables import rows

ENTRY = Entry(raw={}, variables={}, entered_at="2026-01-01T00:00:00.000Z")
GET, LIST = "arn:aws:states:::s3:getObject", "arn:aws:states:::s3:listObjectsV2"
JSONL = {"InputType": "JSONL"}
SECRET = '["secret"]'


def wanted(arguments: Any, config: Any = None, resource: str = GET) -> NeedItems:
    return NeedItems(path="M", source=None, entry=ENTRY, resource=resource, arguments=arguments, config=config or {})


def write(root: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.json").write_text(SECRET)
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def read(root: Path, key: str, config: Any = None, bucket: str | None = None) -> Any:
    where = {"Key": key} if bucket is None else {"Bucket": bucket, "Key": key}
    return ItemFiles(roots=(root,)).read(wanted(where, config))


def cause(root: Path, key: str, config: Any = None, bucket: str | None = None) -> str:
    with pytest.raises(StateError) as failure:
        read(root, key, config, bucket)
    assert failure.value.error == "States.ItemReaderFailed"
    assert str(root.parent) not in failure.value.cause
    return failure.value.cause


def test_without_configured_directories_the_variable_to_set_is_named() -> None:
    with pytest.raises(StateError, match="set DCF_ITEMS_DIRS") as failure:
        ItemFiles(roots=()).read(wanted({"Key": "k"}))
    assert failure.value.error == "States.ItemReaderFailed"


def test_a_bucket_is_a_directory_below_a_root_and_may_be_left_out(root: Path) -> None:
    write(root, {"orders/2026/a.json": "[1]", "a.json": "[2]"})
    assert read(root, "2026/a.json", bucket="orders") == [1]
    assert read(root, "orders/2026/a.json") == [1]
    assert read(root, "a.json", bucket="somewhere-on-aws") == [2]
    assert cause(root, "a.json", bucket="orders") == "There is no file 'orders/a.json'."


def test_roots_are_tried_in_their_order(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(root, {"b/1": "[1]", "k": "[3]"})
    write(other, {"b/1": "[0]", "b/2": "[2]", "c/k": "[4]"})
    files = ItemFiles(roots=(root, other, tmp_path / "gone"))
    result = [
        files.read(wanted({"Bucket": bucket, "Key": key}))
        for bucket, key in (("b", "1"), ("b", "2"), ("c", "k"), ("d", "k"))
    ]
    assert result == [[1], [2], [4], [3]]


def test_a_root_may_itself_be_a_link(root: Path, tmp_path: Path) -> None:
    write(root, {"k": "[1]"})
    (tmp_path / "link").symlink_to(root)
    assert read(tmp_path / "link", "k") == [1]


@rows(
    "key",
    [
        "../secret.json",
        "b/../../secret.json",
        "b/../k",
        "./k",
        "b//k",
        "/k",
        "k/",
        "",
        "..",
        "k\0",
        "\ud800",
        "file:///k",
    ],
)
def test_a_key_leads_down_or_nowhere(root: Path, key: str) -> None:
    write(root, {"k": "[1]", "b/k": "[1]"})
    assert "does not name a file" in cause(root, key)
    if key != "k/":
        assert "does not name a file" in cause(root, "k", bucket=key or "/")


def test_an_absolute_path_is_refused(root: Path) -> None:
    for key, bucket in ((str(root.parent / "secret.json"), None), ("secret.json", str(root.parent))):
        with pytest.raises(StateError, match="does not name a file"):
            read(root, key, bucket=bucket)


def test_no_link_is_followed_wherever_it_leads(root: Path) -> None:
    write(root, {"b/k": "[1]"})
    (root / "out").symlink_to(root.parent)
    (root / "in").symlink_to(root / "b")
    (root / "b/file").symlink_to(root.parent / "secret.json")
    (root / "b/round").symlink_to("round")
    for key in ("out/secret.json", "in/k", "b/file", "b/round"):
        assert cause(root, key) == f"There is no file '{key}'."
    assert cause(root, "secret.json", bucket="out") == "There is no file 'out/secret.json'."
    listed = ItemFiles(roots=(root,)).read(wanted({}, resource=LIST))
    assert [item["Key"] for item in listed] == ["b/k"]


def test_only_regular_files_are_read(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "directory").mkdir()
    assert cause(root, "pipe") == "There is no file 'pipe'."
    assert cause(root, "directory") == "There is no file 'directory'."
    assert "There is no file" in cause(root, "n" * 300)


def swapping(link: Path, outside: Path, spare: Path) -> AbstractContextManager[None]:
    """Something that keeps changing a directory into a link that leads out, and back."""

    def swap() -> None:
        link.rename(spare)
        link.symlink_to(outside)
        link.unlink()
        spare.rename(link)

    return repeating(swap)


@rows("place", ["b", "b/inner", "b/inner/k"])
def test_a_directory_or_file_that_becomes_a_link_meanwhile_leads_nowhere(root: Path, place: str) -> None:
    outside = root.parent / "outside"
    write(root, {"b/inner/k": '["ours"]'})
    write(outside, {"inner/k": SECRET, "k": SECRET})
    target = {"b": outside, "b/inner": outside / "inner", "b/inner/k": outside / "k"}[place]
    result = []
    with swapping(root / place, target, root / "spare"):
        for _ in range(2_000):
            with contextlib.suppress(StateError):
                result.append(read(root, "b/inner/k"))
            with contextlib.suppress(StateError):
                config = {"Transformation": "LOAD_AND_FLATTEN"}
                result.append(ItemFiles(roots=(root,)).read(wanted({"Prefix": "b/"}, config, LIST)))
    assert result
    assert all(items in (["ours"], []) for items in result)


def test_all_that_one_reader_reads_is_bounded_and_max_items_spares_the_rest(root: Path) -> None:
    write(root, {"k": "1\n" * 200_000, "exact": "[1234567]"})
    files = ItemFiles(roots=(root,), max_bytes=100_000)
    with pytest.raises(StateError, match="more than 100000 bytes: set MaxItems"):
        files.read(wanted({"Key": "k"}, JSONL))
    assert files.read(wanted({"Key": "k"}, {**JSONL, "MaxItems": 2})) == [1, 1]
    assert ItemFiles(roots=(root,), max_bytes=9).read(wanted({"Key": "exact"})) == [1234567]
    with pytest.raises(StateError, match="more than 8 bytes"):
        ItemFiles(roots=(root,), max_bytes=8).read(wanted({"Key": "exact"}))


def test_the_bound_holds_for_all_files_of_a_listing_together(root: Path) -> None:
    write(root, {f"b/{number}": "[1, 2, 3]" for number in range(10)})
    config = {"Transformation": "LOAD_AND_FLATTEN"}
    with pytest.raises(StateError, match="more than 50 bytes"):
        ItemFiles(roots=(root,), max_bytes=50).read(wanted({"Bucket": "b"}, config, LIST))
    assert len(ItemFiles(roots=(root,), max_bytes=90).read(wanted({"Bucket": "b"}, config, LIST))) == 30


def test_a_packed_file_is_unpacked_and_bounded_by_what_comes_out(root: Path) -> None:
    (root / "a.json.gz").write_bytes(gzip.compress(b"[1, 2]"))
    (root / "bomb.gz").write_bytes(gzip.compress(b"1\n" * 50_000_000))
    (root / "torn.gz").write_bytes(gzip.compress(b"[1, 2]")[:-9])
    (root / "wrong.gz").write_bytes(b"[1]")
    assert read(root, "a.json.gz") == [1, 2]
    assert "bytes" in cause(root, "bomb.gz")
    assert cause(root, "torn.gz") == "The file cannot be read to its end."
    assert cause(root, "wrong.gz") == "The file cannot be read to its end."


def test_bytes_that_are_no_text_are_refused(root: Path) -> None:
    (root / "k").write_bytes(b'["\xff"]')
    for config in ({}, JSONL, {"InputType": "CSV"}):
        assert cause(root, "k", config) == "The file 'k' is not UTF-8 text."


def test_a_listing_shows_what_lies_below_a_prefix_in_the_order_of_the_keys(root: Path) -> None:
    write(root, {"b/a/1": "x", "b/a.txt": "", "b/ab": "", "b/B": "", "b/c/d/e": "", "k": ""})
    (root / os.fsdecode(b"b/\xff")).touch()
    os.utime(root / "b/a/1", (0, 1_700_000_000.5))
    files = ItemFiles(roots=(root,))

    def keys(**arguments: str) -> list[str]:
        return [element["Key"] for element in files.read(wanted(arguments, {}, LIST))]

    assert keys(Bucket="b") == ["B", "a.txt", "a/1", "ab", "c/d/e"]
    assert keys(Bucket="b", Prefix="a") == ["a.txt", "a/1", "ab"]
    assert keys(Bucket="b", Prefix="a/") == ["a/1"]
    assert keys(Bucket="b", Prefix="nothing/") == []
    assert keys(Prefix="b/c") == ["b/c/d/e"]
    item = files.read(wanted({"Bucket": "b", "Prefix": "a/"}, {}, LIST))[0]
    assert (item["Size"], item["LastModified"], item["StorageClass"]) == (1, 1_700_000_000, "STANDARD")
    os.utime(root / "b/a/1", (0, 1_700_000_001))
    assert files.read(wanted({"Bucket": "b", "Prefix": "a/"}, {}, LIST))[0]["Etag"] != item["Etag"]


@rows("prefix", ["../", "/", "a/../", "./", "a//"])
def test_a_prefix_leads_down_or_nowhere(root: Path, prefix: str) -> None:
    with pytest.raises(StateError, match="does not name a file"):
        ItemFiles(roots=(root,)).read(wanted({"Prefix": prefix}, {}, LIST))


def test_directories_nested_without_end_are_refused(root: Path) -> None:
    (root / "/".join("d" * 40)).mkdir(parents=True)
    with pytest.raises(StateError, match="nested deeper"):
        ItemFiles(roots=(root,)).read(wanted({}, {}, LIST))


@rows("config", [{}, JSONL, {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}])
def test_a_simulation_reads_the_same_items_or_fails_for_the_same_cause(root: Path, config: Any) -> None:
    chance = random.Random(7)
    alphabet = ["1", "a", ",", "\n", "\r", '"', "[", "]", "{", "}", ":", " ", "\0", "\u2028", "\ufeff", "é", "\\"]
    for _ in range(500):
        texts = {"k": "".join(chance.choices(alphabet, k=chance.randrange(12)))}
        write(root, texts)
        assert _told(ItemFiles(roots=(root,)), config) == _told(GivenFiles(texts=texts), config), texts


def _told(files: ItemFiles | GivenFiles, config: Any) -> Any:
    need = wanted({"Key": "k"}, config)
    try:
        return json.dumps(files.read(need) if isinstance(files, ItemFiles) else bring(need, files))
    except StateError as failure:
        return failure.cause
