"""Log-ins at the web page in Redis, and which of the confirmed actions were carried out.

`cp:idx:session:<digest>` is a hash, by the digest of the session's id, which only the browser has: the id of the API
key, its digest, and until when the log-in lasts. The key itself is kept nowhere, and is looked up at every request of
the session, so that a key that is revoked ends its sessions at once. `cp:idx:clicked:<digest>` is set before an action
is carried out that its tool could not recognise when it is asked for twice.
"""

import secrets
from typing import Final

from dcf.core.access.model import Caller, digest_of, key_id_of
from dcf.errors import InvalidArgument
from dcf.store.access import session_keys as web_keys
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.connections import Connections
from dcf.store.connection.reserve import frees_memory

_ID_BYTES: Final = 32
_CLICKED_LIFE_S: Final = 24 * 3600

_BEGIN: Final = """
redis.call('HSET', KEYS[1], 'key_id', ARGV[1], 'digest', ARGV[2], 'until', redis.call('TIME')[1] + ARGV[3])
redis.call('EXPIRE', KEYS[1], math.min(ARGV[3], ARGV[4]))
"""

_FIND: Final = """
local found = redis.call('HMGET', KEYS[1], 'key_id', 'digest', 'until')
if not found[1] then return false end
local rest = tonumber(found[3]) - redis.call('TIME')[1]
if rest <= 0 then redis.call('DEL', KEYS[1]) return false end
local wanted = math.min(rest, ARGV[1])
if ARGV[2] == '1' and redis.call('PTTL', KEYS[1]) < wanted * 950 then redis.call('EXPIRE', KEYS[1], wanted) end
return {found[1], found[2]}
"""
"""Finds a session, and lets it live on for a request of a person.

That is a write, so it is done only after a twentieth of the time has passed.
"""


class WebSessions:
    """The log-ins of one Redis. A person who frees memory logs in first, so they have the reserve."""

    def __init__(self, connections: Connections, keys: AccessKeys, *, life_s: int, idle_s: int) -> None:
        self._connections = connections
        self._keys = keys
        self._life_s = life_s
        self._idle_s = idle_s

    @frees_memory
    def begin(self, key_text: str) -> str:
        """Begin a session of the holder of this key, which was checked. Return the session's id; it is kept nowhere."""
        key_id = key_id_of(key_text)
        if key_id is None:
            raise InvalidArgument("That is no API key.")
        session_id = secrets.token_urlsafe(_ID_BYTES)
        facts = (key_id, digest_of(key_text), self._life_s, self._idle_s)
        self._connections.send(("EVAL", _BEGIN, 1, web_keys.session(session_id), *facts))
        return session_id

    def caller(self, session_id: str, *, prolongs: bool = True) -> Caller | None:
        """Return who is logged in, as their key is now, and count a call; None if the session or the key has ended.

        Automatic requests of a page do not prolong the session.
        """
        session = self._found(session_id, prolongs=prolongs)
        return None if session is None else self._keys.admit_digest(*session)

    def still(self, session_id: str) -> Caller | None:
        """Return who is logged in, and neither count a call nor prolong the session: for streams that are open."""
        session = self._found(session_id, prolongs=False)
        return None if session is None else self._keys.caller_of(*session)

    def _found(self, session_id: str, *, prolongs: bool) -> tuple[str, str] | None:
        """Return the id and the digest of the key of a session."""
        command = ("EVAL", _FIND, 1, web_keys.session(session_id), self._idle_s, int(prolongs))
        (stored,) = self._connections.send(command)
        if not stored:
            return None
        key_id, digest = stored
        return key_id.decode(), digest.decode()

    def end(self, session_id: str) -> None:
        """End a session. Idempotent."""
        self._connections.send(("DEL", web_keys.session(session_id)))

    @frees_memory
    def clicked_before(self, click: str) -> str | None:
        """Return the stored outcome of the click with this id: empty while it is carried out, None for a new click.

        The click is stored from now on, so that only one call gets the answer None.
        """
        command = ("SET", web_keys.clicked(click), "", "NX", "GET", "EX", _CLICKED_LIFE_S)
        (before,) = self._connections.send(command)
        return None if before is None else str(before.decode())

    @frees_memory
    def remember(self, click: str, outcome: str) -> None:
        """Store the outcome of a click."""
        self._connections.send(("SET", web_keys.clicked(click), outcome, "XX", "EX", _CLICKED_LIFE_S))
