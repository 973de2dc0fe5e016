"""Handlers in child processes, seen from the host: one turn at a time each, started again when one has died.

A child is told to cancel a turn, and killed with everything it started if the turn does not end in time.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from dcf.data import PACKAGE
from dcf.errors import DcfError, InvalidArgument
from dcf.hosting.child import LONGEST_LINE, UNWIND_S, work_to
from dcf.hosting.protocol import AgentLimited, AgentTools, AgentWork, Json, ModelAnswer, TaskFailed, ToolResult, as_json
from dcf.values.records import record

log = logging.getLogger(__name__)

_BEGIN: Final = """\
import importlib.util, sys
place, source, folder = sys.argv[1:]
spec = importlib.util.spec_from_file_location("dcf", place + "/__init__.py", submodule_search_locations=[place])
module = sys.modules["dcf"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from dcf.hosting.child import main
main(source, folder)
"""
"""Makes only the package dcf known to the child, not other installed packages: their versions may not fit."""

_START_S: Final = 60.0
"""How long a child may take to import its SDK."""


class ChildDied(DcfError):
    """The process of a handler ended, or sent an unknown message."""

    code = "child_died"
    default_hint = "It is started again. See what it printed."


class HandlerRaised(DcfError):
    """A handler in a child process raised something else than TaskFailed; `name` is its class."""

    code = "handler_raised"
    default_hint = "The turn is tried again. See what it printed."

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(cause)
        self.name = name


@record(frozen=True, slots=True, kw_only=True)
class ChildCommand:
    """How a child is started: which Python, which handler, the folder of the agents file, and its environment."""

    source: str
    folder: Path
    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def start(self) -> "HandlerProcess":
        """Start a child and wait until its handler is imported; raise InvalidArgument if it cannot be."""
        arguments = (str(PACKAGE), self.source, str(self.folder))
        try:
            process = await asyncio.create_subprocess_exec(
                self.python,
                *("-P", "-c", _BEGIN, *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                env=dict(self.environment),
                cwd=self.folder,
                start_new_session=True,
            )
        except OSError as error:
            raise InvalidArgument(f"{self.python} cannot be started: {error.strerror}.", "Correct `python`.") from None
        child = HandlerProcess(process)
        try:
            hello = await asyncio.wait_for(child.hear(), _START_S)
        except BaseException:
            child.kill()
            raise
        if "unusable" in hello:
            await child.close()
            raise InvalidArgument(
                f"The handler {self.source} cannot be imported by {self.python}: {hello['unusable']}",
                "Install what it needs there, or set `python` to an environment that has it.",
            )
        return child


class HandlerProcess:
    """A child process that has imported its handler."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._turns = 0
        self._is_killed = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """True as long as the process runs and was not killed."""
        return self._process.returncode is None and not self._is_killed

    async def turn(self, work: AgentWork, tools: AgentTools) -> Json | ModelAnswer:
        """Let the child work; return the output or what a model said.

        If this is cancelled, the child gets a message, and is killed if the turn does not end.
        """
        self._turns += 1
        offered = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters}
                   for tool in tools.list()]  # fmt: skip
        self._say({"turn": self._turns, "work": work_to(work), "tools": offered})
        calls: set[asyncio.Task[None]] = set()
        try:
            return _result(await self._until_the_end(tools, calls))
        except asyncio.CancelledError:
            await self._cancel()
            raise
        finally:
            for call in calls:
                call.cancel()

    async def _until_the_end(self, tools: AgentTools, calls: set[asyncio.Task[None]]) -> Mapping[str, Json]:
        while True:
            message = await self.hear()
            if "call" in message:
                calls.add(task := asyncio.create_task(self._call(tools, message)))
                task.add_done_callback(calls.discard)
            elif "used" in message:
                tools.report_usage(**message["used"])
            elif message.get("turn") == self._turns:
                return message

    async def _call(self, tools: AgentTools, message: Mapping[str, Json]) -> None:
        try:
            result = await tools.call(message["tool"], message["arguments"])
        except Exception as error:
            log.warning("the tool %s broke", message["tool"], exc_info=error)
            result = ToolResult(f"The tool broke ({type(error).__name__}).", is_error=True)
        self._say({"call": message["call"], "text": result.text, "is_error": result.is_error})

    async def _cancel(self) -> None:
        self._say({"cancel": self._turns})
        try:
            async with asyncio.timeout(UNWIND_S + 1):
                while (await self.hear()).get("turn") != self._turns:
                    pass
        except (TimeoutError, ChildDied):
            self.kill()

    def _say(self, message: Mapping[str, Json]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, RuntimeError):  # its end is noticed where it is read
            self._process.stdin.write(as_json(message).encode(errors="backslashreplace") + b"\n")

    async def hear(self) -> dict[str, Json]:
        """Return the next thing the child says; raise ChildDied at its end."""
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readline()
            if line:
                message: dict[str, Any] = json.loads(line)
                return message
        except ValueError:
            self.kill()
        code = await self._process.wait()
        self.kill()
        raise ChildDied(f"The process of the handler ended ({_manner(code)}).")

    async def close(self) -> None:
        """Wait until the child ends, or kill it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), UNWIND_S + 1)
        except TimeoutError:
            log.warning("the process of a handler does not end and is killed")
        self.kill()

    def kill(self) -> None:
        """Kill the child and everything that it started."""
        self._is_killed = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


class ChildHandler:
    """A handler that is carried out by child processes, which agents may share: as many as turns run at a time."""

    def __init__(self, command: ChildCommand) -> None:
        self._command = command
        self._idle: list[HandlerProcess] = []
        self._all: set[HandlerProcess] = set()

    async def begin(self) -> None:
        """Start the first child; raise InvalidArgument if its handler cannot be imported."""
        self._idle.append(await self._start())

    async def __call__(self, work: AgentWork, tools: AgentTools) -> Json | ModelAnswer:
        """Work in a child process that is free, or in a new one."""
        child = await self._free()
        try:
            return await child.turn(work, tools)
        finally:
            if child.is_alive:
                self._idle.append(child)
            else:
                self._all.discard(child)

    async def close(self) -> None:
        """End every child."""
        await asyncio.gather(*(child.close() for child in self._all))

    @property
    def pids(self) -> Sequence[int]:
        """The process ids of the children."""
        return [child.pid for child in self._all]

    async def _free(self) -> HandlerProcess:
        while self._idle:
            child = self._idle.pop()
            if child.is_alive:
                return child
            self._all.discard(child)
        return await self._start()

    async def _start(self) -> HandlerProcess:
        child = await self._command.start()
        self._all.add(child)
        return child


def _result(message: Mapping[str, Json]) -> Json | ModelAnswer:
    if "text" in message:
        return ModelAnswer(message["text"], message["session"])
    if "failed" in message:
        raise TaskFailed(message["failed"], message["cause"])
    if "limited" in message:
        raise AgentLimited(**message["limited"])
    if "output" not in message:
        raise HandlerRaised(
            message.get("raised", "CancelledError"), message.get("cause", "the handler cancelled itself")
        )
    return message["output"]


def _manner(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
