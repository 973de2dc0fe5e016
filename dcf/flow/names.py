"""The names of a flow: the object of each, the known facts about its value, and the place where it is dropped again.

Values never change, so the result of a test of a part of one holds until its name gets another.
"""

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dcf.flow.jsonata_code import UNKNOWN, Code
from dcf.flow.program import Program
from dcf.flow.refusals import FollowsRefusal, Refusal
from dcf.flow.source import Source
from dcf.steps.suggestions import near
from dcf.steps.value_types import ValueType, fits, join, joined, present
from dcf.steps.vocabulary import Flow, Task
from dcf.values.records import replace

Environment: TypeAlias = dict[str, Code]
"""What is known of names, and of the parts of their values that a test has told something of (`order['due']`)."""


@dataclass(slots=True, eq=False)
class Names:
    """The names of a scope. `outer` is the one whose names it reads too.

    `environment` has what is known of each name with a value, `declared` its type, `assigned` all names that
    have one on some way, `refused` those of refused statements. `frames` are the names of comprehensions.
    `nested`: in what may be evaluated never or often.
    """

    program: Program
    source: Source
    outer: "Names | None" = None
    number: int = 0
    environment: Environment = field(default_factory=dict)
    declared: dict[str, ValueType] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    frames: list[Mapping[str, Code]] = field(default_factory=list)
    nested: int = 0

    def read(self, name: str, node: ast.AST) -> Code | None:
        """Return what a name of the flow stands for; None if it is none of its names."""
        for frame in reversed(self.frames):
            if name in frame:
                return frame[name]
        if name in self.refused:
            raise FollowsRefusal(node, f"'{name}' is from a statement that was refused.")
        if name in self.environment:
            return self.environment[name]
        if name in self.assigned:
            raise Refusal(node, f"'{name}' may have no value here.", f"Give it one before the branch: {name} = ...")
        return None if self.outer is None else self.outer.read(name, node)

    def knows(self, name: str) -> bool:
        """Return True for a name of the flow."""
        is_own = any(name in known for known in (*self.frames, self.environment, self.assigned))
        return is_own or (self.outer is not None and self.outer.knows(name))

    def known_names(self) -> list[str]:
        """Return all names that could be meant."""
        outer = [] if self.outer is None else self.outer.known_names()
        return [*filter(str.isidentifier, self.environment), *self.refused, *outer, *self.source.names]

    def is_local(self, node: ast.expr) -> bool:
        """Return True for an expression that begins with a value of the flow, not with an object of the module."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        return not isinstance(node, ast.Name) or self.knows(node.id)

    def resolve(self, node: ast.expr) -> Any:
        """Return the object of the module that an expression stands for, or UNKNOWN."""
        return UNKNOWN if self.is_local(node) else self.source.resolve(node)

    def fixed(self, node: ast.expr) -> Any:
        """Return the value of an option, which Python works out: it may name nothing of the flow."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and self.knows(part.id):
                message = f"This option is fixed when the flow is compiled; '{part.id}' is known only when it runs."
                raise Refusal(part, message, "Write a constant.")
        return self.source.evaluate(node)

    def free_name(self, base: str) -> str:
        """Return a name that nothing in this scope has."""
        name, number = base, 2
        while self.knows(name):
            name, number = f"{base}_{number}", number + 1
        return name

    def bind(self, name: str, kind: ValueType, node: ast.AST, hint: ValueType | None = None) -> str:
        """Give a name a value of this type; return its variable in ASL."""
        if self.outer is not None and name not in self.assigned and self.outer.knows(name):
            message = f"'{name}' belongs to the code around this parallel part."
            raise Refusal(node, message, "Use another name; what the part returns is its result.")
        declared = self._declare(name, kind, node, hint)
        variable = self.program.variable(name, self.number)
        is_there = declared.optional and not kind.optional and kind.kind not in {"null", "any"}
        self._forget_parts(name)
        self.environment[name] = Code(f"${variable}", present(declared) if is_there else declared)
        self.assigned.add(name)
        return variable

    def _declare(self, name: str, kind: ValueType, node: ast.AST, hint: ValueType | None) -> ValueType:
        before = self.declared.get(name)
        if hint is not None and before not in {None, hint}:
            raise Refusal(node, f"'{name}' was declared as {before}.", "Use another name.")
        declared = before if hint is None else hint
        if declared is not None and not fits(kind, declared):
            both = join(declared, kind)
            advice = f"Annotate its first assignment: {name}: {both.annotation} = ..." if both else "Use another name."
            raise Refusal(node, f"'{name}' is {declared}, and this is {kind}.", advice)
        self.declared[name] = kind if declared is None else declared
        return self.declared[name]

    @contextmanager
    def frame(self, names: Mapping[str, Code], *, nested: int = 1) -> Iterator[None]:
        """Read an expression with further names, as in a comprehension; it has no step, unless `nested` is 0."""
        self.frames.append(names)
        self.nested += nested
        try:
            yield
        finally:
            self.nested -= nested
            self.frames.pop()

    def tested(self, path: str, name: str) -> Code | None:
        """Return a part of the value of a name as it is known from a test."""
        for frame in reversed(self.frames):
            if path in frame or name in frame:
                return frame.get(path)
        if self.outer is None or path in self.environment or name in self.assigned:
            return self.environment.get(path)
        return self.outer.tested(path, name)

    def _forget_parts(self, name: str) -> None:
        for path in [path for path in self.environment if path.startswith((f"{name}.", f"{name}["))]:
            del self.environment[path]

    def common(self, environments: list[Environment]) -> Environment:
        """Return the names that have a value whichever way was taken; the type is that of any of them."""
        first, *others = environments
        names = [name for name in first if all(name in other for other in others)]
        result: Environment = {}
        for name in names:
            kind = joined([scope[name].type for scope in environments]) or self.declared.get(name, first[name].type)
            result[name] = replace(first[name], type=kind)
        return result

    def widen(self, statements: list[ast.stmt]) -> None:
        """Forget what is known of the names that these statements assign, beyond their declared types."""
        for name in set(targets(statements)) & self.environment.keys():
            self._forget_parts(name)
            if name in self.declared:
                self.environment[name] = replace(self.environment[name], type=self.declared[name])

    def refuse_name(self, node: ast.expr, value: Any) -> Refusal:
        """Return the refusal of a name that stands for no value of the flow."""
        text = ast.unparse(node)
        if value is UNKNOWN:
            advice = "Give it a value before, or import it at the top of the file."
            return Refusal(node, f"'{text}' is not known.{near(text, self.known_names())}", advice)
        if isinstance(value, Task | Flow):
            return Refusal(node, f"{text} is a step; it is called, not passed on.", f"Write {text}(...).")
        return Refusal(node, f"{text} is no JSON value.", "Use it in a @task function.")


def path_of(node: ast.expr) -> str:
    """Return a name, or a part of its value such as `order['due']`, as text; nothing for any other expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            step = f".{name}"
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            step = f"[{key!r}]"
        case _:
            return ""
    path = path_of(value)
    return path and path + step


def targets(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements give a value."""
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            owner = node.func.value
            if isinstance(owner, ast.Name):
                yield owner.id
