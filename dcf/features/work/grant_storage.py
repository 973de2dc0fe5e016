"""Which state a call of an agent was given, so that a repetition of the call gets the same lease again.

An agent that asks for work learns the lease token by the answer alone, and the answer may be lost. What is noted here
is found with the request id that the call had. Of a call without one the caller is noted, an API key or the local
user, with what it asks for: a caller that asks for the same agent with another key never gets the token.
"""

from typing import Final

from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.values.digest import fingerprint
from dcf.values.json_text import dump, load
from dcf.values.records import record

_KEPT_S: Final = 3600
"""As long as a lease lasts at most."""


@record(frozen=True, slots=True, kw_only=True)
class Asker:
    """By what a repetition of an agent's call is known: its request id, or else its caller and what it asks for.

    `workflow_id` is empty for a call that asks for work of any run; `filters` are those of a claim across runs.
    """

    agent_id: str
    request_id: str | None = None
    caller: str = ""
    workflow_id: str = ""
    filters: tuple[str | None, ...] = ()

    @property
    def key(self) -> str:
        """Key of what is noted. No fingerprint has a colon, so that no request id is taken for a caller."""
        if self.request_id is not None:
            return keys.handed(self.agent_id, fingerprint(self.request_id))
        return keys.handed(self.agent_id, f"to:{fingerprint(dump([self.caller, self.workflow_id, *self.filters]))}")


@record(frozen=True, slots=True, kw_only=True)
class Handed:
    """A state of a run, and the token with which it was, or is about to be, leased.

    `message_id` is that of its event. `state` is empty for a claim, which may lease any.
    """

    workflow_id: str
    state: str
    token: str
    message_id: str | None = None


class HandedOut:
    """The states that calls were given."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def find(self, asker: Asker) -> Handed | None:
        """Return what an earlier call of the same was given."""
        (text,) = self._connections.send(("GET", asker.key))
        if text is None:
            return None
        workflow_id, state, token, *more = load(text)
        return Handed(workflow_id=workflow_id, state=state, token=token, message_id=more[0] if more else None)

    def note(self, asker: Asker, handed: Handed) -> None:
        """Note the work that a call is about to return."""
        text = dump([handed.workflow_id, handed.state, handed.token, handed.message_id])
        self._connections.send(("SET", asker.key, text, "EX", _KEPT_S))
