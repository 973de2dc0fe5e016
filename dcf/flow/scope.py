"""One machine while it is written: its states, the names that have a value, and who catches what fails.

A scope is that of a flow, or of a part within a Map or Parallel. Other modules read expressions and write statements;
they register here for the kinds of syntax that they know, so that each can ask for the parts of its own.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from dcf.asl.jsonata.writing import expression, literal
from dcf.flow.jsonata_code import UNKNOWN, Code, template
from dcf.flow.program import Program
from dcf.flow.refusals import IN_A_TASK, Refusal
from dcf.flow.source import Source
from dcf.flow.ways import Cleanup, Handler, Loop, Way, into
from dcf.steps.suggestions import near
from dcf.steps.value_types import ValueType, fits, join, joined, present
from dcf.steps.vocabulary import STEPS, Flow, Task
from dcf.values.records import replace

Environment: TypeAlias = dict[str, Code]

_OF_EXPRESSIONS: Final = frozenset(
    {
        *("States.ALL", "KeyError", "IndexError", "LookupError", "ValueError", "ZeroDivisionError"),
        *("ArithmeticError", "TypeError", "AttributeError"),
    }
)
"""Names of the errors that a Python expression may raise."""

_LONGEST: Final = 32_000
"""Characters that Step Functions takes as one expression."""

Syntax = TypeVar("Syntax", bound=Callable[..., Any])

_READERS: dict[type[ast.expr], Callable[..., Code]] = {}
_WRITERS: dict[type[ast.stmt], Callable[..., None]] = {}


def reads(*kinds: type[ast.expr]) -> Callable[[Syntax], Syntax]:
    """Register the function that reads expressions of these kinds."""
    return lambda reader: _READERS.update(dict.fromkeys(kinds, reader)) or reader


def writes(*kinds: type[ast.stmt]) -> Callable[[Syntax], Syntax]:
    """Register the function that writes statements of these kinds."""
    return lambda writer: _WRITERS.update(dict.fromkeys(kinds, writer)) or writer


@dataclass(slots=True, eq=False)
class Scope:
    """The states of one machine. `outer` is the scope whose names it reads, `caller` the one that sees its failures.

    `environment` has what is known of each name with a value, `declared` its type, `assigned` all names that
    have one on some way. `frames` are the names of comprehensions. `nested`: in what may be evaluated never or often.
    `is_late`: what stands before in this statement may fail. `merging` is a Pass that may take further assignments.
    """

    program: Program
    source: Source
    outer: "Scope | None" = None
    caller: "Scope | None" = None
    number: int = 0
    states: dict[str, Any] = field(default_factory=dict)
    start: str = ""
    open: list[Way] = field(default_factory=list)
    environment: Environment = field(default_factory=dict)
    declared: dict[str, ValueType] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    handlers: list[list[Handler]] = field(default_factory=list)
    caught: list[Handler] = field(default_factory=list)
    cleanups: list[Cleanup] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    frames: list[Mapping[str, Code]] = field(default_factory=list)
    nested: int = 0
    is_late: bool = False
    merging: str | None = None
    result: ValueType | None = None
    returns: ValueType | None = None

    def __post_init__(self) -> None:
        self.program.scopes += 1
        self.number = self.program.scopes
        self.open = [self._begin]

    def _begin(self, name: str) -> None:
        self.start = name

    def inner(self) -> "Scope":
        """Return the scope of a part within this one, which may run at the same time as others."""
        return Scope(self.program, self.source, outer=self, caller=self)

    def machine(self) -> dict[str, Any]:
        """Return the machine, as Branches and ItemProcessor have it."""
        return {"StartAt": self.start, "States": self.states}

    # -- names

    def read(self, name: str, node: ast.AST) -> Code | None:
        """Return what a name of the flow stands for; None if it is none of its names."""
        for frame in reversed(self.frames):
            if name in frame:
                return frame[name]
        if name in self.environment:
            return self.environment[name]
        if name in self.assigned:
            advice = f"Give it one before the branch or loop: {name} = ..."
            raise Refusal(node, f"'{name}' may have no value here.", advice)
        return None if self.outer is None else self.outer.read(name, node)

    def knows(self, name: str) -> bool:
        """Return True for a name of the flow."""
        if any(name in frame for frame in self.frames) or name in self.environment or name in self.assigned:
            return True
        return self.outer is not None and self.outer.knows(name)

    def known_names(self) -> list[str]:
        """Return all names that could be meant."""
        outer = [] if self.outer is None else self.outer.known_names()
        return [*self.environment, *outer, *self.source.names]

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

    def free_name(self, wanted: str) -> str:
        """Return a name that nothing in this scope has."""
        name, number = wanted, 2
        while self.knows(name):
            name, number = f"{wanted}_{number}", number + 1
        return name

    def bind(self, name: str, kind: ValueType, node: ast.AST, hint: ValueType | None = None) -> str:
        """Give a name a value of this type; return its variable in ASL."""
        if self.outer is not None and name not in self.assigned and self.outer.knows(name):
            message = f"'{name}' belongs to the code around this parallel part."
            raise Refusal(node, message, "Use another name; what the part returns is its result.")
        declared = self._declare(name, kind, node, hint)
        variable = self.program.variable(name, self.number)
        is_there = declared.optional and not kind.optional and kind.kind not in {"null", "any"}
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
            advice = "Use another name." if both is None else f"Annotate its first assignment: {name}: {both} = ..."
            raise Refusal(node, f"'{name}' is {declared}, and this is {kind}.", advice)
        self.declared[name] = kind if declared is None else declared
        return self.declared[name]

    # -- states

    def add(self, wanted: str, state: dict[str, Any], node: ast.AST, *, ends: bool = False) -> str:
        """Add a state: all open ends lead to it, and it has one unless it ends the machine."""
        name = self.program.state_name(wanted, node, self.source)
        self.states[name] = state
        self.connect(name)
        self.leave_open([] if ends else [into(state)])
        return name

    def connect(self, name: str) -> None:
        """Let all open ends lead to a state."""
        for way in self.open:
            way(name)
        self.open = []

    def leave_open(self, ways: list[Way]) -> None:
        """Continue from these ends."""
        self.open, self.merging = ways, None

    def catch(self, state: dict[str, Any]) -> None:
        """Give a state the catchers of all except clauses around it, the inner ones first."""
        catchers: list[dict[str, Any]] = []
        for handler in (handler for group in reversed(self.handlers) for handler in group):
            rule: dict[str, Any] = {"ErrorEquals": list(handler.errors)}
            if handler.variable is not None:
                rule["Assign"] = {handler.variable: expression("$states.errorOutput")}
            handler.rules.append(rule)
            handler.ways.append(into(rule))
            catchers.append(rule)
            if handler.takes_everything:
                break
        if catchers:
            state["Catch"] = catchers

    def assign(self, name: str, code: Code, node: ast.AST, hint: ValueType | None = None) -> None:
        """Give a name a value, in the Pass before if that neither reads nor assigns what this one does."""
        variable = self.bind(name, code.type, node, hint)
        self.guard(code, node)
        value = template(code)
        if self.merging is not None:
            assigns = self.states[self.merging]["Assign"]
            if variable not in assigns and not any(_mentions(value, other) for other in assigns):
                assigns[variable] = value
                return
        self.merging = self.add(name, {"Type": "Pass", "Assign": {variable: value}}, node)

    def guard(self, code: Code, node: ast.AST) -> None:
        """Refuse an expression that may fail where an except would see it in Python: only steps are caught."""
        if len(code.text) > _LONGEST:
            raise Refusal(node, f"This expression becomes more than {_LONGEST} characters.", "Divide it into several.")
        if code.is_risky and any(_OF_EXPRESSIONS.intersection(handler.errors) for handler in self._around()):
            message = (
                "This expression may fail (a missing key or place, a division), and the except or finally around it"
                " would not see that: only the failures of steps are caught."
            )
            raise Refusal(node, message, "Move it before the try, use a TypedDict or dataclass, or do it in a @task.")

    def _around(self) -> Iterator[Handler]:
        scope: Scope | None = self
        while scope is not None:
            for group in scope.handlers:
                yield from group
            scope = scope.caller

    def guarded(self, node: ast.expr) -> Any:
        """Read an expression and return what a field of a state holds for it."""
        code = self.value(node)
        self.guard(code, node)
        return template(code)

    # -- reading and writing

    def value(self, node: ast.expr) -> Code:
        """Return the code of an expression."""
        reader = _READERS.get(type(node))
        if reader is None:
            raise Refusal(node, f"{type(node).__name__} cannot be part of a flow.", IN_A_TASK)
        code = reader(self, node)
        self.is_late = self.is_late or code.is_risky
        return code if code.sure or code.missing else replace(code, missing=f"{ast.unparse(node)[:100]} has no value")

    def write(self, node: ast.stmt) -> None:
        """Write the states of a statement."""
        self.is_late = False
        writer = _WRITERS.get(type(node))
        if writer is None:
            raise Refusal(node, f"{type(node).__name__} cannot be part of a flow.", IN_A_TASK)
        writer(self, node)

    def body(self, statements: list[ast.stmt]) -> None:
        """Write the states of statements; continue behind a refused statement, so that all complaints come at once."""
        for statement in statements:
            try:
                if not self.open:
                    raise Refusal(statement, "This is never reached.", "Remove it.")  # noqa: TRY301 - as any other
                self.write(statement)
            except Refusal as refusal:
                self.program.refuse(refusal, self.source)
                self._go_on_behind(statement)

    def leave(self, depth: int) -> None:
        """Write the finally clauses on the way to `depth`, the innermost first, each as if outside its try."""
        cleanups, handlers = self.cleanups, self.handlers
        for at in range(len(cleanups) - 1, depth - 1, -1):
            if self.open:
                self.cleanups, self.handlers = cleanups[:at], handlers[: cleanups[at].handlers]
                self.body(cleanups[at].statements)
        self.cleanups, self.handlers = cleanups, handlers

    def _go_on_behind(self, statement: ast.stmt) -> None:
        """Take it that a refused statement gave its names a value, of which nothing is known."""
        self.nested, self.frames = 0, []
        for name in targets([statement]):
            if name not in self.environment:
                self.environment[name] = Code(f"${name}", self.declared.get(name, ValueType("any")))
            self.assigned.add(name)
        if not self.open and not isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
            self.open = [_nowhere]

    @contextmanager
    def frame(self, names: Mapping[str, Code]) -> Iterator[None]:
        """Read an expression with further names, as in a comprehension; it has no step."""
        self.frames.append(names)
        self.nested += 1
        try:
            yield
        finally:
            self.nested -= 1
            self.frames.pop()

    # -- steps

    def is_step(self, node: ast.AST) -> bool:
        """Return True for a call that becomes a state."""
        if not isinstance(node, ast.Call):
            return False
        if self.is_changed_task(node.func):
            return True
        called = self.resolve(node.func)
        return isinstance(called, Task | Flow) or any(called is step for step in STEPS)

    def is_changed_task(self, node: ast.expr) -> bool:
        """Return True for `task.with_(...)`."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "with_"):
            return False
        return isinstance(self.resolve(node.func.value), Task)

    def has_step(self, node: ast.AST) -> bool:
        """Return True if a call within becomes a state."""
        return any(self.is_step(part) for part in ast.walk(node))

    # -- what holds on several ways

    def common(self, environments: list[Environment]) -> Environment:
        """Return the names that have a value whichever way was taken; the type is that of any of them."""
        first, *others = environments
        names = [name for name in first if all(name in other for other in others)]
        result: Environment = {}
        for name in names:
            kind = joined([one[name].type for one in environments]) or self.declared.get(name, first[name].type)
            result[name] = replace(first[name], type=kind)
        return result

    def widen(self, statements: list[ast.stmt]) -> None:
        """Forget what is known of the names that these statements assign, beyond their declared types."""
        for name in set(targets(statements)) & self.environment.keys() & self.declared.keys():
            self.environment[name] = replace(self.environment[name], type=self.declared[name])

    def refuse_name(self, node: ast.expr, value: Any) -> Refusal:
        """Return the refusal of a name that stands for no value of the flow."""
        text = ast.unparse(node)
        if value is UNKNOWN:
            return Refusal(node, f"'{text}' is not known.{near(text, self.known_names())}", "")
        if isinstance(value, Task | Flow):
            return Refusal(node, f"{text} is a step; it is called, not passed on.", f"Write {text}(...).")
        message = f"{text} is no JSON value, so it cannot be written into the workflow."
        return Refusal(node, message, "Use it in a @task function.")


def _nowhere(_: str) -> None:
    """Lead nowhere: the end of a statement that was refused."""


def _mentions(value: Any, variable: str) -> bool:
    return re.search(rf"\${re.escape(variable)}\b", literal(value)) is not None


def targets(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements give a value."""
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            owner = node.func.value
            if isinstance(owner, ast.Name):
                yield owner.id
