"""A host around a turn: it reserves, waits or parks, reports a limit before it parks, and settles what was used."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from dcf.core.documents.usage import BilledTurn, UsageReport
from dcf.hosting.protocol import AgentLimited, AgentProfile, AgentWork, TaskFailed
from dcf.hosting.reserving import UNRESERVED, AccountTurns, AccountUse
from dcf.hosting.turns import TurnLimits, carried_out
from dcf.worker.parking import parked
from tests.support.agents.worker_tools import FakeTools

GRANTED = {"granted": True, "verdict": "granted", "ask_again_s": None}
WORK = AgentWork(
    workflow_id="r", state="A", input=1, agent=AgentProfile(name="ann", model="m-1"), epoch=7, idempotency_key="dcf-k"
)


class NoTools:
    def list(self) -> list[Any]:
        return []

    async def call(self, name: str, arguments: Any) -> Any:
        raise NotImplementedError

    def report_usage(self, **used: Any) -> None:
        pass


@asynccontextmanager
async def opening() -> AsyncIterator[NoTools]:
    yield NoTools()


def refused(verdict: str, again_s: float, **closed: Any) -> dict[str, Any]:
    return {"granted": False, "verdict": verdict, "ask_again_s": again_s, "closed": closed or None}


TWICE = TurnLimits(tries=2, pause_s=0.001)


def carried(
    tools: FakeTools, handler: Any, limits: TurnLimits = TWICE, billed: Callable[[BilledTurn], None] = lambda _: None
) -> Any:
    reserving = AccountTurns(tools, AccountUse(account="acc", estimate_tokens=900), WORK, billed)
    return asyncio.run(carried_out(WORK, opening, handler, limits, reserving))


async def answer(_: AgentWork, tools: Any) -> Any:
    tools.report_usage(tokens_in=10, tokens_out=2)
    tools.report_usage(tokens_in=5)
    return {"n": 1}


def limited(tools: FakeTools, handler: Any = answer, limits: TurnLimits = TWICE) -> AgentLimited:
    with pytest.raises(AgentLimited) as raised:
        carried(tools, handler, limits)
    return raised.value


def test_a_turn_is_reserved_before_it_starts_and_settled_with_the_result() -> None:
    tools, billed = FakeTools(reserve_turn=GRANTED), list[BilledTurn]()
    assert carried(tools, answer, billed=billed.append) == {"n": 1}
    (reserved,) = tools.calls
    assert reserved == (
        "reserve_turn",
        {"account": "acc", "reservation": "dcf-k-7-1", "agent_id": "ann", "for_run": "r"}
        | {"tokens": 900, "model_name": "m-1"},
    )
    used = UsageReport(tokens_in=15, tokens_out=2, model="m-1")
    assert billed == [BilledTurn(account="acc", reservation="dcf-k-7-1", usage=used)]


def test_an_agent_without_an_account_makes_no_additional_call() -> None:
    async def plain() -> Any:
        return await carried_out(WORK, opening, answer, TurnLimits(), UNRESERVED)

    assert asyncio.run(plain()) == {"n": 1}


def test_a_turn_that_is_tried_again_has_another_reservation_and_both_are_settled() -> None:
    tools, tries = FakeTools(reserve_turn=GRANTED), iter([True, False])

    async def breaks(work: AgentWork, opened: Any) -> Any:
        if next(tries):
            raise RuntimeError("the process died")
        return await answer(work, opened)

    billed = list[BilledTurn]()
    carried(tools, breaks, billed=billed.append)
    assert [call["reservation"] for call in tools.arguments("reserve_turn")] == ["dcf-k-7-1", "dcf-k-7-2"]
    settled = [(call["reservation"], call["accepted"]) for call in tools.arguments("report_turn")]
    assert settled == [("dcf-k-7-1", False)]
    assert [turn.reservation for turn in billed] == ["dcf-k-7-2"]


def test_a_turn_whose_answer_is_corrected_by_another_is_settled_before_it() -> None:
    tools, billed, work = FakeTools(reserve_turn=GRANTED), list[BilledTurn](), replace(WORK, output_schema=False)
    reserving = AccountTurns(tools, AccountUse(account="acc"), work, billed.append)
    with pytest.raises(TaskFailed, match="not accepted"):
        asyncio.run(carried_out(work, opening, answer, TurnLimits(corrections=1), reserving))
    assert tools.names == ["reserve_turn", "report_turn", "reserve_turn"]
    assert tools.arguments("report_turn")[0]["accepted"] is True
    assert [turn.reservation for turn in billed] == ["dcf-k-7-1", "dcf-k-7-2"]


def test_a_closed_account_parks_the_state_and_no_turn_starts() -> None:
    tools = FakeTools(reserve_turn=refused("closed", 3600.0, kind="limit", reported_by="bob", is_known=True))
    result = parked(limited(tools), {})
    assert (result["limited_until"], result["limit_kind"]) == ("3600s", "limit")
    assert (result["limit_account"], result["limit_reported_by"]) == ("acc", "bob")
    assert tools.names == ["reserve_turn"]


@pytest.mark.parametrize(
    ("verdict", "closed", "kind"),
    [("closed", {"kind": "limit", "is_known": False}, "guess"), ("day", {}, "day"), ("in_flight", {}, "wait")],
)
def test_what_parks_a_state_says_what_it_waits_for(verdict: str, closed: dict[str, Any], kind: str) -> None:
    tools = FakeTools(reserve_turn=refused(verdict, 60.0, **closed))
    result = parked(limited(tools), {})
    assert (result["limit_kind"], result["limited_until"]) == (kind, "60s")


def test_a_turn_that_waits_for_others_asks_again() -> None:
    replies = iter([refused("probing", 0.001), refused("ramp", 0.001), refused("in_flight", 0.001), GRANTED])
    tools = FakeTools(reserve_turn=lambda **_: next(replies))
    assert carried(tools, answer) == {"n": 1}
    assert tools.names == ["reserve_turn"] * 4


class RateLimitError(Exception):
    status_code = 429

    def __init__(self) -> None:
        super().__init__("429")
        self.headers = {"retry-after": "90"}


def rejected(error: Callable[[], Exception]) -> Any:
    async def handler(work: AgentWork, opened: Any) -> Any:
        await answer(work, opened)
        raise error()

    return handler


def test_a_limit_is_reported_before_its_turn_is_settled_and_its_state_parked() -> None:
    tools = FakeTools(reserve_turn=GRANTED, report_limit={"closed_for_s": 95.5})
    result = parked(limited(tools, rejected(RateLimitError)), {})
    assert tools.names == ["reserve_turn", "report_limit", "report_turn"]
    (report,) = tools.arguments("report_limit")
    assert (report["account"], report["agent_id"], report["kind"], report["reservation"]) == (
        "acc",
        "ann",
        "limit",
        "dcf-k-7-1",
    )
    assert tools.arguments("report_turn")[0]["accepted"] is False
    assert (result["limited_until"], result["limit_kind"], result["limit_account"]) == ("96s", "limit", "acc")


@pytest.mark.parametrize(
    ("of_model", "family", "kind"), [("claude-Opus-5", "opus", "models"), ("claude-sonnet-5", None, "limit")]
)
def test_a_limit_on_the_family_of_the_agents_model_closes_only_that(
    of_model: str, family: str | None, kind: str
) -> None:
    tools = FakeTools(reserve_turn=GRANTED, report_limit={"closed_for_s": 95.5})
    work = replace(WORK, agent=replace(WORK.agent, model=of_model))
    reserving = AccountTurns(tools, AccountUse(account="acc"), work, lambda _: None)
    limit = rejected(lambda: AgentLimited(after_s=95.5, family="opus"))
    with pytest.raises(AgentLimited) as raised:
        asyncio.run(carried_out(work, opening, limit, TWICE, reserving))
    assert tools.arguments("report_limit")[0]["family"] == family
    assert parked(raised.value, {})["limit_kind"] == kind


def test_a_limit_without_a_time_lasts_as_long_as_the_account_guesses() -> None:
    tools = FakeTools(reserve_turn=GRANTED, report_limit={"closed_for_s": 60.0})
    result = parked(limited(tools, rejected(AgentLimited)), {})
    assert tools.arguments("report_limit")[0]["until"] is None
    assert (result["limited_until"], result["limit_kind"]) == ("60s", "guess")


def test_with_on_limit_fail_a_closed_account_fails_the_state_and_a_full_one_does_not() -> None:
    closed = refused("closed", 3600.0, kind="limit", is_known=True)
    with pytest.raises(TaskFailed) as raised:
        carried(FakeTools(reserve_turn=closed), answer, TurnLimits(fails_at_limit=True))
    assert raised.value.error == "DCF.AccountLimit"
    full = limited(FakeTools(reserve_turn=refused("in_flight", 60.0)), limits=TurnLimits(fails_at_limit=True))
    assert full.kind == "wait"


def test_a_reservation_that_the_server_rejects_fails_the_state_with_its_words() -> None:
    with pytest.raises(TaskFailed, match="may not") as raised:
        carried(FakeTools(reserve_turn={"code": "forbidden", "error": "forbidden: it may not"}), answer)
    assert raised.value.error == "DCF.AccountUnusable"


def test_a_turn_that_is_cancelled_is_settled_too() -> None:
    tools, begun = FakeTools(reserve_turn=GRANTED), asyncio.Event()

    async def endless(work: AgentWork, opened: Any) -> Any:
        await answer(work, opened)
        begun.set()
        await asyncio.Event().wait()

    async def cancelled() -> None:
        reserving = AccountTurns(tools, AccountUse(account="acc"), WORK, lambda _: None)
        task = asyncio.ensure_future(carried_out(WORK, opening, endless, TurnLimits(), reserving))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert tools.arguments("report_turn")[-1]["usage_json"]["tokens_in"] == 15
