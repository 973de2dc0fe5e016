"""Writes flows by chance: programs of the subset of Python that a flow may be, and some just beyond it."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.flow.grammar import ATOMS, EXPRESSIONS, PRELUDE, STEPS

Names = dict[str, str]
"""The type of each name that has a value."""

_HOLE: Final = re.compile(r"«([^«»;]+)(?:;(\w+):([^«»]+))?»")
_DEEPEST: Final = 3
_LEAVING: Final = ("return", "raise", "break", "continue")
_INPUTS: Final = {"p": "int", "s": "str", "xs": "list[int]", "its": "list[Item]", "d": "Any"}
_SIGNATURE: Final = ", ".join(f"{name}: {kind}" for name, kind in _INPUTS.items())
_VARIABLES: Final = ("a", "b", "x", "count", "sum_", "name", "w", "length")


def program_of(seed: int) -> str:
    """Return the text of a module with a flow `main`, the same for the same seed."""
    return _Writer(random.Random(seed)).module()


_PARTS: Final = {
    "Item": (("{}['sub'] is not None", "{}['sub']", "int"), ("'note' in {}", "{}['note']", "str")),
    "Box": (("{}.best is not None", "{}.best", "int"), ("{}.best", "{}.best", "int")),
    "int | None": (("{} is not None", "{}", "int"), ("{}", "{}", "int")),
}
"""Tests of a value by its type, with the part that is known to be there then."""


def _is_own(name: str) -> bool:
    return name not in _INPUTS and name.isidentifier()


@dataclass
class _Writer:
    chance: random.Random
    number: int = 0
    loops: int = 0
    taken: set[str] = field(default_factory=set)

    def module(self) -> str:
        names = dict(_INPUTS)
        body = [*self.block(names, 0, "    ", 5), *self.block(names, 0, "    ", 5)]
        if not body[-1].strip().startswith(_LEAVING):
            body.append(
                "    return {"
                + ", ".join(f"'{name}': {name}" for name in names if name != "d" and name.isidentifier())
                + "}"
            )
        return f"{PRELUDE}\n@flow\ndef main({_SIGNATURE}) -> Any:\n" + "\n".join(body) + "\n"

    def expression(self, kind: str, names: Mapping[str, str], depth: int = 0) -> str:
        known = [name for name, other in names.items() if other == kind]
        if known and self.chance.random() < (0.4 if depth < _DEEPEST else 0.8):
            return self.chance.choice(known)
        templates = ATOMS[kind] if depth >= _DEEPEST or self.chance.random() < 0.3 else EXPRESSIONS[kind]
        return self.filled(self.chance.choice(templates), names, depth)

    def filled(self, template: str, names: Mapping[str, str], depth: int) -> str:
        def fill(hole: re.Match[str]) -> str:
            kind, name, of = hole.groups()
            text = self.expression(kind, {**names, name: of} if name else names, depth + 1)
            return "0" if "f'" in template and re.search(r"['\"\\{}]", text) else text

        return _HOLE.sub(fill, template)

    def block(self, names: Names, depth: int, pad: str, longest: int = 3) -> list[str]:
        lines: list[str] = []
        for _ in range(self.chance.randint(1, longest)):
            lines += self.statement(names, depth, pad)
            if lines[-1].strip().startswith(_LEAVING):
                break
        return lines

    def target(self, kind: str, names: Names) -> str:
        same = [name for name, other in names.items() if other == kind and _is_own(name)]
        if same and self.chance.random() < 0.4:
            return self.chance.choice(same)
        self.number += 1
        return f"{self.chance.choice(_VARIABLES)}{self.number}"

    def assigned(self, value: str, kind: str, names: Names, pad: str, *, typed: bool) -> list[str]:
        name = self.target(kind, names)
        hint = f": {kind}" if typed and name not in self.taken else ""
        self.taken.add(name)
        names[name] = kind
        return [f"{pad}{name}{hint} = {value}"]

    def statement(self, names: Names, depth: int, pad: str) -> list[str]:
        plain = ["assign"] * 6 + ["step"] * 5 + ["change", "append", "burst", "burst"]
        nested = [
            "if",
            "if",
            "narrow",
            "narrow",
            "pairs",
            "for",
            "range",
            "while",
            "try",
            "finally",
            "match",
            "parallel",
            "leave",
        ]
        kind = self.chance.choice([*plain, *(nested if depth < _DEEPEST else [])])
        lines: list[str] = getattr(self, f"_{kind}")(names, depth, pad)
        return lines

    def _assign(self, names: Names, _: int, pad: str) -> list[str]:
        kind = self.chance.choice(list(EXPRESSIONS))
        return self.assigned(self.expression(kind, names, 1), kind, names, pad, typed=True)

    def _step(self, names: Names, _: int, pad: str) -> list[str]:
        template, kind = self.chance.choice(STEPS)
        return self.assigned(self.filled(template, names, 1), kind, names, pad, typed=False)

    def _burst(self, names: Names, _: int, pad: str) -> list[str]:
        """Write what may be folded: a step, what is made of its result, and perhaps its return."""
        template, kind = self.chance.choice(STEPS)
        self.number += 1
        name = f"v{self.number}"
        lines = [f"{pad}{name} = {self.filled(template, names, 1)}"]
        names[name] = kind
        for _ in range(self.chance.randint(1, 3)):
            other = self.chance.choice(["int", kind, "str", "bool", "list[int]"])
            lines += self.assigned(self.expression(other, {name: kind, **names}, 1), other, names, pad, typed=False)
        if self.chance.random() < 0.2:
            lines.append(f"{pad}return {self.chance.choice([name, lines[-1].split()[0]])}")
        return lines

    def _narrow(self, names: Names, depth: int, pad: str) -> list[str]:
        """Write a test of a part of a value, and code that takes it for known."""
        known = [name for name, kind in names.items() if kind in _PARTS and name.isidentifier()]
        if not known:
            return [f"{pad}pass"]
        name = self.chance.choice(known)
        test, part, kind = (text.format(name) for text in self.chance.choice(_PARTS[names[name]]))
        inner = {**names, part: kind}
        if self.chance.random() < 0.3 and not self.loops:
            names[part] = kind
            return [f"{pad}if not ({test}):", f"{pad}    {self.chance.choice(['return 1', 'raise Refused(s)'])}"]
        more = f"{pad}    "
        used = self.assigned(self.expression(kind, {part: kind}, 1), kind, inner, more, typed=False)
        return [f"{pad}if {test}:", *used, *self.block(inner, depth + 1, more)]

    def _pairs(self, names: Names, depth: int, pad: str) -> list[str]:
        self.number += 1
        first, second = f"k{self.number}", f"q{self.number}"
        if self.chance.random() < 0.5:
            head = f"for {first}, {second} in {self.expression('dict[str, int]', names, 1)}.items()"
            kinds = ("str", "int")
        else:
            kind = self.chance.choice(["int", "str", "list[int]", "Item"])
            head = f"for {first}, {second} in enumerate({self.expression(f'list[{kind}]', names, 1)})"
            kinds = ("int", kind)
        return self.loop(head, {**names, first: kinds[0], second: kinds[1]}, depth, pad)

    def _change(self, names: Names, _: int, pad: str) -> list[str]:
        own = [name for name, kind in names.items() if kind in {"int", "str"} and _is_own(name)]
        if not own:
            return [f"{pad}pass"]
        name = self.chance.choice(own)
        return [f"{pad}{name} += {self.expression(names[name], names, 1)}"]

    def _append(self, names: Names, _: int, pad: str) -> list[str]:
        lists = ("list[int]", "list[list[int]]")
        own = [name for name, kind in names.items() if kind in lists and _is_own(name)]
        if not own:
            return [f"{pad}pass"]
        name = self.chance.choice(own)
        return [f"{pad}{name}.append({self.expression(names[name][5:-1], names, 1)})"]

    def _if(self, names: Names, depth: int, pad: str) -> list[str]:
        kind = self.chance.choice(["bool", "bool", "int", "str", "list[int]", "int | None", "dict[str, int]", "Any"])
        more = f"{pad}    "
        lines = [f"{pad}if {self.expression(kind, names, 1)}:", *self.block(dict(names), depth + 1, more)]
        if self.chance.random() < 0.4:
            lines += [f"{pad}elif {self.expression('bool', names, 1)}:", *self.block(dict(names), depth + 1, more)]
        if self.chance.random() < 0.5:
            lines += [f"{pad}else:", *self.block(dict(names), depth + 1, more)]
        return lines

    def loop(self, head: str, names: Names, depth: int, pad: str) -> list[str]:
        self.loops += 1
        body = self.block(names, depth + 1, f"{pad}    ")
        self.loops -= 1
        return [f"{pad}{head}:", *body]

    def _for(self, names: Names, depth: int, pad: str) -> list[str]:
        kind = self.chance.choice(["list[int]", "list[str]", "list[Item]", "list[list[int]]"])
        self.number += 1
        name, items = f"q{self.number}", self.expression(kind, names, 1)
        return self.loop(f"for {name} in {items}", {**names, name: kind[5:-1]}, depth, pad)

    def _range(self, names: Names, depth: int, pad: str) -> list[str]:
        self.number += 1
        ends = self.chance.choice(["3", "1, 4", f"len({self.expression('list[int]', names, 1)})"])
        return self.loop(f"for r{self.number} in range({ends})", {**names, f"r{self.number}": "int"}, depth, pad)

    def _while(self, names: Names, depth: int, pad: str) -> list[str]:
        self.number += 1
        name = f"c{self.number}"
        loop = self.loop(f"while {name} < 3 and {self.expression('bool', names, 1)}", dict(names), depth, pad)
        return [f"{pad}{name} = 0", loop[0], f"{pad}    {name} += 1", *loop[1:]]

    def _try(self, names: Names, depth: int, pad: str) -> list[str]:
        more = f"{pad}    "
        error = self.chance.choice(["TooBig", "(TooBig, Odd)", "Odd", "Exception"])
        ends = ["raise Refused(str(problem))", "return str(problem)", "raise", "pass", "s = f'{problem}'"]
        self.number += 1
        body = [f"{more}t{self.number} = check({self.expression('int', {'p': 'int'}, 9)})"]
        body += self.block(dict(names), depth + 1, more)
        clause = self.block(dict(names), depth + 1, more) if self.chance.random() < 0.4 else []
        if not clause or not clause[-1].strip().startswith(_LEAVING):
            clause.append(more + self.chance.choice(ends))
        return [f"{pad}try:", *body, f"{pad}except {error} as problem:", *clause]

    def _finally(self, names: Names, depth: int, pad: str) -> list[str]:
        more = f"{pad}    "
        self.number += 1
        body = [f"{more}f{self.number} = check({self.expression('int', {'p': 'int'}, 9)})"]
        body += self.block(dict(names), depth + 1, more)
        loops, self.loops = self.loops, 0
        cleanup = f"{more}g{self.number} = shout({self.expression('str', {'s': 'str'}, 9)})"
        self.loops = loops
        return [f"{pad}try:", *body, f"{pad}finally:", cleanup]

    def _match(self, names: Names, depth: int, pad: str) -> list[str]:
        subject = self.chance.choice([name for name, kind in names.items() if kind == "str"])
        more = f"{pad}        "
        lines = [f"{pad}match {subject}:"]
        for case in ("'a' | 'ab'", "'hello'", "_"):
            lines += [f"{pad}    case {case}:", *self.block(dict(names), depth + 1, more)]
        return lines

    def _parallel(self, names: Names, _: int, pad: str) -> list[str]:
        self.number += 1
        first, second = f"pa{self.number}", f"pb{self.number}"
        steps = f"twice({self.expression('int', names, 1)}), shout({self.expression('str', names, 1)})"
        names.update({first: "int", second: "str"})
        return [f"{pad}{first}, {second} = parallel({steps})"]

    def _leave(self, names: Names, _: int, pad: str) -> list[str]:
        kind = self.chance.choice(list(EXPRESSIONS))
        ways = [f"return {self.expression(kind, names, 1)}", f"raise Refused({self.expression('str', names, 1)})"]
        ways += ["sleep(5)", *(["break", "continue"] * 2 if self.loops else [])]
        return [f"{pad}if {self.expression('bool', names, 1)}:", f"{pad}    {self.chance.choice(ways)}"]
