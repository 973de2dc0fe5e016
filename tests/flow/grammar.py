"""Templates of the expressions and statements that generated flows are made of.

«int» stands for an expression of this type, «bool;z:int» for one in which the name `z` is an int.
"""

from typing import Final

PRELUDE: Final = """
from typing import Any, NotRequired, TypedDict
from dataclasses import dataclass
from dcf import each, flow, parallel, sleep, task

class Item(TypedDict):
    name: str
    n: int
    tags: list[str]
    sub: int | None
    note: NotRequired[str]

@dataclass
class Box:
    label: str
    nums: list[int]
    best: int | None = None

class TooBig(Exception): pass
class Odd(Exception): pass
class Refused(Exception): pass

@task
def twice(n: int) -> int:
    return n * 2

@task
def shout(s: str) -> str:
    return s.upper() + "!"

@task
def parts(s: str, n: int = 2) -> list[str]:
    return [s[:n]] * (len(s) % 3)

@task
def check(n: int) -> int:
    if n > 12:
        raise TooBig(f"{n} is too big")
    if n % 7 == 3:
        raise Odd(f"{n} is odd")
    return n + 1

@task
def item(name: str, n: int) -> Item:
    made: Item = {"name": name, "n": n, "tags": [name, "x"][:n % 3], "sub": None if n % 2 else n}
    if n % 3 == 0:
        made["note"] = "noted"
    return made

@task
def box(nums: list[int]) -> Box:
    return Box(f"b{len(nums)}", nums, nums[0] if nums else None)

@task(retry=2)
def counts(s: str) -> dict[str, int]:
    return {letter: s.count(letter) for letter in s[:3]}

@task(retry=2)
def steady(n: int) -> list[int]:
    return list(range(n % 4))

@flow
def spread(xs: list[int]) -> list[list[int]]:
    if len(xs) > 2:
        return [xs, [twice(xs[0])]]
    first = steady(len(xs))
    rest = [*first, len(first)]
    return [rest]

@flow
def evens(xs: list[int]) -> list[int]:
    found = [twice(x) for x in xs]
    for at, x in enumerate(found):
        if x > 12:
            return found[:at]
    return found

@flow
def total(xs: list[int], extra: int = 1) -> int:
    t = extra
    for x in xs:
        t += twice(x)
        if t > 200:
            return -1
    return t
"""

ATOMS: Final = {
    "int": ["-3", "0", "1", "2", "5", "11", "15"],
    "float": ["0.5", "-1.25", "2.0", "10.5"],
    "str": ["''", "'a'", "'ab'", "' x '", "'hello'", "'a,b'", "'Zo'", "'é😀'", "'\"q'", "'{%x%}'", "'$1'", "'null'"],
    "bool": ["True", "False"],
    "list[int]": ["[]", "[«int»]", "[«int», «int»]"],
    "list[str]": ["['a']", "[«str», «str»]"],
    "list[list[int]]": ["[«list[int]»]", "[«list[int]», «list[int]»]"],
    "Item": ["{'name': «str», 'n': «int», 'tags': «list[str]», 'sub': None}"],
    "list[Item]": ["[«Item»]"],
    "int | None": ["None", "3"],
    "list[int | None]": ["[«int | None», «int»]"],
    "dict[str, int]": ["{'a': «int», «str»: «int»}", "{'b': «int»}"],
    "Box": ["Box(«str», «list[int]»)"],
    "Any": ["«int»", "«str»", "«list[int]»", "None", "«Item»"],
}

EXPRESSIONS: Final = {
    "int": [
        *("(«int» + «int»)", "(«int» - «int»)", "(«int» * «int»)", "(«int» // «int»)", "(«int» % «int»)"),
        *("(«int» // 3)", "(«int» % -4)", "(-«int»)", "abs(«int»)", "int(«float»)", "round(«float»)"),
        *("len(«str»)", "len(«list[int]»)", "len(«list[list[int]]»)", "len(«dict[str, int]»)", "len(«Box».nums)"),
        *("sum(«list[int]»)", "max(«int», «int»)", "min(«list[int]»)", "«list[int]»[0]", "«list[int]»[-1]"),
        *("«list[int]»[«int»]", "«list[list[int]]»[0][0]", "«Item»['n']", "(«int» if «bool» else «int»)"),
        *("(«int | None» or «int»)", "(«int» and «int»)", "«dict[str, int]».get(«str», «int»)"),
        *("sum(z['sub'] for z in «list[Item]» if z['sub'] is not None)", "(its[0]['sub'] or «int»)"),
        *("sum([len(z['note']) for z in «list[Item]» if 'note' in z])", "len([z for z in «list[int | None]» if z])"),
        *("«dict[str, int]»[«str»]", "sum(z * 2 for z in «list[int]» if «bool;z:int»)"),
    ],
    "float": ["(«float» + «int»)", "(«int» / «int»)", "(«float» * «float»)", "(«int» / 4)", "float(«int»)"],
    "str": [
        *("(«str» + «str»)", "f'{«int»}-{«bool»}'", "f'{«float»:.2f}'", "«str».upper()", "«str».strip()"),
        *("«str»[1:]", "«str»[:2]", "«str»[-2:]", "«str»[1:3]", "','.join(«list[str]»)", "«Item»['name']"),
        *("(«str» or «str»)", "str(«int»)", "str(«int | None»)", "«str».replace('a', «str»)", "«list[str]»[0]"),
        *("«Item».get('note', «str»)", "«Box».label", "'-'.join([z + 'x' for z in «list[str]»])", "«str».lstrip()"),
    ],
    "bool": [
        *("(«int» < «int»)", "(«int» >= «int»)", "(«int» == «int»)", "(«float» < «int»)", "(«str» < «str»)"),
        *("(«bool» and «bool»)", "(«bool» or «bool»)", "(not «list[int]»)", "(not «str»)", "(not «int | None»)"),
        *("(«int» in («int», 2))", "(«str» not in {'a', «str»})"),
        *("(«int» in «list[int]»)", "(«int» not in «list[int]»)", "(«str» in «str»)", "(«str» in «list[str]»)"),
        *("(«str» in «dict[str, int]»)", "(«Item»['sub'] is None)", "(«list[int]» == «list[int]»)", "bool(«Any»)"),
        *("(0 < «int» <= 9)", "bool(«dict[str, int]»)", "«str».startswith(«str»)", "«str».endswith(«str»)"),
        *("any([«bool», «bool»])", "all(q > 2 for q in «list[int]»)", "(«list[int]» in «list[list[int]]»)"),
        *("(«Item» == «Item»)", "(«int | None» == «int»)", "bool(«list[list[int]]»)", "(d is not None)"),
    ],
    "list[int]": [
        *("(«list[int]» + «list[int]»)", "[«int;z:int» for z in «list[int]»]", "sorted(«list[int]»)"),
        *("[«int;z:int» for z in «list[int]» if «bool;z:int»]", "«list[int]»[1:]", "«list[int]»[:-1]"),
        *("«list[int]»[:«int»]", "[*«list[int]», «int»]", "list(reversed(«list[int]»))", "«Box».nums"),
        *("(«list[int]» or «list[int]»)", "(«list[int]» if «bool» else «list[int]»)", "list(range(«int»))"),
        *("[g['n'] for g in «list[Item]»]", "list(«dict[str, int]».values())", "sorted(«list[int]», reverse=True)"),
        *("[z for z in «list[int | None]» if z is not None]", "[z or 0 for z in «list[int | None]»]"),
        *("[i * z for i, z in enumerate(«list[int]»)]", "sorted(«list[int]», key=lambda z: «int;z:int»)"),
    ],
    "list[str]": [
        *("(«list[str]» + «list[str]»)", "[«str;z:str» for z in «list[str]»]", "sorted(«list[str]»)"),
        *("«str».split(',')", "«Item»['tags']", "[k for k in «dict[str, int]»]", "list(«dict[str, int]».keys())"),
        *(
            "«list[str]»[0:2]",
            "[*«list[str]», «str»]",
            "[g['name'] for g in sorted(«list[Item]», key=lambda h: h['n'])]",
        ),
    ],
    "list[list[int]]": [
        *("[«list[int];z:int» for z in «list[int]»]", "[z for z in «list[list[int]]» if «bool;z:list[int]»]"),
        *("[[z, z] for z in «list[int]»]", "«list[list[int]]»[1:]", "(«list[list[int]]» + «list[list[int]]»)"),
    ],
    "Item": [
        "{'name': «str», 'n': «int», 'tags': «list[str]», 'sub': «int | None»}",
        "{'name': «str», 'n': «int», 'tags': «list[str]», 'sub': None, 'note': «str»}",
        "{**«Item», 'n': «int»}",
    ],
    "list[Item]": ["[h for h in «list[Item]» if «bool;h:Item»]", "sorted(«list[Item]», key=lambda h: h['name'])"],
    "list[int | None]": ["[z['sub'] for z in «list[Item]»]", "[*«list[int | None]», None]"],
    "int | None": ["«int»", "«Item»['sub']", "«Box».best", "«dict[str, int]».get(«str»)"],
    "dict[str, int]": [
        *("{**«dict[str, int]», 'k': «int»}", "{q: «int;q:str» for q in «list[str]»}"),
        "{k: y + 1 for k, y in «dict[str, int]».items() if y > 1}",
    ],
    "Box": ["Box(label=«str», nums=«list[int]», best=«int | None»)"],
    "Any": ["[«Any», «Any»]", "{'k': «Any»}"],
}

STEPS: Final = [
    *(("counts(«str»)", "dict[str, int]"), ("steady(«int»)", "list[int]"), ("spread(«list[int]»)", "list[list[int]]")),
    *(("evens(«list[int]»)", "list[int]"), ("sum([twice(m) for m in «list[int]»]) + «int»", "int")),
    *(("[*[twice(m) for m in «list[int]»], «int»]", "list[int]"), ("counts(«str»)['a']", "int")),
    *(("[steady(m) for m in «list[int]»]", "list[list[int]]"), ("item(«str», «int»)['sub']", "int | None")),
    *(("box(«list[int]»).best", "int | None"),),
    *(("len(steady(twice(«int»)))", "int"), ("[len(evens([m, «int»])) for m in «list[int]»]", "list[int]")),
    *(("twice(«int»)", "int"), ("shout(«str»)", "str"), ("parts(«str»)", "list[str]"), ("check(«int»)", "int")),
    *(("parts(«str», n=1)", "list[str]"), ("item(«str», «int»)", "Item"), ("box(«list[int]»)", "Box")),
    *(("twice(check(«int»))", "int"), ("twice(«int») + twice(«int»)", "int"), ("total(«list[int]»)", "int")),
    *(("total(«list[int]», extra=«int»)", "int"), ("[twice(m) for m in «list[int]»]", "list[int]")),
    *(("[check(m) for m in each(«list[int]», concurrency=2) if «bool;m:int»]", "list[int]"),),
    *(("[item('n', m) for m in «list[int]»]", "list[Item]"), ("[shout(m) for m in «list[str]»]", "list[str]")),
    *(
        ("[twice(m) + «int;m:int» for m in «list[int]»]", "list[int]"),
        ("[total([m, 1]) for m in «list[int]»]", "list[int]"),
    ),
]
