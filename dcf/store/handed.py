"""Which state a call of an agent was given, so that a repetition of the call gets the same lease again.

An agent that waits learns the lease token by the answer alone, and the answer may be lost. What is noted here is found
only with the request id that the call had: another process of the agent, which has other ids, never gets the token.
"""

from typing import Final

from dcf.store import keys
from dcf.store.connection import Connections
from dcf.values.digest import fingerprint
from dcf.values.json_text import dump, load
from dcf.values.records import record

_KEPT_S: Final = 3600
"""As long as a lease lasts at most."""


@record(frozen=True, slots=True, kw_only=True)
class Handed:
    """A state of a run, and the token with which it was, or is about to be, leased."""

    workflow_id: str
    state: str
    token: str


class HandedOut:
    """The states that calls were given."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def find(self, agent_id: str, request_id: str) -> Handed | None:
        """Return what an earlier call with this request id was given."""
        (found,) = self._connections.send(("GET", keys.handed(agent_id, fingerprint(request_id))))
        if found is None:
            return None
        workflow_id, state, token = load(found)
        return Handed(workflow_id=workflow_id, state=state, token=token)

    def note(self, agent_id: str, request_id: str, given: Handed) -> None:
        """Note what a call is about to be given."""
        told = dump([given.workflow_id, given.state, given.token])
        self._connections.send(("SET", keys.handed(agent_id, fingerprint(request_id)), told, "EX", _KEPT_S))
