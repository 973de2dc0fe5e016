"""Who does what a command does: the user of dcf on this machine. Histories and the audit trail name that user.

The outcome is an answer, or a refusal, which is an error of the command.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from dcf.cli.wording import in_commands, in_options
from dcf.errors import InvalidArgument, ToolCallFailed
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.store.access.audit_trail import Recording

Answer = TypeVar("Answer")


def by_the_local_user() -> AbstractContextManager[None]:
    """Have the history name the local user as the author of what is done in the block."""
    from dcf.core.access.model import LOCAL
    from dcf.store.access.authors import authored_by

    return authored_by(LOCAL)


def user_name(option: str) -> str:
    """Return the name of the user of this machine, for an option that says who does something and was left out."""
    import getpass

    from dcf.values.identifiers import check_id

    try:
        return check_id(getpass.getuser(), "your user name")
    except (InvalidArgument, KeyError, OSError):
        raise InvalidArgument("Your user name is unknown.", f"Say who you are: {option} NAME.") from None


@contextmanager
def recorded(application: "Application", change: str, about: Mapping[str, str]) -> "Iterator[Recording]":
    """Record a change in the audit trail, made by the local user."""
    with by_the_local_user(), application.audit.recording(change, about) as recording:
        yield recording
        recording.outcome = "ok"


def accepted(answer: Answer | Refusal, **known: Json) -> Answer:
    """Return the answer; raise a refusal of a call with these arguments as an error, in the words of commands."""
    if isinstance(answer, Refusal):
        problems: dict[str, Json] = {"problems": list(answer.problems)}
        raise refused(answer.code, answer.message, answer.hint, problems, known=known)
    return answer


def refused(
    code: str,
    message: str,
    hint: str,
    answer: Mapping[str, Json],
    verb: str | None = None,
    known: Mapping[str, Json] | None = None,
) -> ToolCallFailed:
    """Return a refusal as an error of the command, in the words of commands, with the problems that it lists.

    `verb` was called, with the arguments `known`.
    """
    worded = message if verb is None else in_options(message, verb)
    failure = ToolCallFailed(code, worded, in_commands(hint, verb, known), answer)
    problems: Json = answer.get("problems")
    for problem in problems or ():
        failure.add_note(f"{problem['path'] or '/'}: {problem['message']}")
    return failure
