"""Payload templates: what is read, what stays as written, and what is shared."""

from typing import Any

import pytest

from dcf.asl.expressions.templates import Template, TemplateProblem, compile_template
from dcf.asl.surroundings import NOWHERE, Surroundings
from dcf.errors import StateError
from tests.support.tables import rows


def _compiled(body: Any) -> Template:
    problems: list[TemplateProblem] = []
    template = compile_template(body, problems)
    assert problems == []
    return template


def test_keys_that_end_with_dot_dollar_are_read_and_all_else_is_literal() -> None:
    body = {
        "id.$": "$.order.id",
        "who.$": "$$.Execution.Name",
        "nested": {"list": [1, {"first.$": "$.items[0]"}, ["$.order"]]},
        "text": "$.order.id",
        "all.$": "$",
    }
    document = {"order": {"id": 7}, "items": ["x"]}
    assert _compiled(body).render(document, Surroundings(context={"Execution": {"Name": "run"}})) == {
        "id": 7,
        "who": "run",
        "nested": {"list": [1, {"first": "x"}, ["$.order"]]},
        "text": "$.order.id",
        "all": document,
    }


def test_a_path_that_finds_nothing_names_the_field() -> None:
    with pytest.raises(StateError) as failure:
        _compiled({"a": {"value.$": "$.x"}}).render({}, NOWHERE)
    assert failure.value.error == "States.Runtime"
    assert "'value.$'" in failure.value.cause
    assert "'$.x'" in failure.value.cause


@rows(
    ("body", "trail", "code"),
    [
        ({"a.$": 1}, ("a.$",), "wrong_type"),
        ({"a.$": "plain"}, ("a.$",), "invalid_path"),
        ({"a": [{"b.$": "$.x[?"}]}, ("a", "0", "b.$"), "invalid_path"),
        ({"a.$": "States.UUID(1)"}, ("a.$",), "invalid_path"),
        ({"a.$": "$.x", "a": 1}, ("a",), "duplicate_field"),
    ],
)
def test_what_is_wrong_is_told_with_the_way_there(body: Any, trail: tuple[str, ...], code: str) -> None:
    problems: list[TemplateProblem] = []
    compile_template(body, problems)
    assert [(problem.trail, problem.code) for problem in problems] == [(trail, code)]
