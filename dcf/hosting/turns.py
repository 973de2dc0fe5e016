"""Carries out a piece of work by turns: tries one again that broke, and asks again when the answer is not accepted.

A turn that breaks (the process died, the model server is away, the handler raised) is tried again after growing pauses;
the lease is renewed meanwhile. After the last try the state fails with the name of what was raised, so that Retry and
Catch can name it. A turn that met a usage limit of its provider is not tried again here: the state is parked.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final

from dcf.hosting.answers import judged
from dcf.hosting.children import HandlerRaised
from dcf.hosting.protocol import AgentLimited, AgentWork, Handler, Json, ModelAnswer, TaskFailed
from dcf.hosting.reserving import UNRESERVED, Opening, Reserving
from dcf.jitter import JITTER
from dcf.values.records import record
from dcf.worker.failure import ACCOUNT_LIMIT
from dcf.worker.provider_limits import read_limit

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S: Final = 30.0
_BUSY_S: Final = 60.0

INVALID: Final = "DCF.InvalidOutput"
"""The error of a state whose agent never gave an output that was accepted."""


@record(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """How often a turn is tried, after which first pause again, how often a model may correct its answer.

    `fails_at_limit`: a usage limit fails the state. `waits_if_busy`: after the last try the state waits for a provider
    that is overloaded. `turn_s` is how long a turn may take; then it is cancelled and counts as broken. `grace_s` is
    how long it may take to end when it is cancelled; then it is left behind.
    """

    tries: int = 6
    pause_s: float = 1.0
    corrections: int = 2
    fails_at_limit: bool = False
    waits_if_busy: bool = True
    turn_s: float = 3600.0
    grace_s: float = 7.0


async def carried_out(
    work: AgentWork, tools: Opening, handler: Handler, limits: TurnLimits, reserving: Reserving = UNRESERVED
) -> Json:
    """Return the output of a piece of work; raise TaskFailed if there is none, AgentLimited to have it later."""
    for _ in range(1 + limits.corrections):
        answer = await _tried(partial(_turn, work, handler=handler, limits=limits), tools, work, limits, reserving)
        verdict = judged(answer, work.output_schema)
        if not verdict.problems:
            return verdict.output
        log.info("%s/%s: the answer is not accepted: %s", work.workflow_id, work.state, "; ".join(verdict.problems))
        session = answer.session if isinstance(answer, ModelAnswer) else None
        work = replace(work, problems=verdict.problems, session=session)
    raise TaskFailed(INVALID, f"The agent's answer was not accepted: {'; '.join(work.problems)}")


async def _tried(
    turn: Callable[[Opening], Awaitable[Json | ModelAnswer]],
    tools: Opening,
    work: AgentWork,
    limits: TurnLimits,
    reserving: Reserving,
) -> Json | ModelAnswer:
    pause = limits.pause_s
    for left in reversed(range(limits.tries)):
        try:
            return await reserving.carried(tools, turn)
        except TaskFailed:
            raise
        except Exception as raised:  # noqa: BLE001 - whatever a handler raises
            error = _first(raised)
            name = error.name if isinstance(error, HandlerRaised) else type(error).__name__
            _stop_at_limit(read_limit(raised, time.time()), limits, is_last=not left)
            if not left:
                raise TaskFailed(name, f"The turn broke {limits.tries} times, at last by {name}: {error}") from None
            log.warning("%s/%s: the turn broke and is tried again: %s: %s", work.workflow_id, work.state, name, error)
        await asyncio.sleep(pause * JITTER.uniform(0.5, 1))
        pause = min(2 * pause, _LONGEST_PAUSE_S)
    raise AssertionError("the last try returns or raises")


def _stop_at_limit(limit: AgentLimited | None, limits: TurnLimits, *, is_last: bool) -> None:
    """Raise what ends the tries: the limit, or the failure that the agents file asks for."""
    if limit is None:
        return
    if limit.kind == "busy":
        if is_last and limits.waits_if_busy:
            raise _with_time(limit) from None
        return
    if limits.fails_at_limit and limit.kind != "wait":
        raise TaskFailed(ACCOUNT_LIMIT, limit.cause) from None
    raise limit from None


def _with_time(limit: AgentLimited) -> AgentLimited:
    """Return when to ask an overloaded provider again: a minute, unless it told a shorter time."""
    after_s = min(limit.after_s or _BUSY_S, _BUSY_S)
    return AgentLimited(after_s=after_s, kind=limit.kind, cause=limit.cause)


async def _turn(work: AgentWork, tools: Opening, *, handler: Handler, limits: TurnLimits) -> Json | ModelAnswer:
    return await _bounded(_worked(work, tools, handler), limits)


async def _worked(work: AgentWork, tools: Opening, handler: Handler) -> Json | ModelAnswer:
    async with tools() as opened:
        try:
            return await handler(work, opened)
        except SystemExit as end:  # outside a coroutine it would end the event loop
            raise RuntimeError(f"the handler wanted to end the process ({end})") from None


async def _bounded(turn: Awaitable[Json], limits: TurnLimits) -> Json:
    """Await a turn for as long as it may take. When this is cancelled the turn is, too, and gets some time to end."""
    task = asyncio.ensure_future(turn)
    try:
        done, _ = await asyncio.wait({task}, timeout=limits.turn_s)
    except asyncio.CancelledError:
        await _end(task, limits.grace_s)
        raise
    if not done:
        await _end(task, limits.grace_s)
        raise TimeoutError(f"the turn was not over after {limits.turn_s:g} s")
    if task.cancelled():
        raise RuntimeError("the handler cancelled itself")
    return task.result()


async def _end(task: asyncio.Future[Json], grace_s: float) -> None:
    task.cancel()
    _, running = await asyncio.wait({task}, timeout=grace_s)
    if running:
        log.warning("a turn does not notice that it is cancelled, and is left behind")


def _first(error: BaseException) -> BaseException:
    """Return what is wrong out of a group of exceptions, as task groups raise them."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error
