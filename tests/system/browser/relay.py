"""A relay between a browser and a server whose connections a test cuts, while the server stays up."""

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self


@dataclass
class Relay:
    """Passes bytes both ways between clients of `origin` and a port of this machine."""

    port: int
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    _open: set[socket.socket] = field(default_factory=set)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self) -> int:
        """Cut every connection, in the middle of whatever it carries; how many there were."""
        result = list(self._open)
        for item in result:
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
        return len(result) // 2

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            self._open |= {client, server}
            for first, other in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(first, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        for item in (source, target):
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
        self._open.discard(source)
        source.close()
