"""Syntax that a flow cannot have: by its kind the reason, and the code to write instead."""

import ast
from collections.abc import Mapping
from typing import Final

from dcf.flow.refusals import IN_A_TASK, Refusal

_AT_THE_TOP: Final = "Put it at the top of the file, with @task or @flow above it."
_CLOSES_OVER: Final = "A function inside a flow would close over its variables."
_IMPORT: Final = ("An import has no place in a flow.", "Import at the top of the file.")
_NO_SET: Final = ("A set is no JSON value.", "Write a list.")
_NO_YIELD: Final = ("yield cannot be part of a flow.", "Return a list.")
_REFUSED: Final[Mapping[type[ast.AST], tuple[str, str]]] = {
    ast.Assert: ("assert vanishes under python -O, so a flow has none.", "Write if not ...: raise SomeError(...)."),
    ast.With: ("with has no place in a flow: nothing stays open between states.", "Open and close it in one @task."),
    ast.AsyncWith: ("async has no place in a flow.", "Open and close it in one @task function."),
    ast.AsyncFor: ("async has no place in a flow.", "Write for; for x in each(xs) goes over all at the same time."),
    ast.FunctionDef: (_CLOSES_OVER, _AT_THE_TOP),
    ast.AsyncFunctionDef: (_CLOSES_OVER, _AT_THE_TOP),
    ast.ClassDef: ("A class inside a flow would close over its variables.", "Put it at the top of the file."),
    ast.Import: _IMPORT,
    ast.ImportFrom: _IMPORT,
    ast.Global: ("A flow has no global state.", "Return the value."),
    ast.Nonlocal: ("A flow has no global state.", "Return the value."),
    ast.Delete: ("del has no place in a flow.", "Leave it out."),
    ast.TryStar: ("except* has no place in a flow: a step fails with one error.", "Write except."),
    ast.Set: _NO_SET,
    ast.SetComp: _NO_SET,
    ast.Tuple: ("A tuple is no JSON value.", "Write a list: [a, b]."),
    ast.Starred: ("* has no place here.", "Write the values out."),
    ast.NamedExpr: (":= cannot be part of a flow.", "Assign the name on a line of its own."),
    ast.Lambda: ("A lambda has no place in a flow, but as key= of sorted.", "Write a comprehension, or a @task."),
    ast.Await: ("await has no place in a flow: every step is waited for.", "Leave it out; see parallel(...)."),
    ast.Yield: _NO_YIELD,
    ast.YieldFrom: _NO_YIELD,
}


def refusal_of(node: ast.AST) -> Refusal:
    """Return the refusal of an expression or statement that nothing reads."""
    message, advice = _REFUSED.get(type(node), (f"{type(node).__name__} cannot be part of a flow.", IN_A_TASK))
    return Refusal(node, message, advice)
