"""The kinds of refusals are data: each is used, has a code with a meaning, and gets the fields of its sentences."""

import ast
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field
from functools import cache
from importlib import import_module
from string import Formatter
from types import ModuleType
from typing import Any

from dcf.errors import Problem
from dcf.values.refusal import Refusal, RefusalKind
from dcf.verbs.answers.refusal_codes import REFUSALS
from tests.unit.test_architecture import MODULES, error_classes, imports, nodes

Kind = RefusalKind[Any]
MAKERS = [name for name in MODULES if any("refusals" in item for item in (name, *imports(name)))]


def named_kinds(module: ModuleType, node: ast.expr) -> Iterator[Kind]:
    """Yield the kinds of refusals that an expression names, as `ROW`, `refusals.ROW` or a choice of two."""
    if isinstance(node, ast.IfExp):
        yield from [*named_kinds(module, node.body), *named_kinds(module, node.orelse)]
    elif re.fullmatch(r"(\w+\.)?[A-Z_0-9]+", ast.unparse(node)):
        value: object = module
        for name in ast.unparse(node).split("."):
            value = getattr(value, name, None)
        if isinstance(value, RefusalKind):
            yield value


@cache
def kinds() -> dict[int, tuple[str, Kind]]:
    """Every kind of refusal by its identity, with its name."""
    return {
        id(value): (f"{name}.{row}", value)
        for name in MAKERS
        if name.endswith("refusals")
        for row, value in vars(import_module(name)).items()
        if isinstance(value, RefusalKind)
    }


def fields_of(kind: Kind) -> set[str]:
    """The fields that the sentences of a kind need."""
    parsed = [piece for text in (kind.message, kind.hint) for piece in Formatter().parse(text)]
    return {field.partition(".")[0] for _, field, _, _ in parsed if field}


def members_of(kind: Kind) -> dict[str, bool]:
    """The members of the answer besides code and sentences, and whether each must be given."""
    members: dict[str, Field[Any]] = vars(kind.answer)["__dataclass_fields__"]
    return {
        name: member.default is MISSING and member.default_factory is MISSING
        for name, member in members.items()
        if name not in {"code", "message", "hint"}
    }


def test_each_refusal_gets_the_fields_of_its_sentences_and_the_members_of_its_answer() -> None:
    wrong = []
    for name in MAKERS:
        for node in nodes(name):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "refuse":
                fields = {word.arg for word in node.keywords}
                for kind in named_kinds(import_module(name), node.func.value):
                    members = members_of(kind)
                    needed = fields_of(kind) | {member for member, is_needed in members.items() if is_needed}
                    if not needed <= fields <= needed | set(members):
                        wrong.append(f"{name}:{node.lineno}")
    assert wrong == []


def test_each_kind_of_refusal_is_used() -> None:
    used = {
        id(kind)
        for name in MAKERS
        for node in nodes(name)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
        for kind in named_kinds(import_module(name), node)
    }
    assert [name for identity, (name, _) in kinds().items() if identity not in used] == []


def test_each_code_of_a_refusal_has_a_meaning() -> None:
    known = {*REFUSALS, *(kind.code for kind in error_classes().values())}
    assert [name for name, kind in kinds().values() if kind.code not in known] == []


def test_no_two_kinds_have_the_same_code_and_sentences() -> None:
    rows = [(kind.answer, kind.code, kind.message, kind.hint) for _, kind in kinds().values()]
    assert len(set(rows)) == len(rows)


def test_fields_are_written_as_the_sentence_says() -> None:
    kind = Refusal.kind(
        "wrong", "{name:clipped 3} at {at:time}: {names:list 2}; {more:named}; {size:g}", "{name:escaped}"
    )
    refusal = kind.refuse(name="a\u202eb{c}", at=0, names=["x", "y", "z"], more=list("abcdef"), size=1.0)
    assert refusal == Refusal(
        code="wrong",
        message="a\u202eb… at 1970-01-01T00:00:00.000000Z: x, y; 'a', 'b', 'c', 'd', 'e', ...; 1",
        hint="a\\u202eb{c}",
    )


def test_members_of_the_answer_are_put_there_too() -> None:
    kind = RefusalKind(Problem, "wrong", "At {path}.", "Correct it.")
    assert kind.refuse(path="/a") == Problem(path="/a", code="wrong", message="At /a.", hint="Correct it.")
    assert Refusal.kind("later", "Not now.", "Wait.", retry_after_s=5).refuse().retry_after_s == 5
