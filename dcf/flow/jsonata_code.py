"""A piece of JSONata with what is known of its value, and the bridges over what JSONata does otherwise than Python."""

import ast
from collections.abc import Iterable, Sequence
from typing import Any, Final

from dcf.asl.jsonata.writing import ATOM, PATH, PRODUCT, STEP, expression, literal, quoted, reads_as_expression
from dcf.steps.value_types import ANY, STR, Field, ValueType, joined, list_of, type_of
from dcf.values.records import record, replace

UNKNOWN: Final[Any] = object()
"""Stands where no constant and no template is known; None is a value."""

_WORDS: Final = ("and", "or", "in", "true", "false", "null")


class Written(str):
    """A field of a state that is an expression, with what it was compiled from."""

    __slots__ = ("node",)
    node: ast.expr | None


@record(frozen=True, slots=True)
class Code:
    """JSONata, and the known facts about its value.

    `level`: how strongly its outermost operator binds. `sure`: it is never undefined. `may_fail`: evaluating it may be
    an error. `written`: an array constructor. `constant`: its value, where it is known. `template`: what the field of a
    state holds in its place, so that a missing part is an error. `node`: the expression in Python.
    """

    text: str
    type: ValueType
    level: int = ATOM
    sure: bool = True
    may_fail: bool = False
    written: bool = False
    constant: Any = UNKNOWN
    template: Any = UNKNOWN
    node: ast.expr | None = None

    def within(self, level: int) -> str:
        """Return the text as an operand of an operator of this level."""
        return self.text if self.level > level else f"({self.text})"

    @property
    def source(self) -> str:
        """The expression in Python, or its beginning."""
        return "this" if self.node is None else ast.unparse(self.node)[:100]

    def annotated(self, kind: str) -> str:
        """Return the advice to annotate the value, by its name if it has one."""
        return f"Annotate it: {self.node.id if isinstance(self.node, ast.Name) else 'x'}: {kind} = ..."

    @property
    def is_constant(self) -> bool:
        """True where the value is known when the flow is compiled."""
        return self.constant is not UNKNOWN

    @property
    def is_risky(self) -> bool:
        """True where evaluating it may be an error, or may give nothing."""
        return self.may_fail or not self.sure


def constant(value: Any) -> Code:
    """Return the code of a JSON value that is known now."""
    text = literal(value)
    level = PRODUCT if text.startswith("-") else ATOM
    return Code(text, _type_of_value(value), level, written=isinstance(value, list), constant=value, template=value)


def _type_of_value(value: Any) -> ValueType:
    if isinstance(value, list):
        return list_of(joined([_type_of_value(part) for part in value]) or ANY)
    if isinstance(value, dict):
        return ValueType("obj", None, tuple(Field(key, _type_of_value(part)) for key, part in value.items()))
    return type_of(type(value))


def defined(code: Code) -> Code:
    """Return code that fails where the value is undefined, which JSONata would pass over."""
    if code.sure:
        return code
    text = f"($_v := {code.text}; $exists($_v) ? $_v : $error({quoted(f'{code.source} has no value')}))"
    return replace(code, text=text, level=ATOM, sure=True, may_fail=True, template=UNKNOWN)


def element(code: Code) -> str:
    """Return exactly one element of an array constructor: JSONata flattens an array in it."""
    text = defined(code).text
    if code.type.is_list:
        is_constructor = code.written or (text.startswith("[") and code.level == ATOM)
        return text if is_constructor else f"[{text}]"
    if code.type.kind in {"any", "list"}:
        return f"($_v := {text}; $type($_v) = 'array' ? [[$_v]] : $_v)"
    return text


def listed(items: Sequence[Code]) -> Code:
    """Return a list that is written out."""
    kind = list_of(joined([item.type for item in items]) or ANY)
    text = "[" + ", ".join(map(element, items)) + "]"
    return Code(text, kind, written=True, may_fail=any_risky(items), template=[template(item) for item in items])


def gathered(items: str, name: str, each: Code, test: str | None = None, *, by_index: bool = False) -> str:
    """Return a list of `each` for every item that passes: by $map and $filter if nothing can collapse, else $reduce."""
    at = ", $_i" if by_index else ""
    is_plain = each.type.kind not in {"list", "any"} or (each.is_constant and not isinstance(each.constant, list))
    if is_plain and test is None:
        return f"[$map({items}, function({name}{at}) {{ {defined(each).text} }})]"
    if is_plain and each.text == name:
        return f"[$filter({items}, function({name}{at}) {{ {test} }})]"
    longer = f"$append($_l, [{element(each)}])"
    body = longer if test is None else f"({test}) ? {longer} : $_l"
    return f"$reduce({items}, function($_l, {name}{at}) {{ {body} }}, [])"


def place(base: Code, key: str, kind: ValueType, *, sure: bool) -> Code:
    """Return a field of a value."""
    step = key if key.isidentifier() and key not in _WORDS else f"`{key}`"
    return Code(f"{base.within(STEP)}.{step}", kind, PATH, sure=sure and base.sure, may_fail=base.may_fail)


def lookup(base: Code, key: Code, kind: ValueType) -> Code:
    """Return what a dict has under a key that is worked out."""
    return Code(f"$lookup({base.text}, {key.text})", kind, sure=False, may_fail=base.may_fail or key.may_fail)


def keys_of(base: Code) -> Code:
    """Return the keys of a dict as a list."""
    return Code(f"[$keys({base.text})]", list_of(STR), may_fail=base.may_fail)


def template(code: Code) -> Any:
    """Return what a field of a state holds for this code."""
    if code.is_constant and not reads_as_expression(code.constant):
        return code.constant
    if code.template is not UNKNOWN and not code.is_constant:
        return code.template
    written = Written(expression(code.text))
    written.node = code.node
    return written


def any_risky(codes: Iterable[Code]) -> bool:
    """Return True if evaluating one of these may be an error."""
    return any(code.is_risky for code in codes)
