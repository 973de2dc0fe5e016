"""A model server on loopback whose model is a function: Anthropic Messages, OpenAI chat completions and Responses.

Each plain and as a stream. It keeps no state of conversations: the mind sees the content of a request alone. It
can be taken away and put back at the same port.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.support.redis.servers import free_port
from tests.system.hosting import model_replies

Json = Any

OURS: Final = "Your last message is the result of the task"
"""Words of dcf's system prompt; other requests of a client are answered with a word."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """The model's answer: a text, or calls of tools by name; or an HTTP status that is an error."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Json]], ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A call that the model made, with what it answered."""

    tool: str
    arguments: Mapping[str, Json]
    text: str

    @property
    def answer(self) -> Json:
        return json.loads(self.text)


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A request as the mind sees it: `uses` are those since the last prompt."""

    system: str
    prompts: tuple[str, ...]
    uses: tuple[ToolUse, ...]
    tools: tuple[str, ...]
    api: str

    @property
    def state(self) -> str:
        """The name of the Task, in whichever prompt it stands."""
        return self._task.partition("'")[0]

    @property
    def given(self) -> Json:
        """The input of the Task."""
        return json.loads(self._task.partition("Its input:\n")[2].partition("\n")[0])

    @property
    def _task(self) -> str:
        return next(text for text in self.prompts if "The task is '" in text).partition("The task is '")[2]

    def use(self, tool: str, **arguments: Json) -> Said:
        """Call the offered tool whose name ends so."""
        (name,) = [name for name in self.tools if name.endswith(tool)]
        return Said(calls=((name, arguments),))

    def of(self, tool: str) -> list[ToolUse]:
        return [use for use in self.uses if use.tool.endswith(tool)]


Mind = Callable[[Heard], Said]


@dataclass(kw_only=True)
class ModelServer:
    """The server; `requests` are those that were for dcf's turns, in the order of their arrival."""

    mind: Mind
    port: int = field(default_factory=free_port)
    requests: list[Heard] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._server = _HttpServer(("127.0.0.1", self.port), _handler_for(self))
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Go away: connections are refused until it is started again."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, api: str, body: Mapping[str, Json]) -> Said:
        heard = heard_in(api, body)
        if OURS not in heard.system and not any(OURS in text for text in heard.prompts):
            return Said(text="ok")
        self.requests.append(heard)
        return self.mind(heard)


@contextmanager
def model_server(mind: Mind) -> Iterator[ModelServer]:
    server = ModelServer(mind=mind)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that were killed."""


def _handler_for(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._send(200, "application/json", json.dumps({"input_tokens": 1}).encode())
                return
            api = next(name for name in model_replies.APIS if path.endswith(name))
            answer = server.answer(api, body)
            if answer.status != 200:
                error = {"type": "error", "error": {"type": "api_error", "message": "The model is not well."}}
                self._send(answer.status, "application/json", json.dumps(error).encode(), answer.headers)
            elif body.get("stream"):
                self._send(200, "text/event-stream", model_replies.streamed(api, body, answer.text, answer.calls))
            else:
                reply = model_replies.plain(api, body, answer.text, answer.calls)
                self._send(200, "application/json", json.dumps(reply).encode())

        def do_GET(self) -> None:
            self._send(200, "application/json", b"{}")

        do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

        def _send(self, status: int, kind: str, content: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


def heard_in(api: str, body: Mapping[str, Json]) -> Heard:
    """Read a request of any of the three APIs."""
    system, turns = _READERS[api](body)
    prompts = tuple(text for kind, text, _ in turns if kind == "user")
    last = max((at for at, turn in enumerate(turns) if turn[0] == "user"), default=0)
    results = {key: text for kind, text, key in turns if kind == "result"}
    uses = tuple(
        ToolUse(tool=text, arguments=key[1], text=results[key[0]])
        for kind, text, key in turns[last:]
        if kind == "call" and key[0] in results
    )
    tools = tuple(
        tool["function"]["name"] if "function" in tool else tool.get("name", "") for tool in body.get("tools") or ()
    )
    return Heard(system=system, prompts=prompts, uses=uses, tools=tools, api=api)


_Turn = tuple[str, str, Any]
"""Kind (user, call, result), text or name, and the id of the call; of a call with its arguments."""


def _messages(body: Mapping[str, Json]) -> tuple[str, list[_Turn]]:
    turns: list[_Turn] = []
    for message in body["messages"]:
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        turns += [
            ("call", block["name"], (block["id"], block["input"])) for block in blocks if block["type"] == "tool_use"
        ]
        results = [block for block in blocks if block["type"] == "tool_result"]
        turns += [("result", _text(block.get("content", "")), block["tool_use_id"]) for block in results]
        if message["role"] == "user" and texts and not results:
            turns.append(("user", "\n".join(texts), None))
    return _text(body.get("system") or ""), turns


def _chat(body: Mapping[str, Json]) -> tuple[str, list[_Turn]]:
    turns: list[_Turn] = []
    system = []
    for message in body["messages"]:
        role, text = message["role"], _text(message.get("content") or "")
        if role in {"system", "developer"}:
            system.append(text)
        elif role == "user":
            turns.append(("user", text, None))
        elif role == "tool":
            turns.append(("result", text, message["tool_call_id"]))
        for call in message.get("tool_calls") or ():
            function = call["function"]
            turns.append(("call", function["name"], (call["id"], json.loads(function["arguments"] or "{}"))))
    return "\n".join(system), turns


def _responses(body: Mapping[str, Json]) -> tuple[str, list[_Turn]]:
    turns: list[_Turn] = []
    system = [body.get("instructions") or ""]
    items = body["input"]
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        kind = item.get("type", "message")
        if kind == "function_call":
            turns.append(("call", item["name"], (item["call_id"], json.loads(item["arguments"] or "{}"))))
        elif kind == "function_call_output":
            turns.append(("result", _text(item["output"]), item["call_id"]))
        elif item.get("role") == "user":
            turns.append(("user", _text(item["content"]), None))
        elif item.get("role") in {"system", "developer"}:
            system.append(_text(item["content"]))
    return "\n".join(system), turns


_READERS: Final = {"/messages": _messages, "/chat/completions": _chat, "/responses": _responses}


def _text(content: str | Sequence[Mapping[str, Json]]) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
