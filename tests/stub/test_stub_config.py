"""The content of a stub's configuration, and the messages about errors in it. No server here."""

import json
from pathlib import Path
from typing import Any

import pytest

from dcf.asl.surroundings import Chance
from dcf.errors import InvalidArgument
from dcf.stub.config import read_config
from dcf.stub.config_file import ConfigFile
from dcf.stub.matching import compile_match
from dcf.stub.rates import new_bucket, take
from dcf.stub.templates import Occasion, compile_template
from dcf.values.located import Report, SourcePlace, locate
from tests.stub.conftest import case, config, tool
from tests.support.tables import rows


def problems(document: Any) -> list[tuple[str | None, str]]:
    """Where and what: the column and the code of each problem."""
    report = Report()
    read_config(locate(document, SourcePlace("stub.json")), report)
    return [(problem.place.column, problem.code) for problem in report.problems]


ONE = "servers.s.tools.t"
RESULT = {"type": "object", "properties": {"from": {"const": "c"}}, "required": ["from"]}

REFUSED: dict[str, tuple[Any, str, str]] = {
    "a strategy that does not exist": (tool(case("c", "fuzzy", "", "x")), "cases[0].match.strategy", "invalid_value"),
    "no strategy": (tool({"caseId": "c", "match": {}, "response": 1}), "cases[0].match", "missing_field"),
    "no match": (tool({"caseId": "c", "response": 1}), "cases[0]", "missing_field"),
    "a value that is missing": (tool(case("c", "exact", "a")), "cases[0].match.value", "invalid_match"),
    "a path that is none": (tool(case("c", "exact", "a[", "x")), "cases[0].match.expr", "invalid_match"),
    "a path out of the arguments": (tool(case("c", "exact", "$$.a", "x")), "cases[0].match.expr", "invalid_match"),
    "a broken pattern": (tool(case("c", "regex", "a", "(")), "cases[0].match.value", "invalid_match"),
    "an endless pattern": (tool(case("c", "regex", "a", "x" * 501)), "cases[0].match.value", "invalid_match"),
    "JSON that is none": (tool(case("c", "jsonpath", "$.a", "{")), "cases[0].match.value", "invalid_match"),
    "an unknown field": (tool(surprise=1), "surprise", "unknown_field"),
    "a tool without a description": ({"cases": []}, "", "missing_field"),
    "a schema of no object": (tool(paramsSchema={"type": "array"}), "paramsSchema", "invalid_schema"),
    "a schema that is none": (tool(paramsSchema={"type": "object", "required": 3}), "paramsSchema", "invalid_schema"),
    "a schema elsewhere": (
        tool(paramsSchema={"type": "object", "properties": {"n": {"$ref": "http://127.0.0.1:1/x"}}}),
        "paramsSchema",
        "invalid_schema",
    ),
    "an error mode that does not exist": (tool(case("c", errorMode="explode")), "cases[0].errorMode", "invalid_value"),
    "a rate below zero": (tool(rateLimit={"rps": -1}), "rateLimit.rps", "invalid_value"),
    "a rate that is a text": (tool(rateLimit={"rps": "2"}), "rateLimit.rps", "wrong_type"),
    "a latency of an hour": (tool(latencyMs={"default": 3_600_000}), "latencyMs.default", "invalid_value"),
    "a flaky rate above one": (tool(case("c", flakyRate=2)), "cases[0].flakyRate", "invalid_value"),
    "two responses": (tool(case("c", response={}, responseTemplate={})), "cases[0]", "two_responses"),
    "no response": (
        tool({"caseId": "c", "match": {"strategy": "always"}}),
        "cases[0]",
        "missing_field",
    ),
    "a template of nothing known": (
        tool(case("c", responseTemplate={"a": "{{ shell('x') }}"})),
        "cases[0].responseTemplate",
        "invalid_template",
    ),
    "bounds the wrong way round": (
        tool(case("c", responseTemplate="{{ random_int(6, 1) }}")),
        "cases[0].responseTemplate",
        "invalid_template",
    ),
    "a response that its schema refuses": (
        tool(case("c"), case("d", "exact", "a", "x", weight=1), resultSchema=RESULT, defaultResponse={"from": "c"}),
        "cases[1].response",
        "response_mismatch",
    ),
    "a default that its schema refuses": (tool(resultSchema=RESULT), "defaultResponse", "response_mismatch"),
    "a case written twice": (
        tool(case("c", "exact", "a", "x"), case("c", "exact", "a", "y")),
        "cases[1]",
        "duplicate_case",
    ),
    "a case id with a colon": (tool(case("a:b")), "cases[0].caseId", "invalid_value"),
}


@rows(("found", "column", "code"), REFUSED.values(), ids=REFUSED)
def test_a_configuration_is_refused_at_its_place(found: Any, column: str, code: str) -> None:
    where = f"{ONE}.{column}" if column else ONE
    assert problems(config(s={"t": found})) == [(where, code)]


@pytest.mark.parametrize("server", ["a__b", "a_", "_a", "a.b", "", "a b", "../a", "a" * 65])
def test_a_server_is_never_renamed_but_refused(server: str) -> None:
    assert [code for _, code in problems({"servers": {server: {"tools": {"t": tool()}}}})] == ["invalid_name"]


@rows("name", ["a.b", "", "a b", "a/b", "a" * 65])
def test_a_tool_is_never_renamed_but_refused(name: str) -> None:
    assert [code for _, code in problems(config(s={name: tool()}))] == ["invalid_name"]


def test_d_97d_a_case_behind_one_that_takes_every_call_is_refused() -> None:
    cases = [case("all"), case("never", "exact", "q", "x"), case("before", "exact", "q", "y", weight=1)]
    assert problems(config(s={"t": tool(*cases)})) == [(f"{ONE}.cases[1]", "unreachable_case")]


def test_all_problems_are_found_at_once() -> None:
    document = config(s={"t": tool(case("c", "regex", "", "("), surprise=1)}, r={"u": {"cases": 7}})
    assert len(problems(document)) == 4


def test_what_is_written_out_says_the_same_when_it_is_read_again() -> None:
    document = config(s={"t": tool(case("c", "exact", "a", "x", weight=2, errorMode="flaky", flakyRate=0.2))})
    report = Report()
    first = read_config(locate(document, SourcePlace("stub.json")), report).as_json()
    assert read_config(locate(json.loads(json.dumps(first)), SourcePlace("stub.json")), report).as_json() == first
    assert report == Report()


@rows("content", [b"", b"\xff\xfe", b"[]", b"{}", b"null", b'{"servers": {"s": []}}', b"[" * 9000])
def test_a_stub_does_not_begin_with_a_file_that_it_cannot_use(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "stub.json"
    path.write_bytes(content)
    with pytest.raises(InvalidArgument, match="cannot be used"):
        ConfigFile(path)
    with pytest.raises(InvalidArgument):
        ConfigFile(tmp_path / "nothing.json")


def test_a_bucket_fills_at_its_rate_and_never_beyond_its_capacity() -> None:
    bucket, waits = new_bucket(0.5, 100.0), []
    for now in (100.0, 100.0, 101.0, 102.0, 500.0, 500.0):
        bucket, wait = take(bucket, now)
        waits.append(wait)
    assert waits == [0.0, 2.0, 1.0, 0.0, 0.0, 2.0]


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    bucket, wait = take(new_bucket(1, 100.0), 100.0)
    assert (wait, take(bucket, 50.0)[1]) == (0.0, 1.0)


def test_a_pattern_looks_at_the_beginning_of_a_long_text_only() -> None:
    fits = compile_match("regex", "q", "needle")
    assert fits({"q": "needle" + "x" * 20_000})
    assert not fits({"q": "x" * 20_000 + "needle"})


def test_a_text_of_braces_that_is_no_expression_stays() -> None:
    occasion = Occasion(arguments={"a": 1}, now="now", chance=Chance("0"))
    assert compile_template("{ a } {{ a }} }}")(occasion) == "{ a } 1 }}"
