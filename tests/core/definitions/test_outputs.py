"""Outputs are checked once for each delivery, however often its transaction is tried; names of failures are judged."""

from typing import Any

from dcf.core.definitions.model import Definition, read_definition
from dcf.core.definitions.outputs import output_refusal, unlisted
from dcf.core.documents.model import StateDoc
from dcf.values.json_text import Json

SCHEMA: dict[str, Any] = {"type": "object", "required": ["total"]}


def defined(**fields: Json) -> Definition:
    return read_definition({"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", **fields, "End": True}}}})


def is_refused(definition: Definition, output: Json) -> bool:
    return output_refusal(definition, "A", output, StateDoc(), "hint") is not None


def test_an_output_that_was_just_checked_is_not_checked_again() -> None:
    definition = defined(OutputSchema=SCHEMA)
    output: dict[str, Json] = {}
    assert is_refused(definition, output)
    output["total"] = 1  # no caller does this; it shows that the answer is the earlier one
    assert is_refused(definition, output)
    assert not is_refused(definition, {"total": 1})


def test_another_schema_is_another_check() -> None:
    output: dict[str, Json] = {}
    assert is_refused(defined(OutputSchema=SCHEMA), output)
    assert not is_refused(defined(OutputSchema={"type": "object"}), output)


def test_many_outputs_are_each_judged_for_themselves() -> None:
    definition = defined(OutputSchema={"type": "integer"})
    for number in range(100):
        assert not is_refused(definition, number)
        assert is_refused(definition, str(number))


def test_a_state_inside_a_map_has_the_schema_of_its_name() -> None:
    inner = {"StartAt": "B", "States": {"B": {"Type": "Task", "OutputSchema": False, "End": True}}}
    states = {"A": {"Type": "Map", "ItemProcessor": inner, "End": True}}
    definition = read_definition({"asl": {"StartAt": "A", "States": states}})
    refusal = output_refusal(definition, "A/7/B", 1, StateDoc(), "hint")
    assert refusal is not None
    assert refusal.problems == ({"path": "", "message": "Nothing may be here."},)


def test_a_task_that_lists_no_errors_expects_any() -> None:
    assert unlisted(defined(), "A", "Anything") is None
    assert unlisted(defined(Errors=["Late"]), "A", "Late") is None
    assert unlisted(defined(Errors=["Late"]), "A", None) is None
    details = unlisted(defined(Errors=[]), "A", "Late")
    assert details == "'Late' is not among the Errors of 'A' (none). It was recorded."
