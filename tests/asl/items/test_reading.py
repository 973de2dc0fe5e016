"""Items out of text: every form that an ItemReader knows, and what strangers may put into such files."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dcf.asl.items.reading import records, taken
from dcf.asl.items.sources import bring
from dcf.asl.steps import Entry, NeedItems
from dcf.errors import StateError
from dcf.workflows.simulation import GivenFiles
from tests.support.tables import rows

ENTRY = Entry(raw={}, variables={}, entered_at="2026-01-01T00:00:00.000Z")
GET, LIST = "arn:aws:states:::s3:getObject", "arn:aws:states:::s3:listObjectsV2"
GIVEN_AB = {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a", "b"]}
FIRST_ROW = {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}


def wanted(config: Any = None, arguments: Any = None, resource: str = GET) -> NeedItems:
    where = {"Bucket": "b", "Key": "k"} if arguments is None else arguments
    return NeedItems(path="M", source=None, entry=ENTRY, resource=resource, arguments=where, config=config or {})


def read(text: str, config: Any = None, **others: str) -> Any:
    return bring(wanted(config), GivenFiles(texts={"b/k": text, **others}))


def cause(text: str, config: Any = None) -> str:
    with pytest.raises(StateError) as failure:
        read(text, config)
    assert failure.value.error == "States.ItemReaderFailed"
    return failure.value.cause


@rows(
    ("config", "text", "items"),
    [
        ({}, "[1, null]", [1, None]),
        ({"MaxItems": 1}, "[1, 2]", [1]),
        ({"InputType": "JSON"}, '\ufeff[{"a": "\u2028"}]', [{"a": "\u2028"}]),
        ({"InputType": "JSON"}, '{"rows": [1]}', {"rows": [1]}),
        ({"ItemsPointer": "/a~1b/1/c~0d"}, '{"a/b": [0, {"c~d": [7]}]}', [7]),
        ({"ItemsPointer": ""}, "[7]", [7]),
        ({"InputType": "JSONL"}, '1\r\n\n{"a": "x\u2028y"}\n"last"', [1, {"a": "x\u2028y"}, "last"]),
        (FIRST_ROW, "a,b\n1\n2,3,4\n\n5,6", [{"a": "1", "b": ""}, {"a": "2", "b": "3"}, {"a": "5", "b": "6"}]),
        (FIRST_ROW, 'a\n"two\nlines"\n', [{"a": "two\nlines"}]),
        (FIRST_ROW, "", []),
        (FIRST_ROW, "a,b\n", []),
        (GIVEN_AB, '"x,y",""""\n', [{"a": "x,y", "b": '"'}]),
        ({**GIVEN_AB, "CSVDelimiter": "TAB"}, "x y\tz\n", [{"a": "x y", "b": "z"}]),
        ({**GIVEN_AB, "MaxItems": 1}, "1,2\n3,4\n", [{"a": "1", "b": "2"}]),
    ],
)
def test_a_file_is_read_as_its_config_says(config: Any, text: str, items: Any) -> None:
    assert read(text, config) == items


@rows(
    ("config", "text", "words"),
    [
        ({}, "[", "not valid JSON"),
        ({}, "7", "Attempting to map over non-iterable node."),
        ({}, "[NaN]", "NaN is not a JSON number"),
        ({}, '[{"a": 1, "a": 2}]', "appears twice"),
        ({}, '["\\ud800"]', "not valid Unicode"),
        ({}, f"[{2**64}]", "64 bits"),
        ({}, f"[{'9' * 5000}]", "number is too long"),
        ({}, "[" * 100_000, "nested deeper"),
        ({}, f"{'[' * 70}{']' * 70}", "nested deeper"),
        ({"ItemsPointer": "/rows"}, "{}", "nothing at the ItemsPointer '/rows'"),
        ({"ItemsPointer": "/1"}, "[0]", "nothing at the ItemsPointer"),
        ({"ItemsPointer": "/-1"}, "[[0]]", "nothing at the ItemsPointer"),
        ({"ItemsPointer": f"/{'9' * 5000}"}, "[[0]]", "nothing at the ItemsPointer"),
        ({"ItemsPointer": "/a"}, '{"a": 7}', "non-iterable"),
        ({"InputType": "JSONL"}, "1\n{\n", "Line 2 of the file 'b/k' is not valid JSON"),
        (FIRST_ROW, "a,a\n1,2\n", "CSV headers cannot contain duplicates."),
        (FIRST_ROW, f"a\n{'x' * 200_000}\n", "is not valid CSV: field larger than field limit"),
        ({"InputType": "PARQUET"}, "PAR1", "Files of type PARQUET cannot be read: use CSV, JSON or JSONL."),
        ({"InputType": "MANIFEST"}, "[]", "is not a manifest"),
        ({"InputType": "MANIFEST"}, '{"files": [7], "fileSchema": "a"}', "is not a manifest"),
        ({"InputType": "MANIFEST"}, '{"files": []}', "is not a manifest"),
        ({"InputType": "MANIFEST"}, '{"files": [], "fileFormat": "ORC"}', "Inventories of type ORC"),
        ({"ManifestType": "ATHENA_DATA", "InputType": "JSONL"}, "s3://[\n", "is not a manifest"),
        ({"ManifestType": "ATHENA_DATA", "InputType": "JSONL"}, "file:///etc/passwd\n", "is not a manifest"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_words(config: Any, text: str, words: str) -> None:
    assert words in cause(text, config)


def test_short_rows_under_a_long_header_are_refused_before_they_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dcf.asl.items.reading.MAX_CELLS", 1000)
    header = ",".join(f"c{number}" for number in range(250))
    assert "cells" in cause("\n".join((header, *"12345")), FIRST_ROW)
    assert len(read("\n".join((header, *"1234")), FIRST_ROW)) == len("1234")


def test_more_items_than_a_map_can_have_are_refused_unless_max_items_is_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dcf.asl.items.reading.MAX_ITEMS", 100)
    text = "1\n" * 101
    assert "more than 100 items" in cause(text, {"InputType": "JSONL"})
    assert "more than 100 items" in cause(text, {"InputType": "JSONL", "MaxItems": 10**9})
    assert read(text, {"InputType": "JSONL", "MaxItems": 3}) == [1, 1, 1]


def test_max_items_leaves_the_rest_of_a_file_unread() -> None:
    lines = 1_000_000
    file = io.StringIO("1\n" * lines)
    assert taken(records(file, {"InputType": "JSONL"}, "k"), {"MaxItems": 2}) == [1, 1]
    assert file.tell() < lines


def test_an_inventory_is_the_rows_of_all_its_files() -> None:
    manifest = {
        "destinationBucket": "arn:aws:s3:::other",
        "fileFormat": "CSV",
        "fileSchema": "Bucket, Key, Size",
        "files": [{"key": "data/1.csv"}, {"key": "data/2.csv"}],
    }
    parts = {"other/data/1.csv": '"x","a","1"\n', "other/data/2.csv": '"x","b","2"\n"x","c","3"\n'}
    result = read(json.dumps(manifest), {"InputType": "MANIFEST"}, **parts)
    assert [row["Key"] for row in result] == ["a", "b", "c"]
    assert result[0] == {"Bucket": "x", "Key": "a", "Size": "1"}
    del manifest["destinationBucket"]
    own = {name.replace("other/", "b/"): text for name, text in parts.items()}
    assert read(json.dumps(manifest), {"InputType": "MANIFEST"}, **own) == result


def test_what_athena_wrote_is_read_from_all_places_it_names() -> None:
    config = {"ManifestType": "ATHENA_DATA", "InputType": "JSONL", "MaxItems": 3}
    parts = {"x/1": "1\n2\n", "y/d/2": "3\n4\n"}
    assert read("s3://x/1\ns3://y/d/2\n", config, **parts) == [1, 2, 3]


def test_a_listing_has_the_items_of_aws_in_the_order_of_their_keys() -> None:
    files = GivenFiles(texts={"b/in/b": "22", "b/in/a": "1", "b/out": "", "c/in/a": ""}, modified=1_700_000_000)
    result = bring(wanted({}, {"Bucket": "b", "Prefix": "in/"}, LIST), files)
    assert [item["Key"] for item in result] == ["in/a", "in/b"]
    assert result[0] == {
        "Etag": '"c4ca4238a0b923820dcc509a6f75849b"',
        "Key": "in/a",
        "LastModified": 1_700_000_000,
        "Size": 1,
        "StorageClass": "STANDARD",
    }
    assert len(bring(wanted({"MaxItems": 2}, {"Bucket": "b"}, LIST), files)) == 2


def test_a_listing_may_be_read_and_flattened() -> None:
    files = GivenFiles(texts={"b/2": "[3]", "b/1": "[1, 2]"})
    config = {"Transformation": "LOAD_AND_FLATTEN", "InputType": "JSON"}
    assert bring(wanted(config, {"Bucket": "b"}, LIST), files) == [1, 2, 3]


@rows(
    ("arguments", "resource", "words"),
    [
        (None, "arn:aws:states:::dynamodb:scan", "is not a place to read from"),
        ({"Bucket": "b"}, GET, "Key is missing"),
        ({"Bucket": 7, "Key": "k"}, GET, "Bucket must be a string."),
        ({"Bucket": "b", "Key": ["k"]}, GET, "Key must be a string."),
        ([], GET, "Key is missing"),
        ({"Bucket": "b", "Key": "gone"}, GET, "There is no file 'b/gone'."),
    ],
)
def test_a_reader_that_names_no_file_fails(arguments: Any, resource: str, words: str) -> None:
    with pytest.raises(StateError, match=words):
        bring(wanted({}, arguments, resource), GivenFiles(texts={"b/k": "[]"}))


def test_nothing_after_the_last_item_wanted_is_opened() -> None:
    class Once(GivenFiles):
        def listing(self, bucket: str | None, prefix: str) -> Iterator[Any]:
            yield from super().listing(bucket, prefix)
            raise AssertionError("asked for more")

    files = Once(texts={"b/1": "[1, 2]"})
    config = {"Transformation": "LOAD_AND_FLATTEN", "InputType": "JSON", "MaxItems": 2}
    assert bring(wanted(config, {"Bucket": "b"}, LIST), files) == [1, 2]
