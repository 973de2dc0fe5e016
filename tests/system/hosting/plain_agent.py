"""An agent without an SDK: it asks a chat-completions model over plain HTTP, calls the tools it wants, and answers."""

import asyncio
import json
import os
import urllib.request
from pathlib import Path
from typing import Any

from dcf.hosting.prompts import system_prompt, user_prompt
from dcf.hosting.protocol import AgentTools, AgentWork, ModelAnswer


async def handle(work: AgentWork, tools: AgentTools) -> ModelAnswer:
    offered = [
        {
            "type": "function",
            "function": {"name": item.name, "description": item.description, "parameters": item.parameters},
        }
        for item in tools.list()
    ]
    messages: list[dict[str, Any]] = json.loads(work.session) if work.session else [system(work)]
    messages.append({"role": "user", "content": user_prompt(work)})
    for _ in range(work.agent.max_turns):
        body = {"model": work.agent.model, "messages": messages, "tools": offered}
        document, used = await asyncio.to_thread(ask, work.agent.base_url, body)
        tools.report_usage(tokens_in=used["prompt_tokens"], tokens_out=used["completion_tokens"])
        messages.append(document)
        note(work)
        for call in document.get("tool_calls") or ():
            function = call["function"]
            result = await tools.call(function["name"], json.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result.text})
        if not document.get("tool_calls"):
            return ModelAnswer(document["content"], json.dumps(messages))
    raise RuntimeError("it asked too often")


def system(work: AgentWork) -> dict[str, Any]:
    return {"role": "system", "content": system_prompt(work)}


def ask(base_url: str, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    request = urllib.request.Request(f"{base_url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=90) as answer:
        document: dict[str, Any] = json.load(answer)
        return document["choices"][0]["message"], document["usage"]


def note(work: AgentWork) -> None:
    """Leave the id of this process where a test looks for it."""
    folder = work.agent.options.get("notes")
    if folder is not None:
        (Path(folder) / f"{work.state}.pid").write_text(str(os.getpid()))
