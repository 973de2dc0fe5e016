"""Every tool of every profile takes what the contract's table says, under the same names, types and limits."""

from typing import Any

import pytest

from dcf.profiles.arguments import check, schema_of
from dcf.profiles.catalog import profile_of
from dcf.profiles.profile import NotDone, ProfileTool
from dcf.values.json_text import dump
from dcf.values.profile_names import SYSTEM_PROFILES
from tests.profiles.contract import CONTRACTS, Contract, Schema
from tests.support.tables import rows

MOST_BYTES = 25_000

ROWS = [(profile, name) for profile in SYSTEM_PROFILES for name in CONTRACTS[profile]]


def bare(schema: Any) -> Any:
    """A schema without what it tells in words."""
    if isinstance(schema, list):
        return [bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        inside = {name: bare(part) for name, part in schema["properties"].items()}
        return {**bare({name: part for name, part in schema.items() if name != "properties"}), "properties": inside}
    return {name: bare(part) for name, part in schema.items() if name != "description"}


def ordered(schema: Any) -> Any:
    """The same, with required names in one order."""
    document = bare(schema)
    return {**document, "required": sorted(document.get("required", ()))}


def row(profile: Any, name: str) -> tuple[ProfileTool, Contract]:
    return profile_of(profile).tools[name], CONTRACTS[profile][name]


def smallest(contract: Contract) -> dict[str, Any]:
    """The smallest arguments that a contract allows."""
    return {name: value_of(contract.takes[name]) for name in contract.required}


def value_of(schema: Schema) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "string":
            return "x" * max(1, schema.get("minLength", 1))
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case "array":
            return [value_of(schema["items"])]
        case _:
            return {name: value_of(schema["properties"][name]) for name in schema.get("required", ())}


@rows("profile", SYSTEM_PROFILES)
def test_a_profile_has_exactly_the_tools_of_its_system(profile: Any) -> None:
    if profile == "deepwork":  # later versions have more
        assert set(CONTRACTS[profile]) <= set(profile_of(profile).tools)
    else:
        own = [tool.name for tool in profile_of(profile).tools.values() if not tool.for_planners]
        assert own == list(CONTRACTS[profile])


@rows(("profile", "name"), ROWS)
def test_a_tool_takes_what_the_table_says(profile: Any, name: str) -> None:
    tool, contract = row(profile, name)
    schema: Schema = {"type": "object", "properties": contract.takes, "required": list(contract.required)}
    assert ordered(schema_of(tool.arguments)) == ordered(schema)


@rows(("profile", "name"), ROWS)
def test_a_tool_says_what_it_is_for(profile: Any, name: str) -> None:
    assert len(row(profile, name)[0].description) > 20


@rows(("profile", "name"), [item for item in ROWS if CONTRACTS[item[0]][item[1]].required])
def test_a_call_without_a_required_argument_is_told_its_name(profile: Any, name: str) -> None:
    tool, contract = row(profile, name)
    for missing in contract.required:
        value = smallest(contract)
        del value[missing]
        with pytest.raises(NotDone) as refused:
            check(tool.arguments, value)
        assert refused.value.failure.code == "invalid_argument"
        assert missing in refused.value.failure.paths
        assert "is required" in refused.value.failure.message


@rows(("profile", "name"), ROWS)
def test_names_that_the_original_does_not_know_are_left_out(profile: Any, name: str) -> None:
    tool, contract = row(profile, name)
    value = smallest(contract)
    if profile == "deepwork":
        return
    assert check(tool.arguments, {**value, "nobody_knows_this": 1}) == check(tool.arguments, value)


@rows(("profile", "name"), ROWS)
def test_a_value_of_another_type_is_refused_by_its_path(profile: Any, name: str) -> None:
    tool, contract = row(profile, name)
    for argument, schema in contract.takes.items():
        wrong: Any = 7.5 if schema.get("type") in {"string", "boolean"} else "\x00no"
        with pytest.raises(NotDone) as refused:
            check(tool.arguments, {**smallest(contract), argument: wrong})
        assert argument in refused.value.failure.paths


@rows(("profile", "name"), ROWS)
def test_a_word_is_understood_in_any_case_and_with_any_separators(profile: Any, name: str) -> None:
    tool, contract = row(profile, name)
    for argument, schema in contract.takes.items():
        for word in schema.get("enum", ()):
            plain = check(tool.arguments, {**smallest(contract), argument: word})
            for variant in (word.upper(), word.replace("_", "-"), word.replace("_", ""), word.title()):
                assert check(tool.arguments, {**smallest(contract), argument: variant}) == plain


@rows("profile", SYSTEM_PROFILES)
def test_a_list_of_tools_is_short_enough(profile: Any) -> None:
    listed = [
        {"name": tool.name, "description": tool.description, "inputSchema": schema_of(tool.arguments)}
        for tool in profile_of(profile).tools.values()
    ]
    assert len(dump(listed).encode()) < MOST_BYTES
