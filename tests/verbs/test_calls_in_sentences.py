"""Each call that a sentence names, and each that a remedy advises, is a call that the tool of a list takes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.tools.mcp.selection import callable_tools
from dcf.verbs.merged.naming import RETIRED, offered
from dcf.verbs.registry import TOOLS
from dcf.verbs.wording.calls import CALLS
from dcf.verbs.wording.named import named_in
from dcf.verbs.wording.sentences import worded
from dcf.verbs.wording.tools import Tools
from tests.features.diagnosis.test_remedies import ALL as REMEDIES
from tests.support.tables import rows
from tests.verbs.test_hints import sentences

SERVED: Final = {spec.name: spec for spec in callable_tools((), read_only=False)}
CALL: Final = re.compile(r"`([a-z_]+)\(([^`]*)\)`")


def described() -> Iterator[tuple[str, str]]:
    """Yield the descriptions of tools and arguments."""
    for spec in TOOLS.values():
        yield spec.name, spec.description
        for name, field in spec.arguments.model_fields.items():
            yield f"{spec.name}.{name}", field.description or ""


def calls() -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return the calls of verbs in all texts, each with the place where it stands."""
    texts = [*sentences(), *described()]
    return [
        (place, item.name, item.arguments)
        for place, text in texts
        for item in named_in(text)
        if item.name in CALLS and not item.has_value
    ]


def test_every_call_in_a_sentence_is_worded_as_one_that_its_tool_takes() -> None:
    wrong, retired = [], 0
    for place, verb, arguments in calls():
        text = worded(written(verb, arguments), Tools())
        if not is_taken(text) or any(f"={word(value)}" not in text for value in sent_of(verb, arguments)):
            wrong.append((place, text))
        retired += verb in RETIRED
    assert wrong == []
    assert retired > 50


@rows("verb", sorted(RETIRED))
def test_every_verb_that_is_merged_is_worded_with_each_of_its_arguments_alone(verb: str) -> None:
    own = [name for name in CALLS[verb].arguments.split() if name not in fixed_of(verb)]
    for name in own:
        text = worded(f"`{verb}({name}=x1)`", Tools())
        assert is_taken(text), text
        assert text.count("=x1") == 1, text


def test_no_description_names_a_verb_that_is_merged_outside_backticks() -> None:
    bare = re.compile(rf"(?<![`\w])(?:{'|'.join(name for name in RETIRED if '_' in name)})(?![`\w])")
    assert [(place, text) for place, text in described() if bare.search(text)] == []


def test_every_call_that_a_remedy_advises_is_one_that_its_tool_takes() -> None:
    assert len(REMEDIES) > 15
    for remedy in REMEDIES.values():
        tool, arguments = offered(remedy.tool, dict(remedy.arguments))
        assert arguments.keys() <= SERVED[tool].arguments.model_fields.keys(), remedy


def is_taken(text: str) -> bool:
    """Return True for a call with arguments that its tool has, none of them twice."""
    match = CALL.fullmatch(text)
    tool, inside = (text.strip("`"), "") if match is None else match.groups()
    names = [part.partition("=")[0] for part in inside.split(", ") if part]
    return len(set(names)) == len(names) and {*names} <= SERVED[tool].arguments.model_fields.keys()


def sent_of(verb: str, arguments: Mapping[str, Any]) -> list[Any]:
    """Return the values of arguments that no choice of a merged tool stands for."""
    return [value for name, value in arguments.items() if name not in fixed_of(verb)]


def written(verb: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as a sentence has it."""
    return f"`{verb}({', '.join(f'{name}={word(value)}' for name, value in arguments.items())})`"


def word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def fixed_of(verb: str) -> set[str]:
    """Return the arguments of a verb whose values a choice of its merged tool stands for."""
    return {"hold_run": {"hold"}, "add_journal_entry": {"kind"}}.get(verb, set())
