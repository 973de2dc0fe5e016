"""Which state a call of an agent was given, so that a repetition of the call gets the same lease again.

An agent that asks for work learns the lease token by the answer alone, and the answer may be lost. What is noted here
is found with the request id that the call had. Of a call without one the caller is noted, an API key or the local
user, with what it asks for: a caller that asks for the same agent with another key never gets the token.
"""

from typing import Final

from dcf.features.work.askers import Asker, Handed
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.values.digest import fingerprint
from dcf.values.json_text import dump, load

_KEPT_S: Final = 3600
"""As long as a lease lasts at most."""


class HandedOut:
    """The states that calls were given."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def find(self, asker: Asker) -> Handed | None:
        """Return what an earlier call of the same was given."""
        (text,) = self._connections.send(("GET", _key_of(asker)))
        if text is None:
            return None
        workflow_id, state, token, *more = load(text)
        return Handed(workflow_id=workflow_id, state=state, token=token, message_id=more[0] if more else None)

    def note(self, asker: Asker, handed: Handed) -> None:
        """Note the work that a call is about to return."""
        text = dump([handed.workflow_id, handed.state, handed.token, handed.message_id])
        self._connections.send(("SET", _key_of(asker), text, "EX", _KEPT_S))


def _key_of(asker: Asker) -> str:
    """Return the key of what is noted. No fingerprint has a colon, so that no request id is taken for a caller."""
    if asker.request_id is not None:
        return keys.handed(asker.agent_id, fingerprint(asker.request_id))
    digest = dump([asker.caller, asker.workflow_id, *asker.filters])
    return keys.handed(asker.agent_id, f"to:{fingerprint(digest)}")
