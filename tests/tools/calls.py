"""Calls of tools in tests: every answer is checked against what all answers promise."""

import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import jsonschema
import uvicorn
from mcp.client import Client
from starlette.applications import Starlette

from dcf.tools.mcp.reference import OF_EVERY_TOOL
from dcf.tools.mcp.selection import callable_tools
from dcf.values.json_text import dump
from dcf.verbs.answers.schemas import answer_schema
from dcf.verbs.registry import TOOLS, ToolSpec
from dcf.verbs.schemas import listed_of
from tests.support.paths import ROOT
from tests.tools.closing import closed

Json = Any

SERVED = {spec.name: spec for spec in callable_tools((), read_only=False)}
"""What can be called by name: tools of lists, and verbs that are on none."""

WORKFLOWS = ROOT / "workflows"
ORDER_WORKFLOW: dict[str, Json] = json.loads((WORKFLOWS / "order_processing.json").read_text())
ORDER: dict[str, Json] = json.loads((WORKFLOWS / "order_processing" / "order.json").read_text())

STEPS: dict[str, Json] = {
    "ValidateOrder": {"customer": {"id": "CUST-1234", "name": "Ada"}, "discount_code": "SAVE10"},
    "CalculatePricing": {"subtotal": "239.96", "total": "242.77"},
    "GenerateInvoice": {"invoice_number": "INV-2025-0042", "total": "242.77"},
}
"""The outputs of the three workers of the order pipeline."""

AGENTS = {state: f"agent-{state}" for state in STEPS}

ONE_TASK = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}
TWO_TASKS = {
    "asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}}
}

_INSIDES = ("pydantic", "input_value", "Traceback", "Input should", "redis.exceptions", "RecursionError")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a tool. `broken` is the protocol's isError."""

    payload: dict[str, Json]
    text: str
    broken: bool

    @property
    def code(self) -> str:
        return str(self.payload["code"])

    @property
    def error(self) -> str:
        return str(self.payload["error"])

    @property
    def hint(self) -> str:
        return str(self.payload["hint"])

    def __getitem__(self, name: str) -> Json:
        return self.payload[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The tools of one server as a client sees them."""

    client: Client
    listed: frozenset[str]

    @classmethod
    async def of(cls, client: Client) -> Self:
        return cls(client=client, listed=frozenset(tool.name for tool in (await client.list_tools()).tools))

    async def call(self, tool: str, /, **arguments: Json) -> Answer:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert content.type == "text"
        payload = result.structured_content
        assert isinstance(payload, dict)
        answer = Answer(payload=payload, text=content.text, broken=bool(result.is_error))
        check(answer, tool)
        return answer

    async def ok(self, tool: str, /, **arguments: Json) -> Answer:
        answer = await self.call(tool, **arguments)
        assert answer.code == "ok", answer.text
        return answer

    async def refused(self, code: str, tool: str, /, **arguments: Json) -> Answer:
        answer = await self.call(tool, **arguments)
        assert answer.code == code, answer.text
        assert code in {"ok", *_served(tool).codes, *OF_EVERY_TOOL}, f"the description of {tool} lacks the code"
        return answer


@cache
def _promised(tool: str) -> jsonschema.Draft202012Validator:
    """The schema of a tool's answers, made once: that takes as long as the call of a tool."""
    return jsonschema.Draft202012Validator(closed(answer_schema(_served(tool))))


@cache
def _listed(tool: str) -> frozenset[str]:
    """The names of the arguments that a list shows of a tool."""
    return frozenset(listed_of(_served(tool))["properties"])


def _served(tool: str) -> ToolSpec:
    return SERVED.get(tool) or TOOLS[tool]


def check(answer: Answer, tool: str) -> None:
    """The promises of every answer of every tool."""
    _promised(tool).validate(answer.payload)
    assert dump(answer.payload) == answer.text
    assert not any(word in answer.text for word in _INSIDES), answer.text
    for step in answer.payload.get("next") or ():
        assert set(step["arguments"]) <= _listed(step["tool"]), f"a model that follows {step} sends what no list has"
    if answer.code == "ok":
        assert answer.payload["error"] is None
        assert answer.payload["status"]
        assert not answer.broken
        return
    assert answer.payload["status"] is None
    assert answer.error.startswith(f"{answer.code}: ")
    for sentence in (answer.error, answer.hint):
        assert sentence.isprintable()
        assert len(sentence) < 700, sentence
        assert sentence.endswith((".", "?")), sentence


async def new_run(tools: Tools, workflow_id: str, workflow: Json = ONE_TASK, **more: Json) -> str:
    """A run in its first state, with everything assigned to one agent."""
    states = workflow["asl"]["States"]
    arguments = {"agents_map_json": dict.fromkeys(states, "worker-1")} | more
    await tools.ok("create_workflow_control_plane", workflow_json=workflow, workflow_id=workflow_id, **arguments)
    return workflow_id


async def lease_on(tools: Tools, workflow_id: str, state: str = "A", **more: Json) -> str:
    """The token of a fresh lease of `worker-1`."""
    arguments = {"owner_agent_id": "worker-1"} | more
    answer = await tools.ok("acquire_state_lease", workflow_id=workflow_id, state=state, **arguments)
    return str(answer["lease"]["token"])


async def run_orders(tools: Tools, workflow_id: str, watch: Callable[[Answer], Awaitable[None]] | None = None) -> Json:
    """The whole order pipeline, as its planner and workers would call it; the output of the run."""

    async def call(tool: str, **arguments: Json) -> Answer:
        answer = await tools.ok(tool, **arguments)
        if watch is not None:
            await watch(answer)
        return answer

    await call(
        "create_workflow_control_plane",
        workflow_json=json.dumps(ORDER_WORKFLOW),
        workflow_id=workflow_id,
        input_json=ORDER,
        agents_map_json={state: f"{agent}-{workflow_id}"[:64] for state, agent in AGENTS.items()},
        planner_agent_id=f"planner-{workflow_id}",
    )
    await call("notify_next_worker_agent", workflow_id=workflow_id)
    for state, output in STEPS.items():
        agent = f"{AGENTS[state]}-{workflow_id}"[:64]
        event = await call("await_workflow_event", lease=False, agent_id=agent, timeout_s=50)
        assert event["event"]["target_state"] == state
        await call("await_workflow_event", lease=False, agent_id=agent, timeout_s=0, ack_message_id=event["message_id"])
        holding = await tools.ok("acquire_state_lease", workflow_id=workflow_id, state=state, owner_agent_id=agent)
        holder = {"workflow_id": workflow_id, "state": state, "lease_token": holding["lease"]["token"]}
        await tools.ok("renew_state_lease", **holder)
        await call("update_workflow_control_plane", **holder, new_status="succeeded", output_json=output)
        await call("notify_next_worker_agent", workflow_id=workflow_id, source_state=state)
        await call("release_state_lease", **holder)
    ended = await call("await_workflow_event", lease=False, agent_id=f"planner-{workflow_id}", timeout_s=50)
    assert ended["event"]["type"] == "run_finished"
    read = await call("read_workflow_control_plane", workflow_id=workflow_id, compute_readiness=True)
    await call("finalize_workflow", workflow_id=workflow_id)
    return read["meta"]["output"]


class _Server(uvicorn.Server):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.up.set()


@contextmanager
def serving(app: Starlette, port: int = 0) -> Iterator[str]:
    """The app on a loopback port while the context lasts; yields http://127.0.0.1:PORT."""
    server = _Server(uvicorn.Config(app, port=port, log_level="error", ws="none", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.up.wait(60)
        assert server.started, "the port is taken"
        (listener,) = server.servers[0].sockets
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
