"""`dcf web` as a process that can be killed and started again on the same port."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self

from dcf.application.application import Application
from tests.support.redis.servers import free_port, listens_http
from tests.support.waiting import wait_until


@dataclass
class ServedPage:
    """The page of a control plane, in a process of its own."""

    application: Application
    command: tuple[str, ...] = ("web",)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self.kill)
            self.start()
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Serve, on the same port each time."""
        command = [sys.executable, "-m", "dcf", *self.command, "--auth", "off", "--port", str(self.port)]
        url = self.application.redis_url
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "REDIS_URL": url}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        wait_until(lambda: listens_http(self.port))

    def kill(self) -> None:
        """End the process without a word."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)

    def stop(self) -> int:
        """Ask the process to end; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)
