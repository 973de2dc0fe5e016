"""Who does what a command does: the user of dcf on this machine. Histories and the audit trail name that user.

What came of it is an answer, or a refusal, which is an error of the command.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from dcf.cli.wording import in_commands
from dcf.errors import ToolCallFailed
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


@contextmanager
def recorded(found: "Application", change: str, about: Mapping[str, str]) -> "Iterator[Recording]":
    """Record a change in the audit trail, made by the local user."""
    with by_the_local_user(), found.audit.recording(change, about) as recording:
        yield recording
        recording.outcome = "ok"


def accepted(answer: Answer | Refusal, run: str) -> Answer:
    """Return the answer about a run; raise a refusal as an error of the command, in the words of commands."""
    if isinstance(answer, Refusal):
        refused = ToolCallFailed(answer.code, answer.message, in_commands(answer.hint, run))
        for one in answer.problems:
            refused.add_note(f"{one['path'] or '/'}: {one['message']}")
        raise refused
    return answer
