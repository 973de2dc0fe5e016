"""Random JSONata expressions, of every kind of construct, each made from a number; many of them want too much."""

import random
from typing import Final

VARIABLES: Final = ("$numbers", "$texts", "$rows", "$deep", "$long", "$states.input", "$states.input.rows.a")
FUNCTIONS: Final = (
    *("append", "average", "base64encode", "boolean", "ceil", "contains", "count", "distinct", "encodeUrlComponent"),
    *("exists", "floor", "formatBase", "formatInteger", "formatNumber", "fromMillis", "hash", "join", "keys", "length"),
    *("lookup", "lowercase", "match", "max", "merge", "min", "not", "now", "number", "pad", "parse", "partition"),
    *(
        "power",
        "random",
        "range",
        "replace",
        "reverse",
        "round",
        "shuffle",
        "sort",
        "split",
        "spread",
        "sqrt",
        "string",
    ),
    *("substring", "sum", "toMillis", "trim", "type", "uppercase", "uuid", "zip"),
)
HIGHER: Final = ("map", "filter", "reduce", "each", "sift", "single")
PATTERNS: Final = ("/a+/", "/(a+)+$/", "/x|y*/", "/(.*)*b/", "/((a{1000}){1000})/")
NUMBERS: Final = ("0", "1", "2", "17", "99999", "1e300", "-1")
LITERALS: Final = (*NUMBERS, "'a'", '"x"', "true", "null", "'[Y,*-99999999]'", "[]", "{}")
OPERATORS: Final = ("+", "-", "*", "/", "%", "=", "!=", "<", "and", "or", "in", "&", "&", "~>")


def document() -> dict[str, object]:
    """Input of the expressions, of every shape and within the limits of a state's data."""
    deep: object = 1
    for _ in range(50):
        deep = {"a": deep, "b": [1, 2]}
    return {
        "numbers": list(range(1_000)),
        "texts": ["a" * 40 for _ in range(200)],
        "rows": [{"a": number, "b": {"c": [number, str(number)]}} for number in range(300)],
        "deep": deep,
        "long": "a" * 20_000,
    }


def expression(seed: int) -> str:
    """Return the expression of this number."""
    chance = random.Random(seed)
    return _made(chance, chance.randint(1, 4))


def _made(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice((*VARIABLES, *LITERALS))
    kinds = (_path, _call, _call, _applied, _range, _made_of, _joined, _doubled, _nested)
    return chance.choice(kinds)(chance, depth - 1)


def _path(chance: random.Random, depth: int) -> str:
    inner = _made(chance, depth)
    step = chance.choice(("a", "b.c", "*", "**", "%", "$", f"({inner})", f"{{'k': {inner}}}", "[$]"))
    ending = chance.choice(("", "[0]", f"[{_made(chance, depth)}]", "^(>a)", "{a: $}", "@$x.b", "#$i"))
    return f"{chance.choice(VARIABLES)}.{step}{ending}"


def _call(chance: random.Random, depth: int) -> str:
    arguments = [_made(chance, depth) for _ in range(chance.randint(0, 3))]
    if chance.random() < 0.1:
        arguments.append(chance.choice(PATTERNS))
    return f"${chance.choice(FUNCTIONS)}({', '.join(arguments)})"


def _applied(chance: random.Random, depth: int) -> str:
    body = chance.choice(("$x", "$x & $y", _made(chance, depth)))
    return f"${chance.choice(HIGHER)}({_made(chance, depth)}, function($x, $y){{{body}}})"


def _range(chance: random.Random, depth: int) -> str:
    numbers = f"[1..{chance.choice((9, 300, 9_000, 90_000, 9_999_999))}]"
    mapped = chance.choice(("$", f"({_made(chance, depth)})", numbers))
    return numbers if chance.random() < 0.6 else f"{numbers}.{mapped}"


def _made_of(chance: random.Random, depth: int) -> str:
    parts = [_made(chance, depth) for _ in range(chance.randint(1, 4))]
    if chance.random() < 0.5:
        return f"[{', '.join(parts)}]"
    return "{" + ", ".join(f"'k{at}': {part}" for at, part in enumerate(parts)) + "}"


def _joined(chance: random.Random, depth: int) -> str:
    left, right = _made(chance, depth), _made(chance, depth)
    if chance.random() < 0.2:
        return f"({left} ? {right} : {_made(chance, depth)})"
    return f"({left} {chance.choice(OPERATORS)} {right})"


def _doubled(chance: random.Random, depth: int) -> str:
    grow = chance.choice(("$v & $v", "[$v, $v]", "$append($v, $v)", "{'a': $v, 'b': $v}", "$string([$v, $v])"))
    times = chance.choice((3, 12, 40))
    return f"($v := {_made(chance, depth)}; " + f"$v := {grow}; " * times + "$count($v))"


def _nested(chance: random.Random, depth: int) -> str:
    times = chance.choice((3, 30, 300))
    opening, closing = chance.choice((("(", ")"), ("[", "]"), ("{'a':", "}"), ("$string([", "])"), ("-", "")))
    return opening * times + _made(chance, depth) + closing * times
