"""A TCP proxy in front of a real server that can lose a request, lose its reply, or hold it back.

Works in lock step (a packet of commands, then all its replies), as dcf's protocol does.
"""

import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import hiredis

from tests.support.redis.fake_redis import Command


class Fault(Enum):
    CUT_BEFORE = "the connection breaks before the command reaches the server"
    LOSE_REPLY = "the server executes it, then the connection breaks"
    STALL = "the server executes it and is not heard of again, while the connection stays open"
    HOLD = "the command waits while the test does something else"


@dataclass(slots=True, kw_only=True)
class Plan:
    """`command` None is any; this number of packets with it pass before."""

    command: bytes | None
    fault: Fault
    meanwhile: Callable[[], object] | None = None
    before: int = 0

    def is_due(self, commands: list[Command]) -> bool:
        if self.command is not None and all(command[0] != self.command for command in commands):
            return False
        self.before -= 1
        return self.before < 0


class Proxy:
    """Listens on a loopback port; `url` leads through it to the server's unix socket, with this user:password."""

    def __init__(self, server_socket: Path, login: str) -> None:
        self._target = str(server_socket)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._plans: deque[Plan] = deque()
        self._open: set[socket.socket] = set()
        self.url = f"redis://{login}@127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def plan(
        self,
        fault: Fault,
        command: str | None = "EXEC",
        meanwhile: Callable[[], object] | None = None,
        *,
        before: int = 0,
    ) -> None:
        """The next time this command comes by, this happens to it, once; `meanwhile` is run at that moment."""
        name = None if command is None else command.encode()
        self._plans.append(Plan(command=name, fault=fault, meanwhile=meanwhile, before=before))

    def lead_to(self, server_socket: Path) -> None:
        """Lead new connections to another server."""
        self._target = str(server_socket)

    def break_all(self) -> None:
        """Break all connections; new connections lead to the proxy's present server."""
        for open_socket in list(self._open):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    @property
    def is_spent(self) -> bool:
        """Every planned fault has happened."""
        return not self._plans

    def stop_listening(self) -> None:
        """Refuse new connections from now on; open connections stay."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_listening()
        self._thread.join()
        self.break_all()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            self._open.add(client)
            try:
                server.connect(self._target)
                self._relay(client, server)
            finally:
                self._open.discard(client)

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        requests, packet = hiredis.Reader(), b""
        while data := client.recv(1 << 16):
            requests.feed(data)
            packet += data
            commands: list[Command] = []
            while (gets := requests.gets()) is not False:
                commands.append(tuple(gets))
            if requests.has_data() or not commands:
                continue
            if not self._forward(commands, packet, client, server):
                return
            packet = b""

    def _forward(self, commands: list[Command], packet: bytes, client: socket.socket, server: socket.socket) -> bool:
        plan = self._due(commands)
        if plan is not None and plan.meanwhile is not None and plan.fault is not Fault.LOSE_REPLY:
            plan.meanwhile()
        if plan is not None and plan.fault is Fault.CUT_BEFORE:
            return False
        server.sendall(packet)
        replies = _replies(server, len(commands))
        if plan is not None and plan.fault is Fault.LOSE_REPLY:
            if plan.meanwhile is not None:
                plan.meanwhile()
            return False
        if plan is not None and plan.fault is Fault.STALL:
            client.recv(1)  # until the client gives up
            return False
        client.sendall(replies)
        return True

    def _due(self, commands: list[Command]) -> Plan | None:
        return self._plans.popleft() if self._plans and self._plans[0].is_due(commands) else None


def _replies(server: socket.socket, count: int) -> bytes:
    reader, raw = hiredis.Reader(), b""
    while count:
        data = server.recv(1 << 16)
        if not data:
            raise ConnectionResetError
        raw += data
        reader.feed(data)
        while count and _complete(reader.gets()):
            count -= 1
    return raw


def _complete(reply: Any) -> bool:
    return reply is not False
