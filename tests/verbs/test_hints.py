"""Hints and other sentences name a verb as a call in backticks, so that each interface finds it and words it."""

import ast
import re
from collections.abc import Iterator

from dcf.cli.command_table import rows
from dcf.core.listing.event_kinds import HISTORY
from dcf.tools.mcp import selection
from dcf.verbs.registry import TOOLS
from dcf.verbs.wording.calls import CALLS
from dcf.verbs.wording.named import named_in
from tests.support.paths import ROOT

assert selection.MODULES, "importing the selection registers all tools"

DESCRIPTIONS = {"means", "example", "examples", "spelling", "description", "summary", "help", "about", "documentation"}
"""Keywords of texts that describe arguments and commands: no hints, and each interface has its own of them."""

NOT_OURS = {"profiles", "prompt_texts", "derived"}
"""Folders with names of other systems' tools, and with what is derived."""

NOTES = {
    "dcf/core/lifecycle/finalization.py",
    "dcf/cli/commands/audit.py",
    "dcf/tools/mcp/reference.py",
}
"""Modules with a verb's name in what is kept in history, as a value of an option, or in a page of the docs."""

WORDS = {
    *("for", "if", "is", "or", "python"),  # of Python
    *("local", "current", "key_file"),  # of the file with contexts
    *("all", "after", "files"),  # of tests of workflows, and of gates
    "instructions",  # of work
}
"""Further words in backticks, as docs have them."""

VERB = re.compile(rf"(?<![\w`.<'/])(?:{'|'.join(name for name in CALLS if '_' in name)})(?![\w`])")
FIELD = re.compile(r"\{[a-z_.]+(?::[a-z0-9 ]+)?\}")
"""A field of the template of a sentence (`values/refusal.py: RefusalKind`)."""
COMMAND = re.compile(r"`dcf ([a-z]+(?: [a-z]+)?)")


def sentences() -> Iterator[tuple[str, str]]:
    """Yield the sentences in the source of dcf, with the places where they stand."""
    for path in sorted((ROOT / "dcf").rglob("*.py")):
        place = path.relative_to(ROOT)
        if NOT_OURS.isdisjoint(place.parts) and place.as_posix() not in NOTES:
            for node in texts(ast.parse(path.read_text("utf-8"))):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts(node))
                if " " in text.strip():
                    yield f"{place}:{node.lineno}", FIELD.sub("{}", text)


def texts(tree: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the texts of a module, but for docstrings and descriptions."""
    if isinstance(tree, ast.JoinedStr) or (isinstance(tree, ast.Constant) and isinstance(tree.value, str)):
        yield tree
        return
    for child in ast.iter_child_nodes(tree):
        is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if not is_docstring and not (isinstance(child, ast.keyword) and child.arg in DESCRIPTIONS):
            yield from texts(child)


def parts(node: ast.Constant | ast.JoinedStr) -> list[ast.expr]:
    return node.values if isinstance(node, ast.JoinedStr) else [node]


def known_words() -> set[str]:
    """Return the verbs, the arguments, and the fields of answers and events."""
    arguments = {name for row in CALLS.values() for name in row.arguments.split()}
    fields = {name for spec in TOOLS.values() for name in spec.answer.model_fields}
    of_events = {name for kind in HISTORY.values() for name in kind.fields}
    return {*CALLS, *arguments, *fields, *of_events, *WORDS}


def test_no_sentence_names_a_verb_outside_backticks() -> None:
    assert [(place, text) for place, text in sentences() if VERB.search(text)] == []


def test_what_stands_in_backticks_is_a_verb_an_argument_or_a_field() -> None:
    words = known_words()
    named = [(place, item.name) for place, text in sentences() for item in named_in(text)]
    assert [(place, name) for place, name in named if name not in words] == []


def test_a_call_in_a_sentence_has_arguments_of_its_verb() -> None:
    calls = [(place, call) for place, text in sentences() for call in named_in(text) if call.name in CALLS]
    assert len(calls) > 100
    wrong = [call for call in calls if not set(call[1].arguments) <= set(CALLS[call[1].name].arguments.split())]
    assert wrong == []


def test_a_command_in_a_sentence_is_none_of_a_verb() -> None:
    """A verb is written as a call, which each interface words: a command says it to the command line only."""
    of_verbs = {row.full_name for row in rows() if row.verb is not None}
    outside = [(place, text) for place, text in sentences() if not place.startswith(("dcf/cli/", "dcf/web/"))]
    named = [(place, words) for place, text in outside for words in COMMAND.findall(text)]
    assert [(place, words) for place, words in named if {words, words.split()[0]} & of_verbs] == []
