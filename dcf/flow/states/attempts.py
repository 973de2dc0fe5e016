"""`try`, `except`, `finally` and `raise`: catchers of states, and ends of the run."""

import ast
from typing import Any, Final

from dcf.asl.jsonata.writing import expression, literal
from dcf.flow.jsonata_code import UNKNOWN, Code, constant, defined
from dcf.flow.names import Environment
from dcf.flow.refusals import Refusal
from dcf.flow.scope import Scope, writes
from dcf.flow.source import short_name
from dcf.flow.ways import EVERYTHING, Cleanup, Handler, Way, into
from dcf.steps.error_names import PROBLEM, error_names, is_error
from dcf.steps.value_types import STR
from dcf.steps.vocabulary import ERROR_NAMES

_AGAIN: Final = "raise again"
_ANY_FAILURE: Final = "States.TaskFailed"


@writes(ast.Try)
def _try(scope: Scope, node: ast.Try) -> None:
    if not node.finalbody:
        _try_except(scope, node)
        return
    _check_finally(node)
    before = _before(scope, node)
    handler = Handler(EVERYTHING, scope.program.variable(scope.free_name("failure"), scope.number))
    scope.cleanups.append(Cleanup(node.finalbody, len(scope.handlers)))
    scope.handlers.append([handler])
    inner = ast.copy_location(ast.Try(node.body, node.handlers, node.orelse, []), node)
    scope.body([inner] if node.handlers else node.body)
    scope.handlers.pop()
    scope.cleanups.pop()
    if scope.open:
        scope.body(node.finalbody)
    ends, after = scope.open, scope.environment
    if handler.ways:
        scope.environment = before
        scope.leave_open(list(handler.ways))
        scope.body(node.finalbody)
        if scope.open:
            _raise_again(scope, node, handler)
    scope.leave_open(ends)
    scope.environment = after


def _check_finally(node: ast.Try) -> None:
    for part in (part for statement in node.finalbody for part in ast.walk(statement)):
        if isinstance(part, ast.Return | ast.Break | ast.Continue):
            raise Refusal(part, "This leaves a finally, and would drop the error.", "Move it behind the try.")


def _before(scope: Scope, node: ast.Try) -> Environment:
    """Return the facts about names that hold wherever the body fails."""
    environment = dict(scope.environment)
    scope.widen([*node.body, *(statement for handler in node.handlers for statement in handler.body)])
    widened, scope.environment = scope.environment, environment
    return dict(widened)


def _try_except(scope: Scope, node: ast.Try) -> None:
    group = [_handler_of(scope, clause) for clause in node.handlers]
    before = _before(scope, node)
    count, refusals = len(scope.states), scope.program.refusals
    scope.handlers.append(group)
    scope.body(node.body)
    scope.handlers.pop()
    is_idle = len(scope.states) == count or not any(handler.ways for handler in group)
    if is_idle and refusals == scope.program.refusals:
        message = "Nothing in this try is a step, so nothing can be caught."
        raise Refusal(node, message, "Only steps fail so that except sees it; leave the try out.")
    if scope.open:
        scope.body(node.orelse)
    ends, last = list(scope.open), scope.last if scope.open else None
    environments = [scope.environment] if scope.open else []
    for clause, handler in zip(node.handlers, group, strict=True):
        if handler.ways:
            scope.environment = dict(before)
            scope.leave_open(list(handler.ways))
            _write_clause(scope, clause, handler)
        if handler.ways and scope.open:
            ends += scope.open
            environments.append({name: code for name, code in scope.environment.items() if name != clause.name})
    scope.leave_open(ends)
    scope.last = last if len(environments) == 1 else None
    scope.environment = scope.common(environments) if environments else before


def _handler_of(scope: Scope, clause: ast.ExceptHandler) -> Handler:
    errors = _errors_of(scope, clause)
    if clause.name is None:
        return Handler(errors, None)
    # A clause within another must not overwrite the error that the outer one may raise again.
    variable = scope.program.variable(clause.name, scope.number)
    while variable in {handler.variable for handler in scope.caught}:
        variable = scope.program.variable(f"{variable}_inner", scope.number)
    return Handler(errors, variable)


def _errors_of(scope: Scope, clause: ast.ExceptHandler) -> tuple[str, ...]:
    if clause.type is None:
        raise Refusal(clause, "A bare except would catch everything.", "Write except Exception.")
    names: list[str] = []
    for node in clause.type.elts if isinstance(clause.type, ast.Tuple) else [clause.type]:
        kind = scope.resolve(node)
        if not is_error(kind):
            raise Refusal(node, f"{ast.unparse(node)} is no class of errors.", "Name a class of exceptions.")
        names += error_names(kind)
    return EVERYTHING if EVERYTHING[0] in names else tuple(dict.fromkeys(names))


def _write_clause(scope: Scope, clause: ast.ExceptHandler, handler: Handler) -> None:
    raises_again = any(isinstance(part, ast.Raise) and part.exc is None for part in ast.walk(clause))
    if handler.variable is None and raises_again:
        handler.remember(scope.program.variable(scope.free_name("problem"), scope.number))
    if clause.name is not None:
        scope.environment[clause.name] = Code(f"${handler.variable}", PROBLEM)
        scope.assigned.add(clause.name)
    scope.caught.append(handler)
    scope.body(clause.body)
    scope.caught.pop()


@writes(ast.Raise)
def _raise(scope: Scope, node: ast.Raise) -> None:
    if node.exc is None or _is_caught(scope, node.exc):
        if not scope.caught or scope.caught[-1].variable is None:
            raise Refusal(node, "There is nothing caught here to raise again.", 'Write raise SomeError("why").')
        _raise_again(scope, node, scope.caught[-1])
        return
    name, cause = _error_of(scope, node.exc)
    every = (handler for group in reversed(scope.handlers) for handler in group)
    handler = next((known for known in every if known.takes_everything or name in known.errors), None)
    state_name, error = f"raise {short_name(node.exc)}", {"Error": name, "Cause": scope.written(cause, node.exc)}
    if handler is None:
        scope.add(state_name, {"Type": "Fail", **error}, node, ends=True)
        return
    if handler.variable is not None:
        scope.add(state_name, {"Type": "Pass", "Assign": {handler.variable: error}}, node)
    handler.ways += scope.open
    scope.leave_open([])


def _is_caught(scope: Scope, node: ast.expr) -> bool:
    """Return True for `raise problem` in the clause that caught it."""
    if not isinstance(node, ast.Name) or not scope.caught:
        return False
    code = scope.environment.get(node.id)
    return code is not None and code.text == f"${scope.caught[-1].variable}"


def _error_of(scope: Scope, node: ast.expr) -> tuple[str, Code]:
    """Return the name in ASL and the cause of a raised exception."""
    named = node.func if isinstance(node, ast.Call) else node
    kind = scope.resolve(named)
    if kind is UNKNOWN and not scope.is_local(named):
        raise scope.refuse_name(named, kind)
    if not is_error(kind):
        raise Refusal(node, "raise needs a class of exceptions with a text.", 'Write raise SomeError("why").')
    name = ERROR_NAMES.get(kind, kind.__name__)
    if name.startswith("States."):
        raise Refusal(node, f"{kind.__name__} is for except.", "Raise a class of your own.")
    if not isinstance(node, ast.Call) or not node.args:
        return name, constant("")
    cause = defined(scope.value(node.args[0]))
    if cause.type != STR or len(node.args) > 1 or node.keywords:
        raise Refusal(node, f"An error has one text; this is {cause.type}.", "Write f'...', or text or 'no reason'.")
    return name, cause


def _raise_again(scope: Scope, node: ast.stmt, caught: Handler) -> None:
    """Lead to the outer except that takes the error, which is known when it runs; otherwise the run fails with it."""
    error = f"${caught.variable}"
    for handler in (handler for group in reversed(scope.handlers) for handler in group):
        certain = _certainly_takes(handler, caught, node)
        if certain is None:
            continue
        if certain:
            if handler.variable is not None:
                scope.add(_AGAIN, {"Type": "Pass", "Assign": {handler.variable: expression(error)}}, node)
            handler.ways += scope.open
            scope.leave_open([])
            return
        handler.ways.append(_if_it_is(scope, node, handler, error))
    fail = {"Type": "Fail", "Error": expression(f"{error}.Error"), "Cause": expression(f"{error}.Cause")}
    scope.add(_AGAIN, fail, node, ends=True)


def _certainly_takes(handler: Handler, caught: Handler, node: ast.stmt) -> bool | None:
    """Return whether a clause takes every error that was caught; None if it takes no such error."""
    if handler.takes_everything:
        return True
    if _ANY_FAILURE in {*handler.errors, *caught.errors}:
        raise Refusal(node, "Whether the except around this one takes the error is not known.", "Name the errors.")
    if caught.takes_everything:
        return False
    if not set(caught.errors) & set(handler.errors):
        return None
    return set(caught.errors) <= set(handler.errors)


def _if_it_is(scope: Scope, node: ast.stmt, handler: Handler, error: str) -> Way:
    """Write a Choice that leads to a clause if it takes the error; return that way."""
    rule: dict[str, Any] = {"Condition": expression(f"{error}.Error in {literal(list(handler.errors))}")}
    if handler.variable is not None:
        rule["Assign"] = {handler.variable: expression(error)}
    state: dict[str, Any] = {"Type": "Choice", "Choices": [rule]}
    scope.add(_AGAIN, state, node)
    scope.leave_open([into(state, "Default")])
    return into(rule)
