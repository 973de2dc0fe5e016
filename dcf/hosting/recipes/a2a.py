"""A2A: the agent is elsewhere and speaks the Agent2Agent protocol; `base_url` is where its agent card is.

It gets the instructions, the input and the schema of the output as one message. Its task is polled until it ends, so
that no connection needs to last. The task is cancelled when the work is lost. `headers` of the options go with each
request. It is not called anywhere else than where its card was read. The tools of the host do not reach it. The `usage`
in the metadata of its task, of the last message in it or of its answer is what it used up.
"""

import asyncio
import json
import uuid
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_data_parts, get_text_parts
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskState,
)
from google.protobuf.json_format import MessageToDict

from dcf.hosting.prompts import system_prompt, user_prompt
from dcf.hosting.protocol import AgentTools, AgentWork, ModelAnswer, TaskFailed
from dcf.values.whole_numbers import with_whole_numbers

_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0
_ANSWER_S: Final = 600.0
"""Seconds that an agent may take which answers with a message in place of a task."""
_CANCEL_S: Final = 3.0

_UNDER_WAY: Final = frozenset({TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING})
_FAILURES: Final = {
    TaskState.TASK_STATE_FAILED: "DCF.AgentFailed",
    TaskState.TASK_STATE_REJECTED: "DCF.AgentRejected",
    TaskState.TASK_STATE_CANCELED: "DCF.AgentCanceled",
    TaskState.TASK_STATE_INPUT_REQUIRED: "DCF.InputRequired",
    TaskState.TASK_STATE_AUTH_REQUIRED: "DCF.InputRequired",
}
"""The error of a failed state. An agent that asks a question fails the state: there is no one to answer."""


async def handle(work: AgentWork, tools: AgentTools) -> ModelAnswer:
    """Have the remote agent do the work; its conversation is what it is resumed by."""
    headers = {str(name): str(text) for name, text in (work.agent.options.get("headers") or {}).items()}
    timeout = httpx.Timeout(30, read=_ANSWER_S)
    async with httpx.AsyncClient(headers=headers, timeout=timeout, trust_env=False) as http:
        card = await A2ACardResolver(http, work.agent.base_url).get_agent_card()
        _refuse_elsewhere(card, work.agent.base_url)
        client = ClientFactory(ClientConfig(streaming=False, polling=True, httpx_client=http)).create(card)
        return await _ask(client, work, tools)


def _refuse_elsewhere(card: AgentCard, base_url: str) -> None:
    """Raise unless the agent is where its card is: headers with secrets must not follow a card to another host."""
    home = urlsplit(base_url)
    for interface in card.supported_interfaces:
        place = urlsplit(interface.url)
        if (place.scheme, place.netloc) != (home.scheme, home.netloc):
            raise TaskFailed("DCF.AgentElsewhere", f"The agent card of {home.netloc} names another host.")


async def _ask(client: Client, work: AgentWork, tools: AgentTools) -> ModelAnswer:
    reply = SendMessageRequest(message=_message(work))
    task: Task | None = None
    try:
        async for response in client.send_message(reply):
            if response.HasField("message"):
                _report(tools, response.message)
                return _answer(response.message.parts, response.message.context_id)
            task = response.task
        if task is None:
            raise ConnectionError("the agent answered with neither a task nor a message")
        return await _ended(client, task, tools)
    except asyncio.CancelledError:
        if task is not None:
            await _cancel(client, task.id)
        raise


async def _ended(client: Client, task: Task, tools: AgentTools) -> ModelAnswer:
    """Ask after a task until it has ended; return what it made."""
    pause = _FIRST_PAUSE_S
    while task.status.state in _UNDER_WAY:
        await asyncio.sleep(pause)
        pause = min(1.5 * pause, _LONGEST_PAUSE_S)
        task = await client.get_task(GetTaskRequest(id=task.id))
    _report(tools, task, task.status.message)
    if task.status.state == TaskState.TASK_STATE_COMPLETED:
        parts = [part for artifact in task.artifacts for part in artifact.parts]
        return _answer(parts or task.status.message.parts, task.context_id)
    if _FAILURES.get(task.status.state) == "DCF.InputRequired":
        await _cancel(client, task.id)
    raise _failure(task)


def _report(tools: AgentTools, *sources: Task | Message) -> None:
    """Report what the remote agent used: the first of these that tells it has the sums of the whole task."""
    every = (with_whole_numbers(MessageToDict(source.metadata)).get("usage") for source in sources)
    used = next((used for used in every if isinstance(used, dict)), None)
    if used is not None:
        tools.report_usage(**used)


async def _cancel(client: Client, task_id: str) -> None:
    """Tell the agent to stop, as well as that goes."""
    try:
        async with asyncio.timeout(_CANCEL_S):
            await client.cancel_task(CancelTaskRequest(id=task_id))
    except (Exception, asyncio.CancelledError):  # noqa: BLE001, S110 - what ends the work is told by the caller
        pass


def _message(work: AgentWork) -> Message:
    text = f"{system_prompt(work)}\n\n{user_prompt(work)}"
    return Message(
        message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], context_id=work.session or ""
    )


def _answer(parts: Sequence[Part], context_id: str) -> ModelAnswer:
    """Return what an agent made: its data if there is some, else its texts."""
    data = [with_whole_numbers(part) for part in get_data_parts(parts)]
    if data:
        return ModelAnswer(json.dumps(data[0] if len(data) == 1 else data, allow_nan=False), context_id)
    return ModelAnswer("\n".join(get_text_parts(parts)), context_id)


def _failure(task: Task) -> TaskFailed:
    name = _FAILURES.get(task.status.state, "DCF.AgentFailed")
    error_data = next((part for part in get_data_parts(task.status.message.parts) if isinstance(part, dict)), {})
    text = "\n".join(get_text_parts(task.status.message.parts)) or "The agent did not say why."
    return TaskFailed(str(error_data.get("error") or name), str(error_data.get("cause") or text))
