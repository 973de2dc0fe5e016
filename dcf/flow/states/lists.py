"""Which lists may grow by `append`: those with one name. In ASL a list under two names would be two lists."""

import ast
import inspect
from typing import Final

from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope

_COPYING: Final = (len, sum, sorted, list, reversed, any, all, max, min, str)
_NEW: Final = (sorted, list)
_KEEPING: Final = (
    *(ast.Assign, ast.AnnAssign, ast.List, ast.Tuple, ast.Dict, ast.IfExp, ast.BoolOp, ast.keyword, ast.ListComp),
)
"""Syntax that may keep the list itself in another value, or under another name."""


def refuse_second_name(scope: Scope, name: str, call: ast.AST) -> None:
    """Refuse to change a list in place if another name or value may hold it, since Python would change it there too."""
    if name in inspect.signature(scope.source.function).parameters:
        raise _refusal(name, call, "is an input", scope.source.tree)
    for node in ast.walk(scope.source.tree):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.Name) and part.id == name:
                _refuse_use(scope, node, part, call)


def _refuse_use(scope: Scope, node: ast.AST, part: ast.Name, call: ast.AST) -> None:
    if isinstance(part.ctx, ast.Store):
        if not _is_new(scope, node):
            raise _refusal(part.id, call, "stands for a value that has another name", node)
    elif _keeps(scope, node, part):
        raise _refusal(part.id, call, "is put into another value", node)
    elif isinstance(node, ast.For) and part is node.iter and any(inner is call for inner in ast.walk(node)):
        raise _refusal(part.id, call, "is what the loop goes over", node)


def _is_new(scope: Scope, node: ast.AST) -> bool:
    """Return True if the name gets a list that nothing else holds."""
    if isinstance(node, ast.AugAssign):
        return True
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return False
    value = node.value
    if value is None or isinstance(value, ast.List | ast.ListComp | ast.BinOp):
        return True
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Slice)
    if not isinstance(value, ast.Call):
        return False
    return scope.is_step(value) or any(scope.source.resolve(value.func) is function for function in _NEW)


def _keeps(scope: Scope, node: ast.AST, part: ast.Name) -> bool:
    if isinstance(node, ast.Call):
        called = scope.source.resolve(node.func)
        is_copied = scope.is_step(node) or any(called is function for function in _COPYING)
        return part in node.args and not is_copied
    return isinstance(node, _KEEPING) and not (isinstance(node, ast.IfExp) and part is node.test)


def _refusal(name: str, call: ast.AST, why: str, where: ast.AST) -> Refusal:
    line = getattr(where, "lineno", "?")
    message = f"'{name}' {why} (line {line}), and in Python this would change it there too."
    return Refusal(call, message, f"Write {name} = [*{name}, ...].")
