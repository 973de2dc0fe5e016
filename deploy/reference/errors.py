"""The page of error codes: what each means, whether to repeat the call, its exit code, HTTP status and tools."""

import inspect
from collections.abc import Iterator

from dcf import errors
from dcf.cli.exit_codes import ERRORS, NO
from dcf.errors import PASSING, DcfError
from dcf.features.artifacts.routes import STATUSES as STATUSES_OF_ARTIFACTS
from dcf.features.external.routes import STATUSES as STATUSES_OF_TASK_TOKENS
from dcf.flow.refusals import InvalidFlow
from dcf.store.connection.layout import StoreTooNew
from dcf.tools.mcp.reference import OF_EVERY_TOOL
from dcf.tools.mcp.selection import documented_tools
from dcf.verbs.answers.refusal_codes import REFUSALS, REPEATABLE
from dcf.worker.context import TaskCancelled
from dcf.worker.failure import TaskFailed
from deploy.reference.markdown import page, table

_STATUSES = {**STATUSES_OF_ARTIFACTS, **STATUSES_OF_TASK_TOKENS}
_ELSEWHERE = (InvalidFlow, StoreTooNew, TaskCancelled, TaskFailed)
"""Classes of errors that other modules define."""

_MOST_NAMES = 20
"""Tools that a cell names. The page of tools has the codes of each."""

_HEADER = ("code", "meaning", "repeat", "exit", "HTTP", "answered by")


def render() -> str:
    """Return the page."""
    return page(
        "Error codes",
        """
        A code is stable: programs may compare it. *Repeat*: the same call can succeed later. *Exit*: what a command
        ends with. *HTTP*: the status of `/artifacts` and `/task-tokens`, which answer 503 for all other codes. MCP
        answers with status 200 and the code. *Answered by*: the [tools](tools.md) that declare the code.
        """,
        "## Errors",
        "In Python each is raised as its class of `dcf.errors`. `str(error)` is the message and the hint.",
        table((*_HEADER, "class"), [(*_row(code, _meaning(kind)), f"`{kind.__name__}`") for code, kind in _classes()]),
        "## Refusals",
        "A request was understood and refused, and nothing was changed. Python raises `Refused` with this `code`.",
        table(_HEADER, [_row(code, meaning) for code, meaning in REFUSALS.items()]),
    )


def _classes() -> Iterator[tuple[str, type[DcfError]]]:
    own = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, DcfError)]
    kinds: list[type[DcfError]] = [*own, *_ELSEWHERE]
    by_code = {kind.code: kind for kind in reversed(kinds)}  # a code is that of the first class
    yield from sorted((code, kind) for code, kind in by_code.items() if kind is not DcfError and code != "error")


def _meaning(kind: type[DcfError]) -> str:
    """Return the first sentence of the class."""
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())


def _row(code: str, meaning: str) -> tuple[str, ...]:
    repeat = "yes" if code in PASSING | REPEATABLE or code == "platform_unavailable" else ""
    return f"`{code}`", meaning, repeat, str(ERRORS.get(code, NO)), str(_STATUSES.get(code, "")), _tools(code)


def _tools(code: str) -> str:
    if code in OF_EVERY_TOOL:
        return "every tool"
    names = [f"`{spec.name}`" for spec in documented_tools() if code in spec.codes]
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} tools"
