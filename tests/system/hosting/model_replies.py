"""Replies of a model server, by API: a reply with a text and calls of tools, plain or as server-sent events."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

Json = Any
Calls = Sequence[tuple[str, Mapping[str, Json]]]

_NUMBERS = itertools.count(1)

APIS: Final = ("/messages", "/chat/completions", "/responses")


def plain(api: str, body: Mapping[str, Json], text: str, calls: Calls) -> dict[str, Json]:
    return _PLAIN[api](str(body.get("model")), text, calls)


def streamed(api: str, body: Mapping[str, Json], text: str, calls: Calls) -> bytes:
    reply = plain(api, body, text, calls)
    return b"".join(line.encode() for line in _STREAMED[api](reply))


def _id(prefix: str) -> str:
    return f"{prefix}_{next(_NUMBERS):06}"


def _message(model: str, text: str, calls: Calls) -> dict[str, Json]:
    content: list[Json] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": _id("toolu"), "name": name, "input": dict(value)} for name, value in calls]
    return {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _completion(model: str, text: str, calls: Calls) -> dict[str, Json]:
    tool_calls = [
        {"id": _id("call"), "type": "function", "function": {"name": name, "arguments": json.dumps(value)}}
        for name, value in calls
    ]
    message = {"role": "assistant", "content": text or None} | ({"tool_calls": tool_calls} if tool_calls else {})
    return {
        "id": _id("chatcmpl"),
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if tool_calls else "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _response(model: str, text: str, calls: Calls) -> dict[str, Json]:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": [part]}
    request = [
        {
            "type": "function_call",
            "id": _id("fc"),
            "call_id": _id("call"),
            "name": name,
            "arguments": json.dumps(value),
            "status": "completed",
        }
        for name, value in calls
    ]
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "completed",
        "output": [*([message] if text else []), *request],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2} | details,
    }


def _message_events(reply: dict[str, Json]) -> Iterator[str]:
    yield _event({"type": "message_start", "message": reply | {"content": [], "stop_reason": None}})
    for at, block in enumerate(reply["content"]):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event({"type": "content_block_start", "index": at, "content_block": start})
        yield _event({"type": "content_block_delta", "index": at, "delta": delta})
        yield _event({"type": "content_block_stop", "index": at})
    ended = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}})
    yield _event({"type": "message_stop"})


def _completion_events(reply: dict[str, Json]) -> Iterator[str]:
    shared = {name: reply[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    (choice,) = reply["choices"]
    delta = dict(choice["message"])
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(delta["tool_calls"])]
    for change, reason in ((delta, None), ({}, choice["finish_reason"])):
        yield _data(shared | {"choices": [{"index": 0, "delta": change, "finish_reason": reason}]})
    yield _data(shared | {"choices": [], "usage": reply["usage"]})
    yield "data: [DONE]\n\n"


def _response_events(reply: dict[str, Json]) -> Iterator[str]:
    yield _event(
        {"type": "response.created", "response": reply | {"output": [], "status": "in_progress"}, "sequence_number": 0}
    )
    for at, item in enumerate(reply["output"]):
        yield _event({"type": "response.output_item.done", "output_index": at, "item": item, "sequence_number": at + 1})
    last = len(reply["output"]) + 1
    yield _event({"type": "response.completed", "response": reply, "sequence_number": last})


def _event(document: dict[str, Json]) -> str:
    return f"event: {document['type']}\n{_data(document)}"


def _data(document: dict[str, Json]) -> str:
    return f"data: {json.dumps(document)}\n\n"


_PLAIN: Final[Mapping[str, Callable[[str, str, Calls], dict[str, Json]]]] = {
    "/messages": _message,
    "/chat/completions": _completion,
    "/responses": _response,
}
_STREAMED: Final[Mapping[str, Callable[[dict[str, Json]], Iterator[str]]]] = {
    "/messages": _message_events,
    "/chat/completions": _completion_events,
    "/responses": _response_events,
}
