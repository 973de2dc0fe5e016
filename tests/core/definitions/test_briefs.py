"""The brief of a Task for its worker, and the errors in how a workflow writes it."""

from typing import Any

import pytest

from dcf.asl.machine import warnings_of
from dcf.asl.syntax.parsing import parse_machine
from dcf.core.definitions.briefs import NOTHING, Brief, brief_of
from dcf.core.definitions.model import Definition, read_definition
from dcf.errors import InvalidDefinition, Problem
from dcf.values.json_text import Json
from tests.support.tables import rows

SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}


def machine(**fields: Json) -> dict[str, Any]:
    return {"asl": {"StartAt": "Price", "States": {"Price": {"Type": "Task", **fields, "End": True}}}}


def defined(**fields: Json) -> Definition:
    return read_definition(machine(**fields))


def problems_of(**fields: Json) -> list[Problem]:
    with pytest.raises(InvalidDefinition) as failure:
        defined(**fields)
    return list(failure.value.problems)


def problem(**fields: Json) -> Problem:
    (only,) = problems_of(**fields)
    return only


def shown(text: str, state_input: Json) -> str | None:
    return brief_of(defined(Instructions=text), "Price", state_input).instructions


def test_a_task_tells_its_worker_what_it_says() -> None:
    definition = defined(
        Instructions="Price order {% $states.input.id %}.",
        OutputSchema=SCHEMA,
        Errors=["OutOfStock"],
        Skills=["skill://pricing@1.0.0"],
    )
    assert brief_of(definition, "Price", {"id": 7}) == Brief(
        instructions="Price order 7.",
        output_schema=SCHEMA,
        errors=("OutOfStock",),
        skills=("skill://pricing@1.0.0",),
    )


def test_a_task_that_says_nothing_tells_nothing() -> None:
    assert brief_of(defined(), "Price", {}) is NOTHING
    assert NOTHING.as_json() == {}


def test_what_a_task_does_not_say_is_left_out() -> None:
    assert brief_of(defined(Errors=["Late"]), "Price", {}).as_json() == {"errors": ["Late"]}


def test_instructions_are_shown_as_written_until_the_input_is_known() -> None:
    definition = defined(Instructions="Price {% $states.input.id %}.")
    assert brief_of(definition, "Price").instructions == "Price {% $states.input.id %}."


@rows("language", ["JSONPath", "JSONata"])
def test_expressions_read_the_input_in_either_language(language: str) -> None:
    definition = defined(QueryLanguage=language, Instructions="{% $states.input.name %}: {% $sum($states.input.n) %}")
    assert brief_of(definition, "Price", {"name": "Ann", "n": [1, 2]}).instructions == "Ann: 3"


@rows(
    ("expression", "told"),
    [
        ("$states.input.name", "Ann"),
        ("$states.input.list", '[1,{"a":null}]'),
        ("$states.input", '{"name":"Ann","list":[1,{"a":null}],"yes":true}'),
        ("$states.input.yes", "true"),
        ('"{" & "%"', "{%"),
    ],
)
def test_a_value_is_shown_as_text_and_all_else_as_json(expression: str, told: str) -> None:
    assert shown(f"<{{% {expression} %}}>", {"name": "Ann", "list": [1, {"a": None}], "yes": True}) == f"<{told}>"


def test_an_expression_that_fails_is_told_of_in_its_place_and_the_rest_is_shown() -> None:
    text = shown("Price {% $states.input.id %} for {% $states.input.name + 1 %} now.", {"name": "Ann", "id": 4})
    assert text is not None
    assert text.startswith("Price 4 for [cannot be shown: The JSONata expression '$states.input.name + 1'")
    assert text.endswith("] now.")
    missing = shown("Price {% $states.input.id %}.", {})
    assert missing is not None
    assert "returned nothing" in missing


def test_an_expression_without_end_is_stopped() -> None:
    text = shown("{% ($f := function($n) { $f($n + 1) }; $f(0)) %}!", {})
    assert text is not None
    assert text.startswith("[cannot be shown:")
    assert text.endswith("]!")


def test_an_expression_may_take_fewer_steps_than_one_that_moves_data() -> None:
    assert shown("{% $count([1..500].($ * 2)) %}", {}) == "500"
    text = shown("{% $count([1..90000].($ * 2)) %}", {})
    assert text is not None
    assert text.startswith("[cannot be shown:")


def test_instructions_that_grow_with_their_input_are_cut() -> None:
    text = shown("{% $states.input %}" * 5, "x" * 20_000)
    assert text is not None
    assert len(text) < 33_000
    assert text.endswith("[cut after 32000 characters]")


@rows(
    ("text", "told"),
    [
        ("Price {% $states.input.id", "without %}"),
        ("Price $states.input.id %} now", "without {%"),
        ("Price {% $states.input. %}", "it is not JSONata"),
        ("Price {% %}", "it is not JSONata"),
        ("Price {% $total %}", "the variable $total cannot be read here"),
        ("Price {% $states.result.id %}", "$states.result is not available here"),
        ("Price {% $states.context.Execution.Id %}", "$states.context is not available here"),
        ("Price {% id %}", "there is no input document"),
        ("It is {% $now() %}", "$now would show something else every time"),
        ("{% $uuid() %}", "$uuid would show something else every time"),
        ("{% $eval($states.input.code) %}", "$eval is not allowed"),
        (" ", "1 to 16000"),
        ("x" * 16_001, "1 to 16000"),
        ("{% 1 %}" * 51, "51 expressions"),
        (7, "must be a string"),
    ],
)
def test_instructions_that_could_not_be_shown_are_a_problem(text: Json, told: str) -> None:
    result = problem(Instructions=text)
    assert result.path == "/asl/States/Price/Instructions"
    assert told in result.message


def test_an_own_function_and_its_variables_are_no_variables_of_the_run() -> None:
    assert shown("{% ($twice := function($n) { $n * 2 }; $twice($states.input)) %}", 4) == "8"


@rows("schema", [7, "object", [], None, {"type": "numbr"}, {"required": "total"}])
def test_what_is_no_json_schema_is_a_problem(schema: Json) -> None:
    result = problem(OutputSchema=schema)
    assert (result.path.removeprefix("/asl/States/Price/OutputSchema")[:1], result.code) in {
        ("", "invalid_schema"),
        ("/", "invalid_schema"),
    }


@rows("field", ["Errors", "Skills"])
def test_names_are_texts_that_can_be_seen(field: str) -> None:
    problems = problems_of(**{field: ["Good", 7, "", "a\u202eb", "x" * 201]})
    assert [problem.path for problem in problems] == [f"/asl/States/Price/{field}/{at}" for at in (1, 2, 3, 4)]
    assert problem(**{field: "Good"}).message.endswith("must be an array of strings, not a string.")


@rows("areas", [["src", 7], [" "], ["x" * 201], ["src"] * 51, "src"])
def test_areas_are_a_few_patterns_of_paths(areas: Json) -> None:
    assert problem(Areas=areas).path == "/asl/States/Price/Areas"
    assert defined(Areas=["src/**", "docs", "src/**"]).areas == {"Price": ("src/**", "docs")}


def test_no_task_fails_with_all_errors() -> None:
    assert "States.ALL stands for all errors" in problem(Errors=["States.ALL"]).message


def test_all_that_is_wrong_is_told_at_once() -> None:
    problems = problems_of(Instructions="{% ( %}", OutputSchema=7, Errors=7, Skills=[7])
    assert len(problems) == 4


def test_skills_of_task_and_binding_are_each_told_once() -> None:
    definition = defined(AgentBinding={"skills": ["skill://a", "skill://b"]}, Skills=["skill://b", "skill://c"])
    assert definition.skills == {"Price": ("skill://a", "skill://b", "skill://c")}
    assert brief_of(definition, "Price").skills == ("skill://a", "skill://b", "skill://c")


def test_states_inside_a_map_are_told_the_same_with_their_own_input() -> None:
    rate = {"Type": "Task", "Instructions": "{% $states.input %}", "End": True}
    inner = {"StartAt": "Rate", "States": {"Rate": rate}}
    definition = read_definition(
        {"asl": {"StartAt": "Each", "States": {"Each": {"Type": "Map", "ItemProcessor": inner, "End": True}}}}
    )
    assert brief_of(definition, "Each/3/Rate", "a talk").instructions == "a talk"
    assert brief_of(definition, "Each", []) is NOTHING


def test_steps_of_the_linear_form_tell_the_same() -> None:
    definition = read_definition({"steps": [{"step_id": "Price", "Instructions": "Price it.", "Errors": ["Late"]}, {}]})
    assert brief_of(definition, "Price").as_json() == {"instructions": "Price it.", "errors": ["Late"]}
    assert brief_of(definition, "Step_2") is NOTHING


@rows(
    ("resource", "field", "told"),
    [
        ("dcf:signal", "Instructions", "no agent works on it"),
        ("dcf:human", "Skills", "no agent works on it"),
        ("dcf:human", "Areas", "no agent works on it"),
        ("dcf:signal", "OutputSchema", "its output could not be corrected"),
        ("arn:aws:states:::states:startExecution", "Errors", "its output could not be corrected"),
    ],
)
def test_a_field_that_nobody_would_read_is_a_problem(resource: str, field: str, told: str) -> None:
    values: dict[str, Json] = {"Instructions": "Do.", "Skills": ["a"], "OutputSchema": True, "Errors": ["E"]}
    values["Areas"] = ["src"]
    value = {"name": "paid", "StateMachineArn": "w", "to": "ann", "title": "Pay"}
    expected = {"dcf:signal": ["name"], "dcf:human": ["to", "title"]}.get(resource, ["StateMachineArn"])
    result = problem(Resource=resource, Parameters={name: value[name] for name in expected}, **{field: values[field]})
    assert (result.code, result.path) == ("conflicting_fields", f"/asl/States/Price/{field}")
    assert told in result.message


def test_other_states_have_none_of_these_fields() -> None:
    with pytest.raises(InvalidDefinition) as failure:
        read_definition({"asl": {"StartAt": "A", "States": {"A": {"Type": "Pass", "Errors": [], "End": True}}}})
    assert failure.value.problems[0].code == "unknown_field"


def test_expressions_in_instructions_let_a_run_read_nothing_more() -> None:
    assert not defined(Instructions="Price {% $states.input.id %} for $$20, 'Assign'ed.").stateful
    assert defined(Instructions="Price {% 1 %}.", Parameters={"a.$": "$$.Execution.Id"}).stateful
    assert defined(QueryLanguage="JSONata", Arguments={"Instructions": "{% $states.input %}"}).stateful


# Errors that Retry and Catch name


def warned(**fields: Json) -> list[tuple[str, str]]:
    document = machine(**fields)["asl"]
    document["States"]["After"] = {"Type": "Pass", "End": True}
    result, problems = parse_machine(document)
    assert result is not None, problems
    return [(problem.path, problem.message) for problem in warnings_of(result)]


def rules(*names: str) -> dict[str, Json]:
    return {"Retry": [{"ErrorEquals": [*names]}], "Catch": [{"ErrorEquals": [*names], "Next": "After"}]}


def test_a_rule_for_an_error_that_the_task_does_not_list_is_warned_about() -> None:
    result = warned(Errors=["OutOfStock", "Late"], **rules("Late", "OutOfStok"))
    assert [path for path, _ in result] == [
        "/States/Price/Retry/0/ErrorEquals/1",
        "/States/Price/Catch/0/ErrorEquals/1",
    ]
    assert "'OutOfStok' is not among the Errors of the Task. Did you mean 'OutOfStock'?" in result[0][1]
    (details, _) = warned(Errors=["Late"], **rules("Broken"))
    assert details[1].endswith("Those are: Late.")
    (details, _) = warned(Errors=[], **rules("Broken"))
    assert details[1].endswith("Those are: none.")


def test_errors_that_any_task_may_have_need_not_be_listed() -> None:
    assert warned(Errors=["Late"], **rules("States.Timeout", "DCF.AttemptsExhausted")) == []
    assert warned(Errors=["Late"], **rules("States.ALL")) == []
    assert warned(**rules("Anything")) == []


def test_a_keyword_that_is_misspelt_is_warned_about() -> None:
    ((path, message),) = warned(OutputSchema={"properties": {"a": {"minLenght": 1}}}, Catch=rules("X")["Catch"])
    assert path == "/States/Price/OutputSchema/properties/a/minLenght"
    assert message.endswith("did you mean 'minLength'?")
