"""Agents that act by policy: they call as the list of tools, the language page and `next` say.

What is theirs to know is a wish in words of the workflow language (a planner), or how to do a piece of work (a worker).
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.system.agents.seat import Seat

Json = Any
HOW_TO_START = re.compile(r"(\w+)\((\w+)=<that>, (\w+)=\{.*?\}, (\w+)=\{")
"""How the language page says that a run is started: the tool, and its arguments for workflow, agents and input."""


@dataclass(frozen=True, kw_only=True)
class HowToStart:
    """The facts that a planner has read on the page."""

    page: str
    agents_seen: tuple[str, ...]
    tool: str
    workflow: str
    agents: str
    input: str

    def arguments(self, workflow: Json, agents: Json, sent: Json) -> dict[str, Json]:
        result = {self.workflow: workflow, self.agents: agents, self.input: sent}
        return {name: value for name, value in result.items() if value is not None}


async def read_the_page(seat: Seat) -> HowToStart:
    """Find the tool that tells how a workflow is written, and read how one is started."""
    details = await seat.call(seat.tool_for("how a workflow is written"))
    tool, workflow, agents, value = HOW_TO_START.findall(details["language"])[0]
    return HowToStart(
        page=details["language"],
        agents_seen=tuple(details["agents"]),
        tool=tool,
        workflow=workflow,
        agents=agents,
        input=value,
    )


class Failure(Exception):
    """Work that cannot be done, with the name that it fails under."""


Do = Callable[[Mapping[str, Json]], Json]
"""Does a piece of work: from `work` as the answer has it to its output. Raises Failure."""


@dataclass(kw_only=True)
class Worker:
    """Waits, does the work that comes, delivers it with the call of `next`, and continues with its answer."""

    seat: Seat
    do: Do
    pieces: Counter[str] = field(default_factory=Counter)
    empty_waits: int = 0
    idle_events: list[Json] = field(default_factory=list)
    ended: list[Json] = field(default_factory=list)

    async def serve(self, is_over: Callable[[], bool], *, wait_s: float = 2) -> None:
        """Work until the run has ended."""
        wait = self.seat.tool_for("Wait for `work`")
        acknowledged: dict[str, Json] = {}
        while not is_over():
            answer = await self.seat.call(wait, agent_id=self.seat.agent_id, timeout_s=wait_s, **acknowledged)
            acknowledged = {}
            if answer["status"] == "timeout":
                self.empty_waits += 1
            elif "work" not in answer:
                acknowledged = {"ack_message_id": answer["message_id"]}
                idle_events = self.idle_events if answer["event"].get("type") == "workflow_event" else self.ended
                idle_events.append(answer["event"])
            await self.finish(answer)

    async def finish(self, answer: Mapping[str, Json]) -> None:
        """Do the work that an answer brings, and that which the delivery brings, until there is none."""
        while (work := answer.get("work")) is not None:
            self.pieces[f"{work['workflow_id']} {work['state']} {work['attempt']}"] += 1
            try:
                answer = await self.seat.follow(answer, {"output_json": self.do(work)})
            except Failure as failure:
                step = answer["next"][0]
                details = {"new_status": "failed", "error_name": str(failure), "error_message": "It cannot be done."}
                sent = {name: value for name, value in step["arguments"].items() if name != "output_json"} | details
                answer = await self.seat.call(step["tool"], **sent)

    @property
    def calls_per_piece(self) -> float:
        """Calls for each piece of work, without waits that brought nothing."""
        return (len(self.seat.log) - self.empty_waits) / max(1, self.pieces.total())
