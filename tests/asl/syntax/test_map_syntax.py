"""Where a Map's items come from and its results go, as written: what is wrong with it and what is not."""

from typing import Any

from dcf.asl.syntax.parsing import parse_machine
from tests.support.tables import rows

PROCESSOR = {
    "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
    "StartAt": "I",
    "States": {"I": {"Type": "Pass", "End": True}},
}
READER = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "b", "Key.$": "$.key"}}


def problems(state: dict[str, Any], language: str = "JSONPath") -> set[tuple[str, str]]:
    """What is found in a Map, by the place below it."""
    whole = {"Type": "Map", "ItemProcessor": PROCESSOR, "End": True, **state}
    _, result = parse_machine({"QueryLanguage": language, "StartAt": "M", "States": {"M": whole}})
    assert len(result) == len({(item.path, item.code, item.message) for item in result}), "nothing is said twice"
    return {(item.path.removeprefix("/States/M"), item.code) for item in result}


@rows(
    ("config", "found"),
    [
        ({}, set()),
        ({"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW", "CSVDelimiter": "TAB", "MaxItems": 0}, set()),
        ({"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a", "a"]}, set()),
        ({"InputType": "MANIFEST", "ManifestType": "S3_INVENTORY"}, set()),
        ({"InputType": "JSONL", "Transformation": "LOAD_AND_FLATTEN", "MaxItemsPath": "$.most"}, set()),
        ({"InputType": "JSON", "ItemsPointer": "/orders/0/items"}, set()),
        ({"ItemsPointer": ""}, set()),
        ({"InputType": "XML"}, {("/InputType", "invalid_value")}),
        ({"InputType": 7}, {("/InputType", "wrong_type")}),
        ({"ManifestType": "OTHER"}, {("/ManifestType", "invalid_value")}),
        ({"Transformation": "FLATTEN"}, {("/Transformation", "invalid_value")}),
        ({"Transformation": "LOAD_AND_FLATTEN"}, {("", "missing_field")}),
        ({"CSVDelimiter": ","}, {("/CSVDelimiter", "invalid_value")}),
        ({"CSVHeaderLocation": "GIVEN"}, {("", "missing_field")}),
        ({"CSVHeaders": "a,b"}, {("/CSVHeaders", "wrong_type")}),
        ({"CSVHeaders": ["a", 1]}, {("/CSVHeaders", "wrong_type")}),
        ({"ItemsPointer": "orders"}, {("/ItemsPointer", "invalid_value")}),
        ({"ItemsPointer": 1}, {("/ItemsPointer", "wrong_type")}),
        ({"InputType": "CSV", "ItemsPointer": "/a"}, {("/ItemsPointer", "conflicting_fields")}),
        ({"MaxItems": -1}, {("/MaxItems", "invalid_value")}),
        ({"MaxItems": 1.5}, {("/MaxItems", "wrong_type")}),
        ({"MaxItems": 1, "MaxItemsPath": "$.most"}, {("/MaxItemsPath", "conflicting_fields")}),
        ({"MaxItemsPath": "$.a[*]"}, {("/MaxItemsPath", "invalid_path")}),
        ({"Typo": 1}, {("/Typo", "unknown_field")}),
    ],
)
def test_problems_of_a_reader_config(config: Any, found: set[tuple[str, str]]) -> None:
    expected = {(f"/ItemReader/ReaderConfig{path}", code) for path, code in found}
    assert problems({"ItemReader": {**READER, "ReaderConfig": config}}) == expected


@rows(
    ("state", "found"),
    [
        ({"ItemReader": {}}, {("/ItemReader", "missing_field")}),
        ({"ItemReader": {**READER, "Arguments": {}}}, {("/ItemReader/Arguments", "wrong_language")}),
        ({"ItemReader": READER, "ItemsPath": None}, {("/ItemsPath", "wrong_type")}),
        ({"ItemBatcher": {}}, {("/ItemBatcher", "missing_field")}),
        ({"ItemBatcher": {"MaxItemsPerBatch": 0}}, {("/ItemBatcher/MaxItemsPerBatch", "invalid_value")}),
        (
            {"ItemBatcher": {"MaxInputBytesPerBatch": 262_145}},
            {("/ItemBatcher/MaxInputBytesPerBatch", "invalid_value")},
        ),
        (
            {"ItemBatcher": {"MaxItemsPerBatch": 1, "MaxItemsPerBatchPath": "$.n"}},
            {("/ItemBatcher/MaxItemsPerBatchPath", "conflicting_fields")},
        ),
        ({"ResultWriter": {}}, {("/ResultWriter", "missing_field")}),
        ({"Label": "a-b_1"}, set()),
        *(
            ({"Label": label}, {("/Label", "invalid_value")})
            for label in ("", "x" * 41, "a b", "a*b", "a\tb", "a\x7fb", 'a"b', "a|b", "a,b")
        ),
    ],
)
def test_problems_of_a_distributed_map(state: Any, found: set[tuple[str, str]]) -> None:
    assert problems(state) == found


def test_the_fields_of_the_other_language_are_called_so() -> None:
    state = {
        "ItemReader": {"Resource": "s3", "Parameters": {}, "ReaderConfig": {"MaxItemsPath": "$.n"}},
        "ItemBatcher": {"MaxItemsPerBatch": 1, "MaxItemsPerBatchPath": "$.n"},
        "ResultWriter": {"Resource": "s3", "Parameters": {}},
    }
    assert problems(state, "JSONata") == {
        ("/ItemReader/Parameters", "wrong_language"),
        ("/ItemReader/ReaderConfig/MaxItemsPath", "wrong_language"),
        ("/ItemBatcher/MaxItemsPerBatchPath", "wrong_language"),
        ("/ResultWriter/Parameters", "wrong_language"),
    }


def test_an_inline_map_may_bear_failures_but_neither_reads_nor_writes() -> None:
    inline = {"StartAt": "I", "States": PROCESSOR["States"]}
    assert problems({"ItemProcessor": inline, "ToleratedFailureCount": 1, "ToleratedFailurePercentage": 0.5}) == set()
    state = {
        "ItemProcessor": inline,
        "ItemReader": READER,
        "ItemBatcher": {"MaxItemsPerBatch": 1},
        "ResultWriter": {"Resource": "s3"},
        "Label": "x",
    }
    names = ("ItemReader", "ItemBatcher", "ResultWriter", "Label")
    assert problems(state) == {(f"/{name}", "conflicting_fields") for name in names}
