"""A scripted language model behind OpenAI's chat API: what it answers is decided by Python functions, never by chance.

A mind decides the next step of a conversation and answers with tool calls or with text; it keeps no state, so many
agents, restarts and retries can share one. The first mind that has an answer gives it; with none the answer is "ok".
"""

import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = Any
NAME = "scripted"
HANDLE = f"openai-proxy/{NAME}"
"""Letta's name for the model of the endpoint that OPENAI_BASE_URL names."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a tool since the last message. `answer` is the JSON object in it, if there is one."""

    tool: str
    text: str
    arguments: Mapping[str, Json] = field(default_factory=dict)

    @property
    def answer(self) -> dict[str, Json]:
        return json_in(self.text)

    @property
    def is_lost(self) -> bool:
        """Whether the call never reached its tool: Letta says that it failed, and no tool says why.

        It makes a client for the model per call and never closes it; a late close ends a connection to an MCP server
        that got the same file descriptor (measured).
        """
        answer = self.answer
        return not answer or (answer.get("status") == "Failed" and "code" not in answer)


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The view of the model: the system prompt, the last message, the results since, and the tools on offer.

    `lost` are results at the end that say nothing, so that the call before them is to be made again.
    """

    system: str
    message: str
    results: tuple[Result, ...]
    tools: tuple[str, ...]
    lost: tuple[Result, ...] = ()

    @property
    def event(self) -> dict[str, Json]:
        """The JSON object in the last message."""
        return json_in(self.message)

    def last(self, tool: str) -> dict[str, Json]:
        """The latest answer of this tool; empty when it was not called."""
        return next((result.answer for result in reversed(self.results) if result.tool == tool), {})

    def called(self, tool: str) -> int:
        return sum(result.tool == tool for result in self.results)


@dataclass(frozen=True, kw_only=True)
class Call:
    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Tool calls, or a text that ends the agent's turn, or an HTTP error; after `delay_s` seconds."""

    calls: tuple[Call, ...] = ()
    text: str | None = None
    error: int | None = None
    delay_s: float = 0.0


Mind = Callable[[Conversation], Reply | None]


@dataclass(frozen=True, kw_only=True)
class Exchange:
    conversation: Conversation
    reply: Reply


class ScriptedModel:
    """The model's server. `minds` may be changed while it runs; `log` holds every exchange, oldest first."""

    def __init__(self) -> None:
        self.minds: list[Mind] = []
        self.log: list[Exchange] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def story(self) -> Iterator[str]:
        """The exchanges, a line for each."""
        for exchange in list(self.log):
            seen, reply = exchange.conversation, exchange.reply
            text = seen.results[-1].text[:600] if seen.results else seen.message[:300]
            yield f"{text}\n    -> {[call.tool for call in reply.calls] or reply.text or reply.error}"

    def reply(self, conversation: Conversation) -> Reply:
        replies = (mind(conversation) for mind in list(self.minds))
        result = next((reply for reply in replies if reply is not None), Reply(text="ok"))
        with self._lock:
            self.log.append(Exchange(conversation=conversation, reply=result))
        time.sleep(result.delay_s)  # a model that thinks
        return result


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    model = ScriptedModel()
    thread = threading.Thread(target=model.serve, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.close()
        thread.join()


def json_in(text: str) -> dict[str, Json]:
    """The JSON object in a text, out of the wrapping in which Letta hands over tool results."""
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = json.JSONDecoder().raw_decode(text[start:])
        except ValueError:
            start = text.find("{", start + 1)
            continue
        if value.keys() >= {"status", "message"} and isinstance(value["message"], str) and "{" in value["message"]:
            return json_in(value["message"])
        result: dict[str, Json] = value
        return result
    return {}


def read_conversation(body: Mapping[str, Json]) -> Conversation:
    system, message = "", ""
    results: list[Result] = []
    request: dict[str, tuple[str, Json]] = {}
    for turn in body["messages"]:
        role, text = turn["role"], _text(turn.get("content"))
        if role in {"system", "developer"} and not system:
            system = text
        elif role in {"user", "system", "developer"}:
            message, results = text, []
        elif role == "assistant":
            calls = turn.get("tool_calls") or []
            request |= {call["id"]: _asked(call["function"]) for call in calls}
        elif role == "tool":
            name, arguments = request.get(turn["tool_call_id"], ("", {}))
            results.append(Result(tool=name, text=text, arguments=arguments))
    offered = tuple(tool["function"]["name"] for tool in body.get("tools") or ())
    heard = tuple(result for result in results if not result.is_lost)
    lost = tuple(itertools.takewhile(lambda result: result.is_lost, reversed(results)))
    return Conversation(system=system, message=message, results=heard, tools=offered, lost=lost)


def write_completion(reply: Reply) -> dict[str, Json]:
    message: dict[str, Json] = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [_written(call) for call in reply.calls]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if reply.calls else "stop",
        "logprobs": None,
    }
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": NAME,
        "usage": {"prompt_tokens": 8, "completion_tokens": 8, "total_tokens": 16},
        "choices": [choice],
    }


def _text(content: Json) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _asked(function: Mapping[str, Json]) -> tuple[str, Json]:
    return function["name"], json.loads(function.get("arguments") or "{}")


def _written(call: Call) -> dict[str, Json]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # Letta closes its clients late: no connection is there for it to mistake
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            entry = {"id": NAME, "object": "model", "created": 0, "owned_by": "tests"}
            self._send({"object": "list", "data": [entry]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = model.reply(read_conversation(body))
            if reply.error is not None:
                self._send({"error": {"message": "scripted failure", "type": "test", "code": None}}, reply.error)
            else:
                self._send(write_completion(reply))

        def _send(self, value: Json, status: int = 200) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def say(text: str, *, delay_s: float = 0.0) -> Reply:
    return Reply(text=text, delay_s=delay_s)


def use(tool: str, **arguments: Json) -> Reply:
    return Reply(calls=(Call(tool=tool, arguments=arguments),))
