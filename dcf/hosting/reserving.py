"""Reserves each turn of an agent that has an account before it starts, and has it settled with the result of its state.

While the account is closed the turn does not start: the state is parked until the account says when to ask again. A
turn that meets a limit reports it before anything else, so that the other agents of the account stop. An agent without
an account makes no additional call.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final, Protocol, TypeAlias, TypeVar

from dcf.core.documents.usage import BilledTurn, UsageReport, read_reported
from dcf.errors import DcfError
from dcf.hosting.protocol import AgentLimited, AgentTool, AgentTools, AgentWork, Json, TaskFailed, ToolResult
from dcf.jitter import JITTER
from dcf.values.records import record, replace
from dcf.worker.failure import ACCOUNT_UNUSABLE
from dcf.worker.parking import limited_until
from dcf.worker.provider_limits import read_limit

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Opening: TypeAlias = Callable[[], AbstractAsyncContextManager[AgentTools]]
"""Opens the tools of a turn; raises if a needed tool is missing."""

_FIRST_SIGN_S: Final = 1.0
_SIGN_S: Final = 10.0
_LONGEST_PAUSE_S: Final = 2.0
_LONGEST_WAIT_S: Final = 20.0
_PARKED_S: Final = 5.0
"""A state whose turn has to wait longer than that for others is parked for at least these seconds."""

_PASSING: Final = frozenset({"probing", "ramp", "in_flight", "rpm", "tpm", "turn"})
_CLOSING: Final = frozenset({"limit", "spent"})


class ToolCaller(Protocol):
    """Calls dcf's tools."""

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal."""
        ...


class Reserving(Protocol):
    """A wrapper of each turn of a piece of work."""

    async def carried(self, tools: Opening, turn: Callable[[Opening], Awaitable[Answer]]) -> Answer:
        """Return what the turn returns; raise AgentLimited if it may not start now."""
        ...


class Unreserved:
    """The turns of an agent without an account."""

    async def carried(self, tools: Opening, turn: Callable[[Opening], Awaitable[Answer]]) -> Answer:
        """Return what the turn returns."""
        return await turn(tools)


UNRESERVED: Final = Unreserved()


@record(frozen=True, slots=True, kw_only=True)
class AccountUse:
    """Which account the turns of an agent count under, and about how many tokens each uses."""

    account: str
    estimate_tokens: int = 0


class AccountTurns:
    """The turns of one lease. Each has a reservation of its own, since each is billed."""

    def __init__(
        self, tools: ToolCaller, use: AccountUse, work: AgentWork, settle_turn: Callable[[BilledTurn], None]
    ) -> None:
        self._tools = tools
        self._use = use
        self._work = work
        self._settle_turn = settle_turn
        self._turns = 0
        self._accepted: tuple[str, _Meter] | None = None

    async def carried(self, tools: Opening, turn: Callable[[Opening], Awaitable[Answer]]) -> Answer:
        """Reserve the turn and carry it out. The last one that is accepted is settled with the result of the state.

        Every other is settled here. A turn may be settled twice: a bill has the totals of its turn.
        """
        self._turns += 1
        name = f"{self._work.idempotency_key}-{self._work.epoch}-{self._turns}"
        if self._accepted is not None:
            await self._settle(*self._accepted, is_accepted=True)
        await self._reserve(name)
        meter = _Meter(self._work.agent.model)
        signs = asyncio.ensure_future(self._give_signs(name, meter))
        try:
            answer = await turn(_metered(tools, meter))
        except BaseException as error:
            signs.cancel()
            limit = await self._reported(name, error)
            await self._settle(name, meter, is_accepted=False)
            if limit is not None:
                raise limit from None
            raise
        signs.cancel()
        self._accepted = (name, meter)
        self._settle_turn(BilledTurn(account=self._use.account, reservation=name, usage=meter.total()))
        return answer

    async def _reserve(self, name: str) -> None:
        begin = time.monotonic()
        while True:
            answer = await self._call(
                "reserve_turn",
                reservation=name,
                agent_id=self._work.agent.name,
                for_run=self._work.workflow_id,
                tokens=self._use.estimate_tokens,
                model_name=self._work.agent.model or None,
            )
            if answer.get("code") != "ok":
                raise TaskFailed(ACCOUNT_UNUSABLE, str(answer.get("error")))
            if answer["granted"]:
                return
            again_s = float(answer["ask_again_s"] or _PARKED_S)
            if answer["verdict"] not in _PASSING:
                raise self._parking(answer, again_s)
            if time.monotonic() - begin + again_s > _LONGEST_WAIT_S:
                raise self._parking(answer, max(again_s, _PARKED_S))
            await asyncio.sleep(min(again_s, _LONGEST_PAUSE_S) * JITTER.uniform(1, 1.1))

    def _parking(self, answer: Mapping[str, Json], after_s: float) -> AgentLimited:
        """Return what parks the state: the account is closed, its day is used up, or it has no room for long."""
        account, closed = self._use.account, answer.get("closed") or {}
        kinds = {"closed": str(closed.get("kind")) if closed.get("is_known") else "guess", "day": "day"}
        limit = AgentLimited(
            after_s=after_s,
            kind=kinds.get(answer["verdict"], "wait"),
            cause=f"account {account}: {answer['verdict']}",
        )
        limit.account, limit.reported_by = account, closed.get("reported_by")
        return limit

    async def _reported(self, name: str, error: BaseException) -> AgentLimited | None:
        """Report the limit that a turn met, before its state is parked; None if the turn ended by something else."""
        met = read_limit(error, time.time()) if isinstance(error, Exception) else None
        if met is None or met.kind not in _CLOSING:
            return None
        agent, family = self._work.agent.name, met.family if met.has_time else None
        if family is not None and family not in self._work.agent.model.lower():
            family = None  # so dcf does not know which turns the limit is of
        try:
            answer = await self._call(
                "report_limit",
                agent_id=agent,
                until=limited_until(met) if met.has_time else None,
                kind=met.kind,
                reason=met.cause[:200],
                reservation=name,
                family=family,
            )
        except DcfError as away:
            log.warning("the limit of account %s is not reported: %s", self._use.account, away.message)
            return None
        if answer.get("code") != "ok":
            log.warning("the limit of account %s is not reported: %s", self._use.account, answer.get("error"))
            return None
        limit = AgentLimited(
            after_s=max(1.0, float(answer["closed_for_s"])),
            kind="models" if family else met.kind if met.has_time or met.kind != "limit" else "guess",
            cause=met.cause,
        )
        limit.account, limit.reported_by = self._use.account, agent
        return limit

    async def _give_signs(self, name: str, meter: "_Meter") -> None:
        """Renew the reservation during the turn, and say what it has used."""
        pause = _FIRST_SIGN_S
        while True:
            await asyncio.sleep(pause)
            pause = _SIGN_S
            with suppress(DcfError):  # the next one says the same, and more
                await self._call("report_turn", reservation=name, usage_json=meter.as_json())

    async def _settle(self, name: str, meter: "_Meter", *, is_accepted: bool) -> None:
        more = {"ended": True, "accepted": is_accepted}
        try:
            answer = await self._call("report_turn", reservation=name, usage_json=meter.as_json(), **more)
        except DcfError as away:
            log.warning("turn %s is not settled; the statement of the provider can do it: %s", name, away.message)
            return
        if answer.get("code") != "ok":
            log.warning("turn %s is not settled: %s", name, answer.get("error"))

    async def _call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Make a call on a thread: other turns use the event loop."""
        return await asyncio.to_thread(self._tools.call, tool, account=self._use.account, **arguments)


class _Meter:
    """The usage that a turn has reported so far."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._used = UsageReport()

    def add(self, used: Mapping[str, Json]) -> None:
        """Add a report. One in another currency is left to the completion, which refuses it."""
        with suppress(DcfError):
            self._used = self._used.with_more(read_reported(used))

    def as_json(self) -> dict[str, Json] | None:
        """Return it as it is reported; None if nothing was."""
        return None if self._used == UsageReport() else self.total().as_json()

    def total(self) -> UsageReport:
        """Return the usage, of the model of the agent if the turn told none."""
        return self._used if self._used.parts or not self._model else replace(self._used, model=self._model)


class _Metered:
    """The tools of a turn, which hear what it uses."""

    def __init__(self, tools: AgentTools, meter: _Meter) -> None:
        self._tools = tools
        self._meter = meter

    def list(self) -> Sequence[AgentTool]:
        """Return the tools that the agent may call."""
        return self._tools.list()

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Call a tool."""
        return await self._tools.call(name, arguments)

    def report_usage(self, **used: Json) -> None:
        """Say what the turn used up."""
        self._tools.report_usage(**used)
        self._meter.add(used)


def _metered(tools: Opening, meter: _Meter) -> Opening:
    @asynccontextmanager
    async def opened() -> AsyncIterator[AgentTools]:
        async with tools() as inner:
            yield _Metered(inner, meter)

    return opened
