"""Failures name only tools that the profile lists: what dcf says in its own words, and what the profiles write."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dcf
import dcf.profiles
from dcf.profiles.catalog import profile_of
from dcf.profiles.foreign_names import in_own_words, own_names
from dcf.profiles.profile import Failure, Profile
from dcf.tools.mcp.selection import select_tools
from dcf.values.profile_names import SYSTEM_PROFILES
from tests.support.tables import rows

NATIVE = frozenset(spec.name for spec in select_tools((), read_only=False))
DISTINCT = frozenset(name for name in NATIVE if "_" in name)
"""Names of dcf's tools that are no words of sentences."""


def names_in(text: str) -> list[str]:
    return re.findall(r"[a-z]+(?:_[a-z0-9]+)+", text)


def texts(file: Path) -> Iterator[str]:
    """Yield every text of a module as one string: pieces that stand side by side, and what f-strings have around."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            pieces = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield "".join(map(str, pieces))


def refusals() -> list[str]:
    """All texts of dcf that may be a message or a hint: sentences."""
    files = [*Path(dcf.__file__).parent.rglob("refusals.py"), Path(dcf.__file__).parent / "errors.py"]
    return [text for file in files for text in texts(file) if text.rstrip().endswith(".")]


@rows("name", SYSTEM_PROFILES)
def test_what_dcf_refuses_is_told_without_names_of_foreign_tools(name: str) -> None:
    profile = profile_of(name)  # type: ignore[arg-type]  # one of SYSTEM_PROFILES
    tool, foreign = next(iter(profile.tools)), DISTINCT - own_names(profile)
    sentences = refusals()
    assert any(word in text for text in sentences for word in foreign)
    for text in sentences:
        failure = in_own_words(Failure(code="c", message=text, hint=text, is_native=True), profile, tool, NATIVE)
        assert foreign.isdisjoint(names_in(failure.sentence)), failure.sentence
        assert failure.hint


def test_sentences_that_name_no_foreign_tool_stay() -> None:
    profile = profile_of("deepwork")
    hint = "Call finished_step again. list_gates shows what waits; look there. Ask the user."
    failure = Failure(code="c", message="override_gate needs the scope 'override'.", hint=hint, is_native=True)
    details = in_own_words(failure, profile, "finished_step", NATIVE)
    assert details.message == "finished_step needs the scope 'override'."
    assert details.hint == "Call finished_step again. Ask the user."


def test_what_a_profile_writes_itself_stays_as_it_is() -> None:
    failure = Failure(code="c", message="m", hint="The answer has failed_criteria.")
    assert in_own_words(failure, profile_of("deepwork"), "finished_step", NATIVE) == failure


def written(profile: Profile) -> Iterator[str]:
    """Yield the texts that a profile writes to its clients: those of its `refuse` calls, and its instructions."""
    folder = Path(dcf.profiles.__file__).parent / profile.name.replace("-", "_")
    yield profile.instructions
    yield profile.advice
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"refuse", "Failure"}:
                yield from _texts_of(node)


def _texts_of(call: ast.Call) -> Iterator[str]:
    for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
        for node in ast.walk(argument):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@rows("name", SYSTEM_PROFILES)
def test_what_a_profile_writes_names_only_tools_that_it_lists(name: str) -> None:
    profile = profile_of(name)  # type: ignore[arg-type]  # one of SYSTEM_PROFILES
    foreign = DISTINCT - own_names(profile)
    assert not [text for text in written(profile) if not foreign.isdisjoint(names_in(text))]
