"""One machine while it is written: its states, and who catches what fails.

A scope is that of a flow, or of a part within a Map or Parallel. Other modules read expressions and write statements;
they register here for the kinds of syntax that they know, so that each can ask for the parts of its own.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from dcf.asl.jsonata.writing import expression
from dcf.flow.folding import Last
from dcf.flow.jsonata_code import Code, template
from dcf.flow.names import Names, path_of, targets
from dcf.flow.refusals import Refusal
from dcf.flow.refused_syntax import refusal_of
from dcf.flow.ways import Cleanup, Handler, Loop, Way, into
from dcf.steps.value_types import ValueType
from dcf.steps.vocabulary import STEPS, Flow, Task
from dcf.values.records import replace

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

_READERS: dict[type[Any], Callable[..., Code]] = {}
_WRITERS: dict[type[ast.stmt], Callable[..., None]] = {}


def reads(*kinds: type[Any]) -> Callable[[Syntax], Syntax]:
    """Register the function that reads expressions of these kinds; `Task` stands for all steps."""
    return lambda reader: _READERS.update(dict.fromkeys(kinds, reader)) or reader


def writes(*kinds: type[ast.stmt]) -> Callable[[Syntax], Syntax]:
    """Register the function that writes statements of these kinds."""
    return lambda writer: _WRITERS.update(dict.fromkeys(kinds, writer)) or writer


@dataclass(slots=True, eq=False)
class Scope(Names):
    """The states of one machine. `caller` is the scope that sees its failures.

    `is_late`: what stands before in this statement may fail. `last` is the state that alone leads to what is written
    next. `kept` has the names of the results of the steps of this statement. `has_token`: what is read is an
    argument of a task that ends with a callback.
    """

    caller: "Scope | None" = None
    states: dict[str, Any] = field(default_factory=dict)
    start: str = ""
    open: list[Way] = field(default_factory=list)
    handlers: list[list[Handler]] = field(default_factory=list)
    caught: list[Handler] = field(default_factory=list)
    cleanups: list[Cleanup] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    statement: ast.stmt | None = None
    kept: dict[ast.expr, str] = field(default_factory=dict)
    is_late: bool = False
    has_token: bool = False
    last: Last | None = None
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

    # -- states

    def add(self, base: str, state: dict[str, Any], node: ast.AST, *, ends: bool = False) -> str:
        """Add a state: all open ends lead to it, and it has one unless it ends the machine."""
        if self.last is not None:
            self.last.keep_spare()
        name = self.program.state_name(base, node, self.source)
        self.states[name] = self.program.states[name] = state
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
        self.open, self.last = ways, None

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

    def assign(self, name: str, read: Callable[[], Code], node: ast.AST, hint: ValueType | None = None) -> None:
        """Give a name a value: in the state before, where that is the same, else in a Pass."""
        code = read()
        folded = self.folded(read, name)
        variable = self.bind(name, code.type, node, hint)
        value = self.written(code, node)
        known = replace(folded or code, type=self.environment[name].type)
        if self.last is not None and folded is not None:
            self.last.set(name, variable, known, self.written(folded, node))
            return
        state: dict[str, Any] = {"Type": "Pass", "Assign": {variable: value}}
        self.add(name, state, node)
        self.last = Last(state, {name: (variable, known)})

    def folded(self, read: Callable[[], Code], name: str = "") -> Code | None:
        """Return the code of an expression as the state before may work it out; None if it may not."""
        if self.last is None:
            return None
        with self.frame(self.last.codes):
            code = read()
        return code if self.last.takes(code, name) else None

    def keep(self, names: Mapping[str, Code], state: dict[str, Any], node: ast.AST, spare: str = "") -> None:
        """Give names the result of the state before, or parts of it."""
        self.last = Last(state, {}, spare=spare)
        for name, code in names.items():
            variable = self.bind(name, code.type, node)
            self.last.assigned[name] = (variable, replace(code, type=self.environment[name].type))
            self.last.results.add(name)
            if name != spare:
                state.setdefault("Assign", {})[variable] = template(code)

    def _drop_spare(self) -> None:
        """Forget the result of a step that only its own statement needed."""
        if self.last is not None and self.last.spare:
            name, self.last.spare = self.last.spare, ""
            del self.last.assigned[name], self.environment[name], self.declared[name]
            self.last.results.discard(name)
            self.assigned.discard(name)

    def written(self, code: Code, node: ast.AST) -> Any:
        """Return what a field of a state holds for an expression."""
        self.guard(code, node)
        return template(code if code.node or not isinstance(node, ast.expr) else replace(code, node=node))

    def guard(self, code: Code, node: ast.AST) -> None:
        """Refuse an expression that may fail where an except would see it in Python: only steps are caught."""
        if len(code.text) > _LONGEST:
            raise Refusal(node, f"This expression becomes more than {_LONGEST} characters.", "Divide it into several.")
        if code.is_risky and any(_OF_EXPRESSIONS.intersection(handler.errors) for handler in self._around()):
            message = "This expression may fail (a missing key, a division); except and finally see only steps fail."
            raise Refusal(node, message, "Move it before the try, use a TypedDict or dataclass, or do it in a @task.")

    def _around(self) -> Iterator[Handler]:
        scope: Scope | None = self
        while scope is not None:
            for group in scope.handlers:
                yield from group
            scope = scope.caller

    def field(self, node: ast.expr) -> Any:
        """Read an expression, and return what a field of a state holds for it."""
        return self.written(self.value(node), node)

    # -- reading and writing

    def value(self, node: ast.expr) -> Code:
        """Return the code of an expression."""
        reader = _READERS.get(Task if self.is_step(node) else type(node))
        if reader is None:
            raise refusal_of(node)
        code = reader(self, node)
        self.is_late = self.is_late or code.is_risky
        path = path_of(node) if isinstance(node, ast.Attribute | ast.Subscript) else ""
        tested = self.tested(path, re.split(r"[.\[]", path, maxsplit=1)[0]) if path else None
        if tested is not None:
            code = replace(code, type=tested.type, sure=True)
        return replace(code, node=node)

    def write(self, node: ast.stmt) -> None:
        """Write the states of a statement."""
        self.is_late, self.statement, self.kept = False, node, {}
        writer = _WRITERS.get(type(node))
        if writer is None:
            raise refusal_of(node)
        writer(self, node)
        self._drop_spare()

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
        """Take it that a refused statement gave its names a value, of which nothing is known, or that it left."""
        self.nested, self.frames = 0, []
        self.refused.update(targets([statement]))
        self.assigned |= self.refused
        self.leave_open([] if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue) else [_nowhere])

    # -- steps

    def is_step(self, node: ast.AST) -> bool:
        """Return True for what becomes a state: the call of a step, or a list of what steps return."""
        if isinstance(node, ast.ListComp):
            return self.has_step(node.elt)
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


def _nowhere(_: str) -> None:
    """Lead nowhere: the end of a statement that was refused."""
