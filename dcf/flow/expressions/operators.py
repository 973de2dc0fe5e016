"""Operators: arithmetic, comparisons, membership. An operator is refused if it depends on a type that is not known."""

import ast
from collections.abc import Mapping
from typing import Final

from dcf.asl.jsonata.writing import AND, ATOM, COMPARISON, PRODUCT, STEP, SUM
from dcf.flow.expressions.texts import f_string
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


@reads(ast.BinOp)
def _arithmetic(scope: Scope, node: ast.BinOp) -> Code:
    if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        raise Refusal(node, "% of a text cannot be part of a flow.", f_string(node.left.value, "%[sd]", values))
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
    for code in (left, right):
        if code.type.kind == "any" or code.type.optional:
            is_any = code.type.kind == "any"
            message = f"The type of {code.source} is {'not known' if is_any else code.type}, and {sign} depends on it."
            advice = code.annotated("float") if is_any else "Write `if x is not None:` around it, or x or 0."
            return Refusal(code.node, message, advice)
    message = f"{left.type} {sign} {right.type} cannot be part of a flow."
    return Refusal(node, message, "Use numbers, two strings or two lists; do others in a @task function.")


def _divided(sign: str, left: Code, right: Code) -> Code:
    """Return a quotient or remainder: that of Python, which fails for zero and has the sign of the divisor."""
    kind = FLOAT if sign == "/" else INT
    if right.is_constant and right.constant != 0:
        text, level = _quotient(sign, left.within(PRODUCT - 1), right.within(PRODUCT), right.within(SUM))
        return Code(text, kind, level, may_fail=left.may_fail)
    quotient, _ = _quotient(sign, "$_a", "$_b", "$_b")
    names = f"$_v := [{left.text}, {right.text}]; $_a := $_v[0]; $_b := $_v[1]"
    return Code(f"({names}; $_b = 0 ? $error('ZeroDivisionError: division by zero') : {quotient})", kind, may_fail=True)


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
        raise Refusal(node, f"- of {operand.type} cannot be part of a flow.", operand.annotated("float"))
    if operand.is_constant:
        return constant(-operand.constant)
    return Code(f"-{operand.within(STEP)}", operand.type, PRODUCT, may_fail=operand.may_fail)


@reads(ast.Compare)
def _comparison(scope: Scope, node: ast.Compare) -> Code:
    others = [_as_list(*pair) for pair in zip(node.ops, node.comparators, strict=True)]
    values = [defined(scope.value(operand)) for operand in (node.left, *others)]
    if len(node.ops) > 1 and any(value.may_fail for value in values[1:]):
        raise Refusal(node, "A part of this chain may fail, and Python may leave it out.", "Write a < b and b < c.")
    parts = [_compared(*compared) for compared in zip(node.ops, values, values[1:], strict=False)]
    if len(parts) == 1:
        return parts[0]
    text = " and ".join(part.within(AND) for part in parts)
    return Code(text, BOOL, AND, may_fail=any(value.may_fail for value in values))


def _as_list(operator: ast.cmpop, whole: ast.expr) -> ast.expr:
    """Return the members of `x in ("a", "b")` as a list, which tuples and sets become in JSON."""
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(whole, ast.Tuple | ast.Set):
        return ast.copy_location(ast.List(whole.elts, ast.Load()), whole)
    return whole


def _compared(operator: ast.cmpop, left: Code, right: Code) -> Code:
    if isinstance(operator, ast.In | ast.NotIn):
        member = _contains(left, right)
        return member if isinstance(operator, ast.In) else Code(f"$not({member.text})", BOOL, may_fail=member.may_fail)
    order = _ORDERS.get(type(operator))
    return _equal(operator, left, right) if order is None else _ordered(order, left, right)


def _equal(operator: ast.cmpop, left: Code, right: Code) -> Code:
    if isinstance(operator, ast.Is | ast.IsNot) and "null" not in {left.type.kind, right.type.kind}:
        raise Refusal(right.node, "`is` compares identities, which JSON values do not have.", "Write ==.")
    if join(left.type, right.type) is None:
        raise Refusal(left.node, f"{left.type} and {right.type} are never equal.", "Compare values of the same type.")
    return _pair(left, "=" if isinstance(operator, ast.Eq | ast.Is) else "!=", right)


def _ordered(order: str, left: Code, right: Code) -> Code:
    if (left.type.is_number and right.type.is_number) or left.type == right.type == STR:
        return _pair(left, order, right)
    odd = right if left.type.is_number or left.type == STR else left
    raise Refusal(odd.node, f"{order} compares numbers or strings; {odd.source} is {odd.type}.", odd.annotated("float"))


def _pair(left: Code, sign: str, right: Code) -> Code:
    text = f"{left.within(COMPARISON)} {sign} {right.within(COMPARISON)}"
    return Code(text, BOOL, COMPARISON, may_fail=left.may_fail or right.may_fail)


def _contains(member: Code, whole: Code) -> Code:
    kind = whole.type
    if kind.is_list:
        return _in_list(member, whole)
    pattern = "$contains({}, {})" if kind == STR else "$exists($lookup({}, {}))" if kind.is_mapping else ""
    if not pattern:
        raise Refusal(whole.node, f"The type of {whole.source} is not known.", whole.annotated("list[str]"))
    if member.type != STR:
        message = f"{member.source} is {member.type}; the parts of a {kind} are strings."
        raise Refusal(member.node, message, "Write str(...) around it.")
    return Code(pattern.format(whole.text, member.text), BOOL, may_fail=member.may_fail or whole.may_fail)


def _in_list(member: Code, whole: Code) -> Code:
    """Return membership in a list: `in` of JSONata for plain values, else by comparing each element."""
    item = whole.type.element
    if member.type.is_scalar and not member.type.optional and (item.is_scalar or (item == ANY and whole.written)):
        return _pair(member, "in", whole)
    names = f"$_w := {whole.text}; $_v := {member.text}"
    text = f"({names}; $reduce($_w, function($_f, $_x) {{ $_f or $_x = $_v }}, false))"
    return Code(text, BOOL, may_fail=member.may_fail or whole.may_fail)
