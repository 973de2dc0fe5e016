"""Runs the agents of an agents file: a worker for each agent id, whose every state is worked on by its handler.

The worker keeps inbox, leases and results (`dcf.worker`); here is only what a piece of work is made of and who does it.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from dcf.errors import DcfError, InvalidArgument
from dcf.hosting.agents_file import AgentsFile, HostedAgent
from dcf.hosting.children import ChildCommand, ChildHandler
from dcf.hosting.loading import load_handler
from dcf.hosting.own_tools import WithOwnTools
from dcf.hosting.protocol import AgentTools, AgentWork, Handler, Json, TaskFailed
from dcf.hosting.reserving import UNRESERVED, AccountTurns, AccountUse, Reserving
from dcf.hosting.skill_tools import SkillTexts, taken
from dcf.hosting.tool_servers import opened_tools
from dcf.hosting.turns import TurnLimits, carried_out
from dcf.telemetry import tracing
from dcf.values.records import record
from dcf.worker import ToolCaller, Work, Worker
from dcf.worker.context import TaskContext, settle_turn
from dcf.worker.loop import LOOP
from dcf.worker.observer import Witness

log = logging.getLogger(__name__)

_LONGEST_BUSY_S = 3600
"""After so many parked seconds, an overloaded provider fails the state."""


@record(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """How a host keeps its leases, and how often it tries a turn."""

    lease_ttl_s: int = 30
    wait_s: float = 20
    pause_s: float = 1.0


class AgentHost:
    """The agents of one process."""

    def __init__(
        self,
        tools: ToolCaller,
        file: AgentsFile,
        options: HostOptions,
        witness: Callable[[str], Witness | None] = lambda _: None,
    ) -> None:
        self._options = options
        self._tools = tools
        self._agents = file.agents
        self._handlers = _handlers_of(file)
        self.workers: dict[str, Worker] = {
            agent.profile.name: Worker(
                tools,
                agent.profile.name,
                {},
                otherwise=partial(self._work, agent),
                concurrency=agent.concurrency,
                lease_ttl_s=options.lease_ttl_s,
                wait_s=options.wait_s,
                witness=witness(agent.profile.name),
            )
            for agent in file.agents
        }

    def begin(self) -> None:
        """Start the processes of handlers, and give agents their accounts; raise InvalidArgument if one is unusable."""
        _on_loop(lambda: _all(pool.begin() for pool in self._pools()))
        for agent in self._agents:
            if agent.account:
                self._assign(agent)

    def _assign(self, agent: HostedAgent) -> None:
        answer = self._tools.call("assign_account", agent_id=agent.profile.name, account=agent.account, hosted=True)
        if answer.get("code") != "ok":
            problem = f"Agent {agent.profile.name} does not get the account {agent.account}: {answer.get('error')}"
            raise InvalidArgument(problem, str(answer.get("hint") or "Correct the file."))

    def serve(self, ended: Callable[[BaseException], None]) -> None:
        """Serve every agent on a thread; call `ended` with the error that ends one of them before the host does."""

        def keep(worker: Worker) -> None:
            try:
                worker.serve()
            except BaseException as error:  # noqa: BLE001 - told to whoever started the host
                ended(error)

        for name, worker in self.workers.items():
            threading.Thread(target=keep, args=(worker,), name=f"dcf-agent-{name}", daemon=True).start()

    def drain(self, grace_s: float) -> dict[str, list[Work]]:
        """Take no more work, wait for running turns up to the grace period; return the released states by agent."""
        given_back: dict[str, list[Work]] = {}

        def drained(name: str, worker: Worker) -> None:
            given_back[name] = worker.drain(grace_s)

        threads = [threading.Thread(target=drained, args=each) for each in self.workers.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return given_back

    def close(self) -> None:
        """End the processes of handlers."""
        _on_loop(lambda: _all(pool.close() for pool in self._pools()))

    def processes(self) -> list[int]:
        """Return the ids of the processes of handlers."""
        return [pid for pool in self._pools() for pid in pool.pids]

    def _pools(self) -> set[ChildHandler]:
        return {handler for handler in self._handlers.values() if isinstance(handler, ChildHandler)}

    async def _work(self, agent: HostedAgent, state_input: Json, context: TaskContext) -> Json:
        try:
            skills = taken(context.brief.get("skills") or (), agent.servers, agent.environment)
        except DcfError as error:
            raise TaskFailed("DCF.SkillUnusable", error.message) from None
        work = _work_of(agent, state_input, context, skills)
        waited_s = (context.brief.get("parked") or {}).get("seconds", 0)
        limits = TurnLimits(
            tries=agent.tries,
            turn_s=agent.turn_timeout_s,
            pause_s=self._options.pause_s,
            fails_at_limit=agent.fails_at_limit,
            waits_if_busy=waited_s < _LONGEST_BUSY_S,
        )
        reserving: Reserving = UNRESERVED
        if agent.account:
            use = AccountUse(account=agent.account, estimate_tokens=agent.estimate_tokens)
            reserving = AccountTurns(self._tools, use, work, partial(settle_turn, context))
        handler = self._handlers[agent.profile.name]
        return await carried_out(work, _opening(agent, skills, context), handler, limits, reserving)


def _opening(
    agent: HostedAgent, skills: SkillTexts, context: TaskContext
) -> Callable[[], AbstractAsyncContextManager[AgentTools]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[AgentTools]:
        async with opened_tools(skills.servers) as tools:
            yield WithOwnTools(tools, agent.dcf_tools, context)

    return opened


def _work_of(agent: HostedAgent, state_input: Json, context: TaskContext, skills: SkillTexts) -> AgentWork:
    brief = context.brief
    return AgentWork(
        workflow_id=context.workflow_id,
        state=context.state,
        input=state_input,
        agent=agent.profile,
        instructions=context.instructions or "",
        output_schema=context.output_schema,
        errors=context.errors,
        skills=skills.texts,
        attempt=context.attempt,
        epoch=context.epoch,
        idempotency_key=context.idempotency_key,
        deadline=None if context.deadline is None else context.deadline.isoformat(),
        last_error=brief.get("last_error"),
        questions=tuple(brief.get("questions") or ()),
        traceparent="" if tracing.current is None else context.traceparent,
    )


def _handlers_of(file: AgentsFile) -> "dict[str, Handler | ChildHandler]":
    """Return the handler of each agent. Those whose processes would be the same share them."""
    pools: dict[Any, ChildHandler] = {}
    handlers: dict[str, Handler | ChildHandler] = {}
    for agent in file.agents:
        if agent.python is None:
            handlers[agent.profile.name] = _loaded(agent.source, file)
            continue
        command = ChildCommand(
            source=agent.source, folder=file.folder, python=agent.python, environment=agent.environment
        )
        key = (command.source, command.python, frozenset(command.environment.items()))
        handlers[agent.profile.name] = pools.setdefault(key, ChildHandler(command))
    return handlers


def _loaded(source: str, file: AgentsFile) -> Handler:
    try:
        return load_handler(source, file.folder)
    except InvalidArgument:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's code raises while it is imported
        raise InvalidArgument(
            f"The handler {source} cannot be imported: {type(error).__name__}: {error}.", "Correct the file."
        ) from None


async def _all(coroutines: Any) -> Sequence[Any]:
    return await asyncio.gather(*coroutines)


def _on_loop(make: Callable[[], Any]) -> Any:
    """Run a coroutine to its end on the loop that the handlers run on: their pipes belong to it."""
    done: Future[Any] = Future()

    def tell(value: Any, error: BaseException | None) -> None:
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    LOOP.start(make, tell)
    return done.result()
