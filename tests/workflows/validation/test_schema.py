"""The schema is checked faster than the library does it, and finds the same."""

import random
from typing import Any

from jsonschema import Draft202012Validator

from dcf.workflows.validation.form import _PLACES, _validator
from dcf.workflows.validation.schema import SCHEMA_NAME
from dcf.workflows.validation.schema_files import read_schema

VALUES: list[Any] = [None, True, 0, 1.0, 1.5, "", "Task", "Pass", "1.0.0", "JSONata", [], [""], [1], {}, {"id": ""}]
NAMES = [
    *("workflow_id", "workflow_name", "version", "asl", "agents", "tags", "af_imports", "uri", "agent_name"),
    *("StartAt", "States", "Type", "Comment", "QueryLanguage", "AgentBinding", "agent_ref", "skills", "lifecycle"),
    *("mode", "Retry", "Choices", "Branches", "ItemProcessor", "Result", "TimeoutSeconds", "A", "B", "Typo"),
]
SCHEMA: Any = {
    "$defs": {"Odd": {"type": "integer", "not": {"multipleOf": 2}}, "Any": True, "Round": {"$ref": "#/$defs/Odd"}},
    "type": "object",
    "properties": {
        "A": {"$ref": "#/$defs/Round"},
        "B": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        "Type": {"type": "array", "prefixItems": [True], "items": {"enum": [1, "Task"]}},
        "Comment": {"$ref": "#/$defs/Any", "minLength": 1},
        "States": {"items": {"$ref": "#/$defs/Odd"}, "additionalProperties": {"type": ["string", "null"]}},
    },
    "patternProperties": {"^asl": {"type": "string"}},
    "additionalProperties": {"type": "object"},
}


def _grown(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if depth == 0 or kind < 0.35:
        return chance.choice(VALUES)
    if kind < 0.5:
        return [_grown(chance, depth - 1) for _ in range(chance.randrange(3))]
    return {name: _grown(chance, depth - 1) for name in chance.sample(NAMES, chance.randrange(1, 9))}


def _likely(chance: random.Random) -> Any:
    """A document that is right in most places."""
    states: dict[str, Any] = {"A": chance.choice(VALUES)}
    for name in "BCD":
        more = {member: _grown(chance, 2) for member in chance.sample(NAMES, chance.randrange(3))}
        states[name] = {"Type": chance.choice(["Task", "Pass", "Map"]), **more}
    good = {"workflow_id": "w", "workflow_name": "n", "version": "1.0.0", "asl": {"StartAt": "A", "States": states}}
    return good | ({"Typo": 1} if chance.random() < 0.2 else {})


def _told(checker: Any, document: Any) -> list[tuple[Any, ...]]:
    result = [(list(error.absolute_path), error.validator, error.message) for error in checker.iter_errors(document)]
    return sorted(result, key=repr)


def test_the_same_errors_are_found_as_by_the_library() -> None:
    chance = random.Random(20_26)
    shipped = read_schema(next(place / SCHEMA_NAME for place in _PLACES if (place / SCHEMA_NAME).is_file()))
    for schema in (shipped, SCHEMA):
        ours, theirs = _validator(schema), Draft202012Validator(schema)
        for _ in range(400):
            for document in (_grown(chance, 4), _likely(chance)):
                assert _told(ours, document) == _told(theirs, document), document


def test_errors_come_in_the_order_of_the_document() -> None:
    shipped = read_schema(next(place / SCHEMA_NAME for place in _PLACES if (place / SCHEMA_NAME).is_file()))
    states = {f"S{number}": 7 for number in range(50)}
    document = {
        "workflow_id": "w",
        "workflow_name": "n",
        "version": "1.0.0",
        "asl": {"StartAt": "S0", "States": states},
    }
    result = [error.absolute_path[-1] for error in _validator(shipped).iter_errors(document)]
    assert result == list(states)


def test_a_schema_that_names_itself_elsewhere_is_followed_by_the_library() -> None:
    inner = {"$id": "urn:inner", "$defs": {"X": {"type": "string"}}, "properties": {"A": {"$ref": "#/$defs/X"}}}
    schema = {"$id": "urn:outer", "$defs": {"X": {"type": "integer"}, "Inner": inner}, "$ref": "#/$defs/Inner"}
    assert _told(_validator(schema), {"A": "text"}) == []
    assert len(_told(_validator(schema), {"A": 7})) == 1
