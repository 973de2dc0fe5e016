"""A worker whose agent belongs to an account: it reserves a turn for each state that it takes, as `dcf host` does.

The turn calls the scripted provider. After it the worker treats the state by habit, like the others. A turn that may
not start, or that the provider rejects, parks the state. The process can be struck at each step (`traps`).
"""

import asyncio
import hashlib
import random
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from dcf.core.documents.usage import BilledTurn, UsageReport
from dcf.hosting.protocol import AgentLimited, AgentProfile, AgentTool, AgentTools, AgentWork, TaskFailed, ToolResult
from dcf.hosting.reserving import AccountTurns, AccountUse
from dcf.hosting.turns import TurnLimits, carried_out
from dcf.tools.calling.repeating import repeated
from dcf.worker.parking import parked, release_arguments
from lab.crews import AGENTS
from lab.fast_loop import FastLoop, hurry
from lab.http_verbs import HttpVerbs, connected
from lab.providers import MODEL, MOST_CALLS, MOST_OF_TURN, Provider
from lab.recording import Recorder
from lab.server_time import SharedTime
from lab.traps import Traps, strike_oneself
from lab.turn_notes import Notes, clock
from lab.verbs import Heard, Recorded
from lab.worker import Duty, Held, Worker

ACCOUNTS: Final = {"ann": "lab-shared", "bob": "lab-shared", "cyd": "lab-budget"}
"""The account of each agent: two share one, and the third has a budget for each day."""

PEACE: Final = "peace"
TRAPS: Final = "trap"
NOTES: Final = "turns"

_TERM_S: Final = 30
_RENEWED_S: Final = 8
_PATIENCE_S: Final = 10.0
_SENT_TWICE: Final = 0.1
_WITH_RESULT: Final = 0.7
"""Share of the turns that are settled with the result of their state, as a host settles the last turn."""

_CALL_S: Final = (0.2, 4.0)
_STEP_OF: Final = {
    "acquire_state_lease": "grant",
    "claim_ready_state": "grant",
    "reserve_turn": "reserve",
    "report_limit": "limit",
    "update_workflow_control_plane": "write",
    "complete_states": "write",
}


def main(duty: Duty) -> None:
    """Work until killed."""
    home = duty.place.time_file.parent
    shared = SharedTime(duty.place.time_file)
    hurry(shared)
    notes = Notes(home / NOTES / f"{duty.agent}.jsonl")
    struck = Struck(duty.agent, Traps(home / TRAPS), notes)
    recorder = Recorder(duty.calls, duty.agent)
    with connected(duty.place.server_urls, duty.place.api_keys.get(duty.agent)) as there:
        calls = TrappedVerbs(there, struck)
        worker = LimitedWorker(duty=duty, verbs=Recorded(calls, recorder, duty.agent))
        worker.turns = Turns(
            duty.agent, calls, notes, Provider(lambda: shared.of(clock()), home / PEACE, notes), struck
        )
        worker.begin()
        worker.listen_over_http(calls)


@dataclass(frozen=True, slots=True)
class Struck:
    """Comes to the steps of the protocol, and is struck where the trap is."""

    agent: str
    traps: Traps
    notes: Notes

    def come(self, step: str, moment: str) -> None:
        """Pass, or strike oneself."""
        number = self.traps.strikes(AGENTS.index(self.agent), step, moment)
        if number is not None:
            self.notes.add("struck", agent=self.agent, step=step, moment=moment, how=number.name)
            strike_oneself(number)


class TrappedVerbs(HttpVerbs):
    """The calls of the worker, which come to the steps of the protocol."""

    def __init__(self, there: HttpVerbs, struck: Struck) -> None:
        self._there = there
        self._struck = struck
        self.billed: dict[str, BilledTurn] = {}

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, with the bills of the turns whose results it writes; come to its step before and after."""
        results = [arguments] if "new_status" in arguments else arguments.get("results", ())
        for result in results:
            turn = self.billed.get(result["lease_token"])
            if turn is not None:
                result["usage_json"] = UsageReport(turn=turn).as_json()
        step = step_of(tool, arguments)
        if step is not None:
            self._struck.come(step, "before")
        answer = self._there.call(tool, **arguments)
        if step is not None:
            self._struck.come(step, "after")
        return answer


def step_of(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the step of the protocol that a call takes."""
    if tool == "report_turn":
        return "settle" if arguments.get("ended") else "beat"
    if tool == "release_state_lease":
        return "park" if "limited_until" in arguments else None
    return _STEP_OF.get(tool)


class LimitedWorker(Worker):
    """A worker of an account."""

    turns: "Turns"
    claimed_ttl_s: ClassVar[int] = _TERM_S

    def term_s(self, run: str, state: str) -> int:
        """Lease for longer than a turn waits for room."""
        return _TERM_S

    def may_work(self, holding: Held, epoch: int) -> bool:
        """Carry out a turn; return False if the state was parked, or the turn broke."""
        work = AgentWork(
            workflow_id=holding.run,
            state=holding.state,
            input=None,
            agent=AgentProfile(name=self.duty.agent, model=MODEL),
            epoch=epoch,
            idempotency_key=f"lab-{hashlib.sha256(f'{holding.run} {holding.state}'.encode()).hexdigest()[:24]}",
        )
        try:
            turn = self.turns.carry_out(work, lambda: self.verbs.renew(holding.run, holding.state, holding.token))
        except AgentLimited as limit:
            self.park(holding, limit)
            return False
        except TaskFailed:  # the servers were away for too long; the lease expires
            return False
        if turn is not None:
            self.turns.calls.billed[holding.token] = turn
        return True

    def park(self, holding: Held, limit: AgentLimited) -> None:
        """Release the state until the limit ends."""
        more = release_arguments(parked(limit, {}))
        place = {"workflow_id": holding.run, "state": holding.state, "lease_token": holding.token}

        def release() -> Heard:
            answer = self.turns.calls.call("release_state_lease", **place, **more)
            return Heard(
                code=answer["code"], state=holding.state, repeated=answer.get("status") == "lease_already_clear"
            )

        note = {"state": holding.state, "token": holding.token, "content": {"limited": more["limited_until"]}}
        if not self.verbs.surely(lambda: self.verbs.noted("release", holding.run, note, release)).is_unknown:
            self.end(holding)


class Turns:
    """The turns of one process, on an event loop of its own."""

    def __init__(self, agent: str, calls: TrappedVerbs, notes: Notes, provider: Provider, struck: Struck) -> None:
        self.calls = calls
        self._agent = agent
        self._notes = notes
        self._provider = provider
        self._struck = struck
        self._loop = FastLoop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def carry_out(self, work: AgentWork, renew: Any) -> BilledTurn | None:
        """Carry out the turn of a piece of work, as a host does, and keep its lease meanwhile.

        Return the turn if it is to be settled with the result of the state.
        """
        return asyncio.run_coroutine_threadsafe(self._carried(work, renew), self._loop).result()

    async def _carried(self, work: AgentWork, renew: Any) -> BilledTurn | None:
        account = ACCOUNTS[self._agent]
        tools = NotedTools(self.calls, self._notes, account)
        use = AccountUse(account=account, estimate_tokens=MOST_OF_TURN)

        async def handle(_: AgentWork, usage: AgentTools) -> str:
            await self._call_provider(account, tools.reservation, usage)
            return "done"

        turns = list[BilledTurn]()
        renewing = asyncio.ensure_future(_renewed(renew))
        try:
            await carried_out(work, _opened, handle, TurnLimits(tries=3), AccountTurns(tools, use, work, turns.append))
        finally:
            renewing.cancel()
        if random.random() < _WITH_RESULT:
            return turns[-1]
        settled = {"usage_json": turns[-1].usage.as_json(), "ended": True, "accepted": True}
        await asyncio.to_thread(tools.call, "report_turn", account=account, reservation=tools.reservation, **settled)
        return None

    async def _call_provider(self, account: str, reservation: str, usage: AgentTools) -> None:
        luck = random.Random(f"turn {reservation}")
        self._notes.add("begun", account=account, reservation=reservation, agent=self._agent)
        try:
            for number in range(luck.randint(1, MOST_CALLS)):
                self._struck.come("call", "before")
                used = self._provider.call(account, reservation, number)
                self._struck.come("call", "after")
                await asyncio.sleep(luck.uniform(*_CALL_S))
                usage.report_usage(**used)
        finally:
            self._notes.add("ended", account=account, reservation=reservation)


async def _renewed(renew: Any) -> None:
    while True:
        await asyncio.sleep(_RENEWED_S)
        await asyncio.to_thread(renew)


class NotedTools:
    """The calls of a turn's reservation, each repeated until its answer is known, and some of them twice."""

    def __init__(self, calls: HttpVerbs, notes: Notes, account: str) -> None:
        self._calls = calls
        self._notes = notes
        self._account = account
        self._luck = random.Random()
        self.reservation = ""

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and note when it was sent first, and what was answered when."""
        self.reservation = arguments["reservation"]
        sent = clock()
        if tool == "reserve_turn":
            self._notes.add("asked", account=self._account, reservation=self.reservation)
        answer = repeated(lambda _: self._calls.call(tool, **arguments), _PATIENCE_S)
        if tool == "report_turn" and self._luck.random() < _SENT_TWICE:
            answer = repeated(lambda _: self._calls.call(tool, **arguments), _PATIENCE_S)
        names = ("granted", "is_probe", "verdict", "outcome", "closed_until", "code")
        heard = {name: answer[name] for name in names if name in answer}
        ended = {"ended": True} if arguments.get("ended") else {}
        self._notes.add(tool, account=self._account, reservation=self.reservation, sent=sent, **heard, **ended)
        return answer


class _Unused:
    """The tools of a turn that needs no tool."""

    def list(self) -> Sequence[AgentTool]:
        """Return no tools."""
        return ()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Refuse."""
        return ToolResult(f"{name} is no tool.", is_error=True)

    def report_usage(self, **used: Any) -> None:
        """Leave it to the reservation."""


@asynccontextmanager
async def _opened() -> AsyncIterator[AgentTools]:
    yield _Unused()
