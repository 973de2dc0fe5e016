"""The session that a client has in a directory, and the step that it received last, for as long as its connection.

Clients that work in a directory at the same time have a session each: the first that no other has. A lock on a file
says so, which ends with the process. So a client that comes back has its session again.
"""

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dcf.values.json_text import Json

if sys.platform != "win32":
    import fcntl

_MOST: Final = 64
"""Clients of one directory at once that have a session of their own; further ones share the last."""


@dataclass(slots=True)
class ClientSession:
    """The session of a connection. `folder` has the locks; None: the clients of a directory share its session."""

    folder: Path | None = None
    _numbers: dict[Path, int] = field(default_factory=dict)
    _locks: list[int] = field(default_factory=list)
    _steps: dict[str, dict[str, Json]] = field(default_factory=dict)

    def id_in(self, root: Path) -> str:
        """Return the id of its session in a directory.

        Until the client has received a step, it may take over a session that became free: its own, from before.
        """
        if self._numbers.get(root, 0) > 0 and not self._steps:
            self.close()
        if root not in self._numbers:
            self._numbers[root] = self._first_free(root)
        number = self._numbers[root]
        return _digest(str(root) if number == 0 else f"{root}\n{number}")[:8]

    def is_alone_in(self, root: Path) -> bool:
        """Return False while another client has a session of a directory."""
        own = self._numbers.get(root)
        paths = [self._path(root, number) for number in range(_MOST) if number != own]
        others = ClientSession(self.folder)
        try:
            return all(others._takes(path) for path in paths if path is not None and path.exists())
        except OSError:
            return True
        finally:
            others.close()

    def last_step(self, session: str) -> dict[str, Json] | None:
        """Return the step of the last answer that the client has."""
        return self._steps.get(session)

    def note(self, session: str, answer: Mapping[str, Any]) -> None:
        """Note the step of an answer."""
        begun, run = answer.get("begin_step"), answer.get("workflow_id")
        if isinstance(begun, Mapping) and run is not None:
            self._steps[session] = {"workflow_id": run, "step_id": begun["step_id"]}

    def close(self) -> None:
        """Leave the sessions to the next clients."""
        while self._locks:
            os.close(self._locks.pop())
        self._numbers.clear()

    def _first_free(self, root: Path) -> int:
        try:
            for number in range(_MOST):
                path = self._path(root, number)
                if path is None:
                    return 0
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if self._takes(path):
                    return number
        except OSError:  # without a place for locks there is one session
            return 0
        return _MOST - 1

    def _path(self, root: Path, number: int) -> Path | None:
        return None if self.folder is None else self.folder / f"{_digest(str(root))[:32]}-{number}.lock"

    def _takes(self, path: Path) -> bool:
        """Take a lock, and return whether that was possible."""
        if sys.platform == "win32":
            return True
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._locks.append(file)
        return True


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
