"""Operators: arithmetic, comparisons, membership. An operator is refused if it depends on a type that is not known."""

import ast
from collections.abc import Mapping
from typing import Final

from dcf.asl.jsonata.writing import AND, ATOM, COMPARISON, PRODUCT, STEP, SUM
from dcf.flow.expressions.truth import truth
from dcf.flow.jsonata_code import Code, constant, defined
from dcf.flow.refusals import IN_A_TASK, Refusal
from dcf.flow.scope import Scope, reads
from dcf.steps.value_types import ANY, BOOL, FLOAT, INT, STR, ValueType, join, list_of

_SIGNS: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_ORDERS: Final[Mapping[type[ast.cmpop], str]] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_ANNOTATE_NUMBER: Final = "Annotate it: x: float = ..."
_ANNOTATE_LIST: Final = "Annotate it: x: list[str] = ..."


@reads(ast.BinOp)
def _arithmetic(scope: Scope, node: ast.BinOp) -> Code:
    left, right = defined(scope.value(node.left)), defined(scope.value(node.right))
    sign = _SIGNS.get(type(node.op))
    if sign is None:
        raise Refusal(node, f"The operator of {ast.unparse(node)} cannot be part of a flow.", IN_A_TASK)
    may_fail = left.may_fail or right.may_fail
    if sign == "+" and left.type == right.type == STR:
        return Code(f"{left.within(SUM - 1)} & {right.within(SUM)}", STR, SUM, may_fail=may_fail)
    if sign == "+" and left.type.is_list and right.type.is_list:
        return Code(f"$append({left.text}, {right.text})", _appended(left, right), may_fail=may_fail)
    if not (left.type.is_number and right.type.is_number):
        raise _refusal_of(node, sign, left, right)
    is_whole = left.type == right.type == INT
    if sign in {"+", "-", "*"}:
        level = PRODUCT if sign == "*" else SUM
        text = f"{left.within(level - 1)} {sign} {right.within(level)}"
        return Code(text, INT if is_whole else FLOAT, level, may_fail=may_fail)
    if sign != "/" and not is_whole:
        raise Refusal(node, f"{sign} of floats rounds otherwise in JSONata.", "Use whole numbers, or round(a / b).")
    return _divided(sign, left, right)


def _appended(left: Code, right: Code) -> ValueType:
    if left.type.item == ANY and left.written:
        return right.type
    if right.type.item == ANY and right.written:
        return left.type
    return join(left.type, right.type) or list_of(ANY)


def _refusal_of(node: ast.BinOp, sign: str, left: Code, right: Code) -> Refusal:
    for operand, code in ((node.left, left), (node.right, right)):
        if code.type.kind == "any" or code.type.optional:
            state = "not known" if code.type.kind == "any" else f"{code.type}"
            message = f"The type of {ast.unparse(operand)} is {state}, and {sign} depends on it."
            advice = _ANNOTATE_NUMBER if code.type.kind == "any" else "Write `if x is not None:` around it, or x or 0."
            return Refusal(operand, message, advice)
    message = f"{left.type} {sign} {right.type} cannot be part of a flow."
    return Refusal(node, message, "Use numbers, two strings or two lists; do others in a @task function.")


def _divided(sign: str, left: Code, right: Code) -> Code:
    """Return a quotient or remainder: that of Python, which fails for zero and has the sign of the divisor."""
    kind = FLOAT if sign == "/" else INT
    if right.is_constant and right.constant != 0:
        text, level = _quotient(sign, left.within(PRODUCT - 1), right.within(PRODUCT), right.within(SUM))
        return Code(text, kind, level, may_fail=left.may_fail)
    quotient, _ = _quotient(sign, "$_a", "$_b", "$_b")
    text = (
        f"($_v := [{left.text}, {right.text}]; $_a := $_v[0]; $_b := $_v[1];"
        f" $_b = 0 ? $error('ZeroDivisionError: division by zero') : {quotient})"
    )
    return Code(text, kind, may_fail=True)


def _quotient(sign: str, left: str, right: str, added: str) -> tuple[str, int]:
    if sign == "/":
        return f"{left} / {right}", PRODUCT
    if sign == "//":
        return f"$floor({left} / {right})", ATOM
    return f"({left} % {right} + {added}) % {right}", PRODUCT


@reads(ast.UnaryOp)
def _unary(scope: Scope, node: ast.UnaryOp) -> Code:
    if isinstance(node.op, ast.Not):
        return truth(scope, node)
    if not isinstance(node.op, ast.USub):
        raise Refusal(node, f"The operator of {ast.unparse(node)} cannot be part of a flow.", IN_A_TASK)
    operand = defined(scope.value(node.operand))
    if not operand.type.is_number:
        raise Refusal(node, f"- of {operand.type} cannot be part of a flow.", _ANNOTATE_NUMBER)
    if operand.is_constant:
        return constant(-operand.constant)
    return Code(f"-{operand.within(STEP)}", operand.type, PRODUCT, may_fail=operand.may_fail)


@reads(ast.Compare)
def _comparison(scope: Scope, node: ast.Compare) -> Code:
    nodes = [node.left, *node.comparators]
    values = [defined(scope.value(operand)) for operand in nodes]
    if len(node.ops) > 1 and any(value.may_fail for value in values[1:]):
        message = "A part of this chain may fail, and Python may leave it out."
        raise Refusal(node, message, "Write a < b and b < c.")
    operands = list(zip(values, nodes, strict=True))
    pairs = zip(node.ops, operands, operands[1:], strict=False)
    parts = [_compared(operator, left, right) for operator, left, right in pairs]
    if len(parts) == 1:
        return parts[0]
    text = " and ".join(part.within(AND) for part in parts)
    return Code(text, BOOL, AND, may_fail=any(value.may_fail for value in values))


def _compared(operator: ast.cmpop, left: tuple[Code, ast.expr], right: tuple[Code, ast.expr]) -> Code:
    if isinstance(operator, ast.In | ast.NotIn):
        member = _contains(left[0], *right)
        return member if isinstance(operator, ast.In) else Code(f"$not({member.text})", BOOL, may_fail=member.may_fail)
    order = _ORDERS.get(type(operator))
    return _equal(operator, left, right) if order is None else _ordered(order, left, right)


def _equal(operator: ast.cmpop, left: tuple[Code, ast.expr], right: tuple[Code, ast.expr]) -> Code:
    (ours, node), (theirs, other) = left, right
    is_identity = isinstance(operator, ast.Is | ast.IsNot)
    if is_identity and "null" not in {ours.type.kind, theirs.type.kind}:
        raise Refusal(other, "`is` compares identities, which JSON values do not have.", "Write ==.")
    if join(ours.type, theirs.type) is None:
        message = f"{ours.type} and {theirs.type} are never equal in a flow."
        raise Refusal(node, message, "Compare values of the same type.")
    sign = "=" if isinstance(operator, ast.Eq | ast.Is) else "!="
    return _pair(ours, sign, theirs)


def _ordered(order: str, left: tuple[Code, ast.expr], right: tuple[Code, ast.expr]) -> Code:
    (ours, _), (theirs, _) = left, right
    if (ours.type.is_number and theirs.type.is_number) or ours.type == theirs.type == STR:
        return _pair(ours, order, theirs)
    code, node = right if ours.type.is_number or ours.type == STR else left
    message = f"{order} compares two numbers or two strings; {ast.unparse(node)} is {code.type}."
    raise Refusal(node, message, _ANNOTATE_NUMBER)


def _pair(left: Code, sign: str, right: Code) -> Code:
    text = f"{left.within(COMPARISON)} {sign} {right.within(COMPARISON)}"
    return Code(text, BOOL, COMPARISON, may_fail=left.may_fail or right.may_fail)


def _contains(member: Code, whole: Code, node: ast.expr) -> Code:
    may_fail = member.may_fail or whole.may_fail
    kind = whole.type
    if kind.is_list:
        return _in_list(member, whole)
    if kind == STR:
        if member.type != STR:
            raise Refusal(node, f"A {member.type} is not looked for in a string.", "")
        return Code(f"$contains({whole.text}, {member.text})", BOOL, may_fail=may_fail)
    if kind.is_mapping:
        if member.type != STR:
            raise Refusal(node, f"A key is a string, not {member.type}.", _ANNOTATE_LIST)
        return Code(f"$exists($lookup({whole.text}, {member.text}))", BOOL, may_fail=may_fail)
    message = f"Whether {ast.unparse(node)} is a list, a dict or a string is not known."
    raise Refusal(node, message, _ANNOTATE_LIST)


def _in_list(member: Code, whole: Code) -> Code:
    """Return membership in a list: `in` of JSONata for plain values, else by comparing each element."""
    item = whole.type.element
    if member.type.is_scalar and not member.type.optional and (item.is_scalar or (item == ANY and whole.written)):
        return _pair(member, "in", whole)
    text = (
        f"($_w := {whole.text}; $_v := {member.text}; $reduce($_w, function($_f, $_x) {{ $_f or $_x = $_v }}, false))"
    )
    return Code(text, BOOL, may_fail=member.may_fail or whole.may_fail)
