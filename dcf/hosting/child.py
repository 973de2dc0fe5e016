"""The end of a host inside a child process: a handler behind lines of JSON on standard input and output.

It imports only the standard library, so that the handler can live in any environment, also one with packages that
conflict with dcf's. One turn at a time. The handler's output goes to standard error.
"""

import asyncio
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from dcf.hosting.loading import load_handler
from dcf.hosting.protocol import (
    AgentLimited,
    AgentProfile,
    AgentTool,
    AgentWork,
    Handler,
    Json,
    ModelAnswer,
    TaskFailed,
    ToolResult,
    as_json,
)
from dcf.worker.provider_limits import read_limit

LONGEST_LINE: Final = 64 * 1024 * 1024
UNWIND_S: Final = 5.0
"""How long a turn that was cancelled may take to end."""

_UNUSABLE: Final = 2


def main(source: str, folder: str) -> None:
    """Serve the handler `source` until standard input ends: the host is gone."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    try:
        handler = load_handler(source, Path(folder))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an import raises is told to the host
        _write(out, {"unusable": f"{type(error).__name__}: {error}"})
        sys.exit(_UNUSABLE)
    _write(out, {"ready": True})
    asyncio.run(_Conversation(handler, out).serve())
    os._exit(0)  # whatever threads an SDK has left are not waited for


class _Conversation:
    """What is said over the two pipes."""

    def __init__(self, handler: Handler, out: IO[str]) -> None:
        self._handler = handler
        self._out = out
        self._writing = threading.Lock()
        self._turn: asyncio.Task[None] | None = None
        self._numbers = itertools.count(1)
        self._calls: dict[int, asyncio.Future[ToolResult]] = {}

    async def serve(self) -> None:
        """Read lines until they end, then let what runs unwind."""
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            self._heard(json.loads(line))
        if self._turn is not None:
            self._turn.cancel()
            await asyncio.wait({self._turn}, timeout=UNWIND_S)

    def _heard(self, message: Mapping[str, Json]) -> None:
        if "work" in message:
            self._turn = asyncio.create_task(self._carry_out(message))
        elif "call" in message:
            future = self._calls.pop(message["call"], None)
            if future is not None and not future.done():
                future.set_result(ToolResult(message["text"], message["is_error"]))
        elif "cancel" in message and self._turn is not None:
            self._turn.cancel()

    async def _carry_out(self, message: Mapping[str, Json]) -> None:
        work = work_from(message["work"])
        if work.traceparent:
            os.environ["TRACEPARENT"] = work.traceparent  # one turn at a time: what it starts inherits it
        tools = _ToolsOfHost(self, [AgentTool(**tool) for tool in message["tools"]])
        self.say({"turn": message["turn"], **await _outcome(self._handler, work, tools)})

    def say(self, message: Mapping[str, Json]) -> None:
        """Write a line for the host."""
        with self._writing:
            _write(self._out, message)

    async def ask(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Let the host call a tool."""
        number = next(self._numbers)
        future: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
        self._calls[number] = future
        self.say({"call": number, "tool": name, "arguments": dict(arguments)})
        try:
            return await future
        finally:
            self._calls.pop(number, None)


class _ToolsOfHost:
    """The tools of the piece of work; the host calls them."""

    def __init__(self, conversation: _Conversation, tools: Sequence[AgentTool]) -> None:
        self._conversation = conversation
        self._tools = tools

    def list(self) -> Sequence[AgentTool]:
        return self._tools

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        return await self._conversation.ask(name, arguments)

    def report_usage(self, **used: Json) -> None:
        self._conversation.say({"used": used})


async def _outcome(handler: Handler, work: AgentWork, tools: _ToolsOfHost) -> dict[str, Json]:
    """Call the handler; return the message for the host."""
    try:
        output = await handler(work, tools)
        if isinstance(output, ModelAnswer):
            return {"text": output.text, "session": output.session}
    except TaskFailed as failure:
        return {"failed": failure.error, "cause": failure.cause}
    except asyncio.CancelledError:
        return {"cancelled": True}
    except Exception as error:  # noqa: BLE001 - what a handler raises is told to the host, which tries again
        limit = read_limit(error, time.time())
        raised = {"raised": type(error).__name__, "cause": str(error)}
        return raised if limit is None else raised | {"limited": limit_to(limit)}
    try:
        as_json(output)
    except (TypeError, ValueError, RecursionError) as error:
        return {"failed": "DCF.InvalidOutput", "cause": f"The handler returned no JSON: {error}"}
    return {"output": output}


def limit_to(limit: AgentLimited) -> dict[str, Json]:
    """Return a limit as JSON."""
    return {
        "until": limit.until,
        "after_s": limit.after_s,
        "kind": limit.kind,
        "cause": limit.cause,
        "family": limit.family,
    }


def work_to(work: AgentWork) -> dict[str, Json]:
    """Return a piece of work as JSON."""
    names = [name for name in AgentWork.__dataclass_fields__ if name != "agent"]
    profile = {name: getattr(work.agent, name) for name in AgentProfile.__dataclass_fields__}
    return {name: getattr(work, name) for name in names} | {"agent": profile}


def work_from(document: Mapping[str, Any]) -> AgentWork:
    """Return the piece of work that JSON describes."""
    lists = {name: tuple(document[name]) for name in ("errors", "skills", "questions", "problems")}
    return AgentWork(**{**document, **lists, "agent": AgentProfile(**document["agent"])})


def _write(out: IO[str], message: Mapping[str, Json]) -> None:
    out.write(as_json(message) + "\n")
    out.flush()
