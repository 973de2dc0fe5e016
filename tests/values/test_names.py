"""Names have no invisible characters, from any sender, and an error shows the character."""

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.core.definitions.model import read_definition
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.values.identifiers import check_name, check_state
from dcf.values.names import escaped, hidden_in
from dcf.workflows.validation.document import validate
from tests.support.tables import rows

HIDDEN = {
    "a zero width space": ("pay\u200bpal", "U+200B", "pay\\u200bpal"),
    "a right to left override": ("invoice\u202egnp.exe", "U+202E", "invoice\\u202egnp.exe"),
    "an isolate": ("a\u2066b", "U+2066", "a\\u2066b"),
    "a byte order mark": ("\ufeffa", "U+FEFF", "\\ufeffa"),
    "a line separator": ("a\u2028b", "U+2028", "a\\u2028b"),
    "a paragraph separator": ("a\u2029b", "U+2029", "a\\u2029b"),
    "a control character": ("a\x1b[2J", "U+001B", "a\\u001b[2J"),
    "a C1 control character": ("a\x9b2J", "U+009B", "a\\u009b2J"),
    "a tag": ("a\U000e0041", "U+E0041", "a\\U000e0041"),
    "a private character": ("a\ue000", "U+E000", "a\\ue000"),
    "an unassigned character": ("a\u0378", "U+0378", "a\\u0378"),
    "a filler": ("a\u3164", "U+3164", "a\\u3164"),
    "an emoji joined of several": ("\U0001f469\u200d\U0001f680", "U+200D", "\U0001f469\\u200d\U0001f680"),
}
SEEN = [
    "A",
    "Prüfen",
    "価格を計算",
    "حساب",
    "Цена",
    "CalculatePricing-2.1 (new)",
    "\U0001f680 launch",
    "\u2764\ufe0f",
    "🇩🇪",
]


@rows("name", HIDDEN.values(), ids=HIDDEN)
def test_a_name_with_a_hidden_character_is_refused_and_the_character_is_named(name: tuple[str, str, str]) -> None:
    text, code, shown = name
    assert hidden_in(text) == code
    assert escaped(text) == shown
    with pytest.raises(InvalidArgument) as refused:
        check_name(text, "A tag", 100)
    assert code in refused.value.message
    assert refused.value.message.isprintable()
    with pytest.raises(InvalidArgument, match=code.replace("+", r"\+")):
        check_state(text)


@rows("name", SEEN)
def test_names_of_all_languages_and_simple_emoji_may_be_used(name: str) -> None:
    assert hidden_in(name) is None
    assert check_name(name, "A tag", 100) == name
    assert read_definition(workflow(name)).paths


def workflow(state: str = "A", **more: str) -> dict[str, object]:
    return {"asl": {"StartAt": state, "States": {state: {"Type": "Task", "End": True}}}, **more}


@rows("name", HIDDEN.values(), ids=HIDDEN)
@rows("place", ["state", "nested", "step", "workflow_name"])
def test_a_workflow_with_such_a_name_is_neither_valid_nor_created(name: tuple[str, str, str], place: str) -> None:
    text, code, shown = name
    inner = {"StartAt": text, "States": {text: {"Type": "Pass", "End": True}}}
    documents: dict[str, dict[str, object]] = {
        "state": workflow(text),
        "nested": {"asl": {"StartAt": "P", "States": {"P": {"Type": "Parallel", "Branches": [inner], "End": True}}}},
        "step": {"steps": [{"step_id": text}]},
        "workflow_name": workflow(workflow_name=text),
    }
    document = documents[place]
    with pytest.raises(InvalidDefinition) as refused:
        read_definition(document)
    messages = [problem.message for problem in refused.value.problems if problem.code == "invalid_name"]
    assert messages
    assert code in messages[0]
    assert shown in messages[0]
    assert messages[0].isprintable()
    if place != "step":  # validate wants the ASL form
        assert "invalid_name" in {problem["code"] for problem in validate(json.dumps(document))["problems"]}


def test_a_surrogate_is_refused_too() -> None:
    assert hidden_in("a\ud800") == "U+D800"


@given(st.text(max_size=20))
def test_a_valid_name_is_printable_but_for_blanks_and_an_escaped_name_always(name: str) -> None:
    if hidden_in(name) is None:
        assert all(item.isprintable() or unicodedata.category(item) == "Zs" for item in name)
    assert hidden_in(escaped(name)) is None


def test_no_format_character_at_all_passes() -> None:
    formats = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in {"Cf", "Cc"}]
    assert len(formats) > 200
    assert all(hidden_in(name) for name in formats)
