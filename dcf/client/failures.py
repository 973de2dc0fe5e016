"""Turns what a tool says went wrong into the exception of dcf's one tree that a program can catch.

A call that was wrong or could not be carried out is raised as the class of its code; what was refused as `Refused`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dcf import errors
from dcf.errors import DcfError, Problem, Refused, ToolCallFailed
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.verbs.wording.sentences import Language

_ITS_OWN: Final = (errors.Refused, errors.RunFailed, errors.WaitTimedOut, errors.ToolCallFailed, errors.StateError)
"""Classes that no tool's failure has."""


def error_of(failure: ToolCallFailed) -> DcfError:
    """Return the error of the tree with the code of a failed call; the failure itself for any other code."""
    kind = _KINDS.get(failure.code)
    if kind is None:
        return failure
    error = kind.__new__(kind)  # its constructor would replace the message of the server
    DcfError.__init__(error, failure.message, failure.hint)
    wait = failure.answer.get("retry_after_s")
    if isinstance(error, errors.RateLimited | errors.PlatformUnavailable):
        error.retry_after_s = wait if isinstance(wait, int | float) else 1.0
    if isinstance(error, errors.InvalidDefinition):
        error.problems = problems_of(failure.answer)
    if isinstance(error, errors.StoreUnavailable):
        error.place, error.remedy = None, error.hint
    return error


def put_into_words(error: DcfError, language: "Language | None", verb: str, arguments: Mapping[str, Json]) -> DcfError:
    """Return the error with what it says of the call of a verb in the words of an interface.

    Without a language these are the words of Python. The table of calls is loaded for an error only.
    """
    from dcf.verbs.wording.languages import Methods
    from dcf.verbs.wording.sentences import message_worded, worded

    language = language or Methods()
    error.message = message_worded(error.message, language, verb)
    error.hint = worded(error.hint, language, verb, arguments)
    if isinstance(error, errors.InvalidDefinition):
        error.problems = tuple(
            replace(problem, hint=worded(problem.hint, language, verb, arguments)) for problem in error.problems
        )
    return error


def accepted(answer: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the answer; raise Refused if it is a refusal."""
    code = str(answer.get("code"))
    if code == "ok":
        return answer
    message = str(answer.get("error")).removeprefix(f"{code}: ")
    raise Refused(code, message, answer.get("hint"), retry_after_s=answer.get("retry_after_s"), answer=answer)


def problems_of(answer: Mapping[str, object]) -> tuple[Problem, ...]:
    """Return the problems that an answer lists."""
    problems = answer.get("problems")
    names = ("path", "code", "message", "hint")
    listed = problems if isinstance(problems, list) else []
    return tuple(Problem(**{name: str(tool_spec.get(name, "")) for name in names}) for tool_spec in listed)


def _kinds(kind: type[DcfError]) -> Iterator[type[DcfError]]:
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__ and below not in _ITS_OWN:
            yield below
            yield from _kinds(below)


_KINDS: Final[Mapping[str, type[DcfError]]] = {kind.code: kind for kind in _kinds(DcfError)}
"""The classes by their codes."""
