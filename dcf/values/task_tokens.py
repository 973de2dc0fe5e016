"""Task tokens: a system outside of dcf shows one to end, or keep alive, one visit of one Task. Pure.

A token names the run, the state's path and its visit, and proves with a message authentication code that it was made
with the run's secret. So it can be made again whenever it is needed, and is stored nowhere. No tool shows the secret,
and without it the token cannot be guessed from the other data of a run.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

from dcf.values.identifiers import is_id
from dcf.values.records import record

PREFIX: Final = "dcf-task-"
"""How every task token begins, so that one is recognised in a log."""

LONGEST: Final = 4096
SECRET_BYTES: Final = 24
_CODE_BYTES: Final = 24
_FIELDS: Final = 3


@record(frozen=True, slots=True, kw_only=True)
class TaskToken:
    """A token and the visit of a state that it names. `text` is the token itself; it is not checked yet."""

    workflow_id: str
    state: str
    visit: str
    text: str

    def is_made_with(self, secret: str) -> bool:
        """Return True if it was made with this secret. Compares in constant time."""
        if not secret:
            return False
        made = task_token(secret, self.workflow_id, self.state, self.visit)
        return hmac.compare_digest(made.encode(), self.text.encode())


def task_token(secret: str, workflow_id: str, state: str, visit: str) -> str:
    """Make the token of a visit."""
    named = f"{workflow_id}\n{state}\n{visit}".encode("utf-8", "surrogatepass")
    code = hmac.new(secret.encode(), named, hashlib.sha256).digest()[:_CODE_BYTES]
    return f"{PREFIX}{_text(named)}.{_text(code)}"


def read_task_token(text: str) -> TaskToken | None:
    """Read what a token names; None for a text that has not the form of one."""
    if not text.startswith(PREFIX) or len(text) > LONGEST or not text.isascii():
        return None
    named = text.removeprefix(PREFIX).partition(".")[0]
    try:
        decoded = base64.b64decode(named + "=" * (-len(named) % 4), altchars=b"-_", validate=True)
        fields = decoded.decode("utf-8", "surrogatepass").split("\n")
    except (binascii.Error, UnicodeDecodeError):
        return None
    if len(fields) != _FIELDS or not is_id(fields[0]):
        return None
    return TaskToken(workflow_id=fields[0], state=fields[1], visit=fields[2], text=text)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
