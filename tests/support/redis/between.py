"""A pool that puts something between dcf and Redis: it sees each packet that is sent, and each reply."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from dcf.store.connection.connections import Pool

Sending: TypeAlias = Callable[[bytes], bytes]
"""Returns the packet to send in place of one."""

Replied: TypeAlias = Callable[[Any], Any]
"""Returns the reply to give in place of one."""

_CHANGED: Final = ("send_packed_command", "read_response", "arrived")
"""Methods of a connection that are put between; dcf reads the replies of a packet with the last one."""


class PoolBetween:
    """The common part of all such pools; `between` of a pool says what it puts between."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._own: dict[Any, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def between(self) -> tuple[Sending, Replied]:
        """Return what to put between, for one use of a connection."""
        raise NotImplementedError

    def get_connection(self) -> Any:
        """Return an open connection with something put between."""
        connection = self._pool.get_connection()
        own = {name: getattr(connection, name) for name in _CHANGED if hasattr(connection, name)}
        self._own[connection] = {name: method for name, method in own.items() if name in vars(connection)}
        sending, replied = self.between()

        def send(command: list[bytes], check_health: bool = True) -> None:
            own["send_packed_command"]([sending(b"".join(command))], check_health=check_health)

        connection.send_packed_command = send
        connection.read_response = lambda *arguments, **options: replied(own["read_response"](*arguments, **options))
        if "arrived" in own:
            connection.arrived = lambda most: [replied(reply) for reply in own["arrived"](most)]
        return connection

    def release(self, connection: Any) -> None:
        """Return a connection to the pool, as it was."""
        for name in _CHANGED:
            vars(connection).pop(name, None)
        vars(connection).update(self._own.pop(connection, {}))
        self._pool.release(connection)

    def disconnect(self) -> None:
        """Close every connection."""
        self._pool.disconnect()
