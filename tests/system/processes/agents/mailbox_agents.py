"""Agents of the mailbox platform: MCP clients that do what the answers they get say, and nothing else.

They know a URL, a run and a state; their id, their skills, the servers of their tools and every call
to make they are told. How to act on a skill's directives, and how to plan, they share with the agents on Letta.
"""

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from dcf.errors import ToolCallFailed
from dcf.tools.calling.client import ToolClient, connect
from tests.support.paths import ROOT
from tests.system.letta.minds import LEASE_S, WORK, is_ok
from tests.system.letta.model import Call, Conversation, Reply, Result
from tests.system.letta.planner_mind import planner

Json = Any
WAIT_S = 1
"""Seconds of a wait for an event. Short, so that a worker soon sees that its run has ended."""
LOOK_S = 0.05
"""Between two looks whether one has been hired."""
AT_THE_END = frozenset({"notify_next_worker_agent", "unload_skill", "release_state_lease"})
"""Calls that are made in any case when a state was worked on, whatever the one before said."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A call of an agent and its answer."""

    who: str
    tool: str
    arguments: Mapping[str, Json]
    answer: dict[str, Json]


Note = Callable[[Exchange], None]


class Hands:
    """One agent's own connections: to dcf, and to the servers of its skills' tools. Every exchange is noted."""

    def __init__(self, person: str, url: str, note: Note) -> None:
        self._who = person
        self._url = url
        self._note = note
        self._stack = ExitStack()
        self._clients: dict[str, ToolClient] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def use(self, tool: str, **arguments: Json) -> dict[str, Json]:
        return self.use_at(self._url, Call(tool=tool, arguments=arguments))

    def use_at(self, url: str, call: Call) -> dict[str, Json]:
        """Call a tool of the server at this URL; a refusal is an answer too."""
        if url not in self._clients:
            self._clients[url] = self._stack.enter_context(connect(url))
        try:
            answer = self._clients[url].call(call.tool, **call.arguments)
        except ToolCallFailed as error:
            answer = {"code": error.code, "error": str(error), "hint": error.hint}
        self._note(Exchange(who=self._who, tool=call.tool, arguments=call.arguments, answer=answer))
        return answer

    def events(self, agent_id: str, goes_on: Callable[[], bool]) -> Iterator[dict[str, Json]]:
        """The events of an inbox; an event is acknowledged when the next one is asked for."""
        handled: str | None = None
        while (waiting := goes_on()) or handled is not None:
            wish = {"timeout_s": WAIT_S if waiting else 0, "ack_message_id": handled, "lease": False}
            use = self.use("await_workflow_event", agent_id=agent_id, **wish)
            handled = use.get("message_id")
            if handled is not None:
                yield use["event"]


class Worker:
    """One copy of a worker: it asks for its assignment and makes the calls that `next` lists."""

    def __init__(self, hands: Hands, agent_id: str, *, lease_ttl_s: int = LEASE_S) -> None:
        self._hands = hands
        self._agent_id = agent_id
        self._lease_ttl_s = lease_ttl_s

    def attend(self, event: Mapping[str, Json]) -> None:
        """Act on an event. After a refusal ask again: what is left to do then may be only to clear up."""
        if not self._follow(event):
            self._follow(event)

    def work(self, event: Mapping[str, Json], leased: Mapping[str, Json]) -> Json:
        """Do what the skill's directives say, with its tools, on the servers that the agent's record names."""
        servers = {tool["name"]: tool["server"]["url"] for tool in self._ask(event)["tools"] if tool["server"]}
        results = [Result(tool="acquire_state_lease", text=json.dumps(leased))]
        while True:
            progress = WORK[event["target_state"]](_seen(json.dumps(event), results))
            if progress.call is None:
                return progress.output
            calls = progress.call.calls
            results += [_result(call, self._hands.use_at(servers[call.tool], call)) for call in calls]

    def _ask(self, event: Mapping[str, Json]) -> dict[str, Json]:
        place = {"workflow_id": event["workflow_id"], "state": event["target_state"]}
        return self._hands.use("get_my_assignment", agent_id=self._agent_id, **place)

    def _follow(self, event: Mapping[str, Json]) -> bool:
        """Make the calls in their order; False when one was refused, or needs a token that only another copy has."""
        leased: dict[str, Json] = {}
        for step in self._ask(event)["next"]:
            tool, arguments = step["tool"], dict(step["arguments"])
            if tool == "await_workflow_event":
                break
            if tool == "acquire_state_lease":
                arguments["lease_ttl_s"] = self._lease_ttl_s
            if "lease_token" in arguments:
                if not leased:
                    return False
                arguments["lease_token"] = leased["lease"]["token"]
            if "output_json" in arguments:
                arguments["output_json"] = self.work(event, leased)
            answer = self._hands.use(tool, **arguments)
            if not is_ok(answer) and tool not in AT_THE_END:
                return False
            if tool == "acquire_state_lease":
                leased = answer
        return True


class Planner:
    """A planner: the mind of the one on Letta, with hands and an inbox of its own."""

    def __init__(self, hands: Hands, agent_id: str) -> None:
        self._hands = hands
        self._agent_id = agent_id
        instructions = (ROOT / "agents" / "planner.md").read_text("utf-8")
        self._system = f"{instructions}\nAGENT_ID: {agent_id}"
        self._is_done = False

    def serve(self, request: str, goes_on: Callable[[], bool]) -> None:
        """Turn the request into a run and watch until it has ended."""
        self._hear(request)
        for event in self._hands.events(self._agent_id, lambda: goes_on() and not self._is_done):
            self._hear(json.dumps(event))
            self._is_done = event["type"] == "run_finished"

    def _hear(self, message: str) -> None:
        results: list[Result] = []
        while calls := self._next(message, results).calls:
            results += [_result(call, self._hands.use(call.tool, **call.arguments)) for call in calls]

    def _next(self, message: str, results: Sequence[Result]) -> Reply:
        reply = planner(_seen(message, results, self._system))
        assert reply is not None, "the instructions are a planner's"
        return reply


@dataclass(frozen=True, kw_only=True)
class Job:
    """The job of a worker: a state of a run that may not exist yet. `over` ends all workers."""

    url: str
    run: str
    state: str
    note: Note
    over: threading.Event

    def hands(self, copy: int = 1) -> Hands:
        return Hands(f"{self.state}-{copy}", self.url, self.note)

    def wait_for_agent_id(self, hands: Hands) -> str:
        """Look into the run's agents map until the planner has made an agent for the state."""
        while not self.over.is_set():
            meta = hands.use("read_workflow_control_plane", workflow_id=self.run).get("meta") or {}
            result = (meta.get("agents") or {}).get(self.state)
            if result is not None:
                return str(result)
            self.over.wait(LOOK_S)
        raise AssertionError(f"there is no worker for {self.state}")

    def goes_on(self, hands: Hands, agent_id: str) -> bool:
        if self.over.is_set():
            return False
        mine = hands.use("get_my_assignment", agent_id=agent_id, workflow_id=self.run)
        return bool(mine["run_status"] == "running")


def serve(job: Job, *, copies: int = 1, lost: int = 0) -> None:
    """Work for one state until its run has ended; the first `lost` events are taken and forgotten.

    With several copies each of them gets every event, all at the same time.
    """
    with ExitStack() as stack:
        hands = [stack.enter_context(job.hands(number)) for number in range(1, copies + 1)]
        agent_id = job.wait_for_agent_id(hands[0])
        workers = [Worker(own, agent_id) for own in hands]
        crew = stack.enter_context(ThreadPoolExecutor(copies))
        events = hands[0].events(agent_id, lambda: job.goes_on(hands[0], agent_id))
        for event in itertools.islice(events, lost, None):
            _tell_all(crew, workers, event)


def _tell_all(crew: ThreadPoolExecutor, workers: Sequence[Worker], event: Mapping[str, Json]) -> None:
    start = threading.Barrier(len(workers))

    def tell(worker: Worker) -> None:
        start.wait()
        worker.attend(event)

    list(crew.map(tell, workers))


def _seen(message: str, results: Sequence[Result], system: str = "") -> Conversation:
    return Conversation(system=system, message=message, results=tuple(results), tools=())


def _result(call: Call, answer: Mapping[str, Json]) -> Result:
    return Result(tool=call.tool, text=json.dumps(answer), arguments=call.arguments)
