"""Skill manifests: what is accepted, and what is said about the rest."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.errors import InvalidDefinition
from dcf.skills.manifest import judge, read_manifest
from dcf.skills.policy import Policy
from dcf.skills.servers import Registry
from tests.support.agents.skill_manifests import Document, manifest, source, tool
from tests.support.tables import rows

PROFILE = {
    "baseWCS": 9,
    "dimensionScores": dict.fromkeys(
        ("horizon", "context", "tooling", "observability", "modality", "precision", "adaptability"), 1
    ),
    "maturityLevel": "provisional",
    "interactionMultipliers": [{"pair": "horizon+context", "multiplier": 1.15}],
    "finalFCS": 10.35,
    "recommendedTier": 1,
    "validatedModels": ["m"],
    "sampleSize": 3,
    "lastCalibrated": "2026-01-01",
}
DEFINITIONS: list[Document] = [
    {"type": "python_source", "sourceCode": "def f(): ..."},
    {"type": "registered", "platformToolId": "tool-1"},
    {"type": "mcp_server", "serverId": "orders", "toolName": "verify"},
    {
        "type": "mcp_server",
        "endpointUrl": "http://a.example/mcp",
        "operationId": "verify",
        "openApiSpecUrl": "http://a",
    },
]


def codes(document: Any) -> set[tuple[str, str]]:
    return {(problem.path, problem.code) for problem in judge(document).problems}


def test_a_manifest_is_valid_as_text_and_as_an_object() -> None:
    for given_as in (manifest(), json.dumps(manifest())):
        result = judge(given_as)
        assert (result.ok, result.exit_code, result.problems) == (True, 0, ())


@rows("definition", DEFINITIONS, ids=lambda item: str(sorted(item)))
def test_every_kind_of_tool_is_accepted(definition: Document) -> None:
    expected = {"toolName": "verify", "description": "", "definition": definition, "required": False}
    assert judge(manifest(requiredTools=[expected])).ok


@rows(
    ("definition", "described", "wanted"),
    [
        (DEFINITIONS[0], True, {**DEFINITIONS[0], "json_schema": {"name": "verify"}}),
        (DEFINITIONS[0], False, DEFINITIONS[0]),
        (DEFINITIONS[1], True, DEFINITIONS[1]),
        (DEFINITIONS[1], False, DEFINITIONS[1]),
    ],
)
def test_the_schema_of_a_tool_goes_with_its_source_only(
    definition: Document, described: bool, wanted: Document
) -> None:
    more: Document = {"json_schema": {"name": "verify"}} if described else {}
    (need,) = read_manifest(manifest(requiredTools=[tool("verify", definition=definition, **more)])).tools
    wish = Policy(python_source=True).wish("check.order", need, Registry(path=Path("registry.json")))
    assert wish.definition == wanted


@rows("definition", DEFINITIONS, ids=lambda item: str(sorted(item)))
def test_a_tool_whose_definition_lacks_something_or_has_more_is_refused(definition: Document) -> None:
    for name in definition:
        lacking = {key: value for key, value in definition.items() if key != name}
        if name == "openApiSpecUrl":
            continue
        result = judge(manifest(requiredTools=[tool("verify", definition=lacking)]))
        assert result.exit_code == 1, name
        assert all(problem.path.startswith("/requiredTools/0/definition") for problem in result.problems)
        assert not any("rule" in problem.message for problem in result.problems), "in words"
    more = judge(manifest(requiredTools=[tool("verify", definition=definition | {"surplus": 1})]))
    assert [problem.code for problem in more.problems] == ["unknown_field"]


def test_version_2_1_has_a_complexity_profile_and_2_0_has_none() -> None:
    """D-97b: profiled manifests failed the default schema."""
    assert judge(manifest(manifestApiVersion="v2.1.0", complexityProfile=PROFILE)).ok
    assert codes(manifest(complexityProfile=PROFILE)) == {("/manifestApiVersion", "invalid_value")}


@rows(
    ("change", "path", "code"),
    [
        ({"manifestApiVersion": "v3.0.0"}, "/manifestApiVersion", "invalid_value"),
        ({"skillVersion": "1.0"}, "/skillVersion", "invalid_value"),
        ({"skillVersion": "1.0.0\n"}, "/skillVersion", "invalid_value"),
        ({"skillDirectives": ""}, "/skillDirectives", "missing_field"),
        ({"manifestId": "../../etc/passwd"}, "/manifestId", "invalid_value"),
        ({"manifestId": "a\n"}, "/manifestId", "invalid_value"),
        ({"skillName": "x" * 129}, "/skillName", "invalid_value"),
        ({"surplus": 1}, "/surplus", "unknown_field"),
        ({"permissions": []}, "/permissions", "wrong_type"),
        ({"permissions": {"egress": "everywhere"}}, "/permissions/egress", "invalid_value"),
        ({"permissions": {"secrets": "KEY"}}, "/permissions/secrets", "wrong_type"),
        ({"permissions": {"secrets": ["key=value"]}}, "/permissions/secrets/0", "invalid_value"),
        ({"requiredTools": ["verify"]}, "/requiredTools/0", "wrong_type"),
        ({"requiredTools": [tool("")]}, "/requiredTools/0/toolName", "missing_field"),
        ({"requiredTools": [tool("a b")]}, "/requiredTools/0/toolName", "invalid_value"),
        ({"requiredDataSources": [source("a/../b", "x")]}, "/requiredDataSources/0/dataSourceId", "invalid_value"),
        ({"requiredDataSources": [{"dataSourceId": "a"}]}, "/requiredDataSources/0", "missing_field"),
    ],
)
def test_what_does_not_fit_the_form_is_named_with_its_place(change: Document, path: str, code: str) -> None:
    document = manifest() | change
    assert (path, code) in {(problem.path.rpartition("/")[0] if code == "x" else problem.path, problem.code)
                            for problem in judge(document).problems}  # fmt: skip
    assert judge(document).exit_code == 1
    assert all(problem.hint for problem in judge(document).problems)


@rows("other", ["verify", "VERIFY", "Verify"])
def test_a_tool_that_is_there_twice_is_a_static_problem(other: str) -> None:
    result = judge(manifest(requiredTools=[tool("verify"), tool(other)]))
    assert (result.exit_code, [problem.code for problem in result.problems]) == (2, ["duplicate_tool"])
    assert result.texts("static")[0].startswith("requiredTools/1/toolName: The tool ")


def test_a_data_source_that_is_there_twice_is_a_static_problem() -> None:
    result = judge(manifest(requiredDataSources=[source("a", "x"), source("A", "y")]))
    assert (result.exit_code, result.problems[0].code) == (2, "duplicate_data_source")


def test_parameters_that_are_no_schema_are_a_static_problem() -> None:
    broken = {
        "name": "verify",
        "parameters": {"type": "object", "properties": {"a": {"type": "number", "minimum": "x"}}},
    }
    assert judge(manifest(requiredTools=[tool("verify", json_schema=broken)])).problems[0].code == "invalid_tool_schema"


def test_doubts_are_warnings() -> None:
    result = judge(manifest(manifestId="my-own-id"))
    assert result.ok
    assert result.warnings[0] == "manifestId is usually 'skill.check.order@1.0.0'."


@rows("text", ["", "{", "[]", "null", "NaN", '{"a": 1, "a": 2}', "[" * 9999, '"' + "x" * 2_000_000 + '"'])
def test_what_is_no_object_is_refused_in_words(text: str) -> None:
    result = judge(text)
    assert result.exit_code in {1, 4}
    assert len(result.problems[0].message) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(sorted(manifest())) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(JSON | st.builds(lambda more: manifest() | more, st.dictionaries(st.sampled_from(sorted(manifest())), JSON)))
def test_no_manifest_at_all_makes_it_raise(document: Any) -> None:
    result = judge(document)
    assert result.exit_code in {0, 1, 2, 4}
    if result.ok:
        assert read_manifest(document).manifest_id


def test_reading_a_broken_manifest_raises_with_every_problem() -> None:
    with pytest.raises(InvalidDefinition) as refused:
        read_manifest(manifest(surplus=1, skillVersion="x"))
    assert len(refused.value.problems) == 2
