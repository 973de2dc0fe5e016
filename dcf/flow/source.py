"""The source of a flow's function, and the objects that the names in it stand for."""

import ast
import builtins
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dcf.errors import InvalidArgument
from dcf.flow.jsonata_code import UNKNOWN
from dcf.flow.refusals import InvalidFlow, Refusal, complaint_of
from dcf.steps.suggestions import near
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Source:
    """The function under `@flow` as it is written, with the names of its module."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    file: str
    lines: Sequence[str]
    names: Mapping[str, Any]
    hints: Mapping[str, Any]

    def resolve(self, node: ast.expr) -> Any:
        """Return the object of the module that a name stands for, or UNKNOWN."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, getattr(builtins, node.id, UNKNOWN))
        if not isinstance(node, ast.Attribute):
            return UNKNOWN
        owner = self.resolve(node.value)
        if owner is UNKNOWN:
            return UNKNOWN
        if inspect.ismodule(owner) or isinstance(owner, type):
            return getattr(owner, node.attr, UNKNOWN)
        return inspect.getattr_static(owner, node.attr, UNKNOWN)

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an option or annotation, which Python works out when the flow is compiled."""
        try:
            # nosemgrep: nothing-of-a-caller-is-executed - the author's own module, which was imported before
            code = compile(ast.Expression(node), self.file, "eval")
            # nosemgrep: nothing-of-a-caller-is-executed - the author's own module, which was imported before
            return eval(code, {**vars(typing), **self.names})  # noqa: S307 - the author's own module
        except Exception as error:  # noqa: BLE001 - whatever an author's expression raises
            hint = near(getattr(error, "name", None) or "", self.names) if isinstance(error, NameError) else ""
            raise Refusal(node, f"This cannot be worked out: {error}.{hint}", "Write a constant.") from None


def source_of(function: Callable[..., Any]) -> Source:
    """Read the source of a function; raise InvalidFlow if there is none, or it is async."""
    file = inspect.getsourcefile(function) or "?"
    try:
        lines = lines_of(file) or [line.rstrip("\n") for line in inspect.findsource(function)[0]]  # a notebook's cell
    except OSError:
        hint = "Write the flow in a file, and import it from there."
        raise InvalidArgument(f"The source of {function.__name__} cannot be read.", hint) from None
    try:
        tree = _tree_of(function, lines)
        hints = _hints_of(function, tree)
    except Refusal as refusal:
        raise InvalidFlow([complaint_of(refusal, file, lines)]) from None
    return Source(function=function, tree=tree, file=file, lines=lines, names=function.__globals__, hints=hints)


def _tree_of(function: Callable[..., Any], lines: Sequence[str]) -> ast.FunctionDef:
    name, first = function.__name__, function.__code__.co_firstlineno
    for node in ast.walk(ast.parse("\n".join(lines))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != name:
            continue
        if first not in {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}:
            continue
        if isinstance(node, ast.AsyncFunctionDef):
            raise Refusal(node, "A flow is a plain function.", "Write def; every step is waited for.")
        rest = node.args.vararg or node.args.kwarg
        if rest is not None:
            raise Refusal(rest, "A flow names its inputs.", "Write each input as a parameter.")
        return node
    raise Refusal(ast.Pass(), f"The source of {name}() was not found.", "Write the flow in a file.")


def lines_of(file: str) -> list[str]:
    """Return the lines of a file; none if it is no file."""
    path = Path(file)
    return path.read_text("utf-8-sig").split("\n") if path.is_file() else []


def _hints_of(function: Callable[..., Any], tree: ast.FunctionDef) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception as error:  # noqa: BLE001 - whatever evaluating an author's annotation raises
        raise Refusal(tree, f"The annotations cannot be read: {error}.", "Import what they name.") from None


def short_name(node: ast.expr) -> str:
    """Return the last name of the called function."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return short_name(node.value) if node.attr == "with_" else node.attr
    return node.id if isinstance(node, ast.Name) else "step"
