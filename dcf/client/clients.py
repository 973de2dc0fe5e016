"""The two clients, one that blocks and one that awaits. Their methods are the verbs of the modules beside."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from dcf.client import verbs, watching
from dcf.client.exchange import (
    AwaitedTransport,
    BlockingTransport,
    Conversation,
    Stream,
    carry_out,
    carry_out_async,
    hand_out,
    hand_out_async,
)
from dcf.client.features import (
    artifacts,
    contexts,
    external,
    findings,
    gates,
    growing,
    journal,
    people,
    projects,
    questions,
    schedules,
    webhooks,
    work,
)
from dcf.client.features import search as searching
from dcf.client.methods import awaited, blocking, iterating, iterating_async
from dcf.client.serving import LentTools, Serving

if TYPE_CHECKING:
    from dcf.worker import TaskFunction

T = TypeVar("T")


class Client:
    """Starts, watches and operates runs; made by `dcf.connect`. Usable from any thread.

    Every method raises an error of `dcf.errors`: `Refused` for a request that is refused, with its stable `code`.
    """

    def __init__(self, tools: BlockingTransport, close: Callable[[], object], lend: Callable[[], LentTools]) -> None:
        self._tools = tools
        self._close = close
        self._lend = lend
        self._servings: list[Serving] = []

    start = blocking(verbs.start)
    rerun = blocking(verbs.rerun)
    retry = blocking(verbs.retry)
    get = blocking(watching.get)
    list = iterating(watching.list_runs)
    events = iterating(watching.events)
    wait = blocking(watching.wait)
    result = blocking(watching.result)
    why = blocking(verbs.why)
    cancel = blocking(verbs.cancel)
    pause = blocking(verbs.pause)
    resume = blocking(verbs.resume)
    resolve = blocking(verbs.resolve)
    release = blocking(verbs.release)
    notify = blocking(verbs.notify)
    finalize = blocking(verbs.finalize)
    delete = blocking(verbs.delete)
    hold = blocking(verbs.hold)
    export = blocking(verbs.export)
    validate = blocking(verbs.validate)
    language = blocking(verbs.language)
    list_human_tasks = iterating(people.list_human_tasks)
    answer_human_task = blocking(people.answer_human_task)
    leave_note = blocking(questions.leave_note)
    ask_question = blocking(questions.ask_question)
    answer_question = blocking(questions.answer_question)
    correct_result = blocking(questions.correct_result)
    get_context = blocking(contexts.get_context)
    search = blocking(searching.search)
    add_journal_entry = blocking(journal.add_journal_entry)
    read_journal = iterating(journal.read_journal)
    resolve_issue = blocking(journal.resolve_issue)
    find_work = iterating(work.find_work)
    claim_work = blocking(work.claim_work)
    read_usage = blocking(work.read_usage)
    set_budget = blocking(work.set_budget)
    open_run = blocking(growing.open_run)
    add_units = blocking(growing.add_units)
    seal_group = blocking(growing.seal_group)
    retry_unit = blocking(growing.retry_unit)
    rewind_unit = blocking(growing.rewind_unit)
    close_run = blocking(growing.close_run)
    signal = blocking(external.signal)
    send_task_success = blocking(external.send_task_success)
    send_task_failure = blocking(external.send_task_failure)
    send_task_heartbeat = blocking(external.send_task_heartbeat)
    register_agent = blocking(webhooks.register_agent)
    list_registered_agents = iterating(webhooks.list_registered_agents)
    create_schedule = blocking(schedules.create_schedule)
    list_schedules = iterating(schedules.list_schedules)
    operate_schedule = blocking(schedules.operate_schedule)
    delete_schedule = blocking(schedules.delete_schedule)
    list_gates = iterating(gates.list_gates)
    decide_gate = blocking(gates.decide_gate)
    override_gate = blocking(gates.override_gate)
    put_project = blocking(projects.put_project)
    get_project = blocking(projects.get_project)
    list_projects = iterating(projects.list_projects)
    delete_project = blocking(projects.delete_project)
    add_finding = blocking(findings.add_finding)
    search_findings = iterating(findings.search_findings)
    get_finding = blocking(findings.get_finding)
    update_finding = blocking(findings.update_finding)
    delete_finding = blocking(findings.delete_finding)
    promote_issue = blocking(findings.promote_issue)
    put_definition = blocking(findings.put_definition)
    get_definition = blocking(findings.get_definition)
    search_definitions = iterating(findings.search_definitions)
    delete_definition = blocking(findings.delete_definition)
    put_artifact = blocking(artifacts.put_artifact)
    get_artifact = blocking(artifacts.get_artifact)
    list_artifacts = iterating(artifacts.list_artifacts)

    def serve(
        self,
        functions: "Mapping[str, TaskFunction]",
        agent_id: str,
        *,
        concurrency: int = 1,
        lease_ttl_s: int = 30,
    ) -> Serving:
        """Serve functions, by the names of their states, as an agent on threads of this process, from now on.

        `with client.serve(...)` stops it at the end of the block; otherwise `close` does. Runs reach it when they are
        started with `agents=agent_id`. `wait` and `result` raise what ended it.
        """
        serving = Serving(self._lend(), functions, agent_id, concurrency=concurrency, lease_ttl_s=lease_ttl_s)
        self._servings.append(serving)
        return serving

    def close(self) -> None:
        """Stop what this client serves, and close its connections."""
        for serving in self._servings:
            serving.stop()
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _carry_out(self, steps: Conversation[T]) -> T:
        return carry_out(steps, self._tools, self._pause)

    def _hand_out(self, steps: Stream[T]) -> Iterator[T]:
        return hand_out(steps, self._tools, self._pause)

    def _pause(self, seconds: float) -> None:
        for serving in self._servings:
            serving.check()
        time.sleep(seconds)


class AsyncClient:
    """Starts, watches and operates runs without blocking the event loop; made by `dcf.connect_async`.

    Its methods are those of `Client`, to be awaited; `list` and `events` are for `async for`.
    """

    def __init__(
        self,
        tools: AwaitedTransport,
        *,
        pause: Callable[[float], Awaitable[object]],
        open_: Callable[[], Awaitable[object]],
        close: Callable[[], Awaitable[object]],
        lend: Callable[[], LentTools],
    ) -> None:
        self._tools = tools
        self._sleep = pause
        self._open = open_
        self._close = close
        self._lend = lend
        self._servings: list[Serving] = []

    start = awaited(verbs.start)
    rerun = awaited(verbs.rerun)
    retry = awaited(verbs.retry)
    get = awaited(watching.get)
    list = iterating_async(watching.list_runs)
    events = iterating_async(watching.events)
    wait = awaited(watching.wait)
    result = awaited(watching.result)
    why = awaited(verbs.why)
    cancel = awaited(verbs.cancel)
    pause = awaited(verbs.pause)
    resume = awaited(verbs.resume)
    resolve = awaited(verbs.resolve)
    release = awaited(verbs.release)
    notify = awaited(verbs.notify)
    finalize = awaited(verbs.finalize)
    delete = awaited(verbs.delete)
    hold = awaited(verbs.hold)
    export = awaited(verbs.export)
    validate = awaited(verbs.validate)
    language = awaited(verbs.language)
    list_human_tasks = iterating_async(people.list_human_tasks)
    answer_human_task = awaited(people.answer_human_task)
    leave_note = awaited(questions.leave_note)
    ask_question = awaited(questions.ask_question)
    answer_question = awaited(questions.answer_question)
    correct_result = awaited(questions.correct_result)
    get_context = awaited(contexts.get_context)
    search = awaited(searching.search)
    add_journal_entry = awaited(journal.add_journal_entry)
    read_journal = iterating_async(journal.read_journal)
    resolve_issue = awaited(journal.resolve_issue)
    find_work = iterating_async(work.find_work)
    claim_work = awaited(work.claim_work)
    read_usage = awaited(work.read_usage)
    set_budget = awaited(work.set_budget)
    open_run = awaited(growing.open_run)
    add_units = awaited(growing.add_units)
    seal_group = awaited(growing.seal_group)
    retry_unit = awaited(growing.retry_unit)
    rewind_unit = awaited(growing.rewind_unit)
    close_run = awaited(growing.close_run)
    signal = awaited(external.signal)
    send_task_success = awaited(external.send_task_success)
    send_task_failure = awaited(external.send_task_failure)
    send_task_heartbeat = awaited(external.send_task_heartbeat)
    register_agent = awaited(webhooks.register_agent)
    list_registered_agents = iterating_async(webhooks.list_registered_agents)
    create_schedule = awaited(schedules.create_schedule)
    list_schedules = iterating_async(schedules.list_schedules)
    operate_schedule = awaited(schedules.operate_schedule)
    delete_schedule = awaited(schedules.delete_schedule)
    list_gates = iterating_async(gates.list_gates)
    decide_gate = awaited(gates.decide_gate)
    override_gate = awaited(gates.override_gate)
    put_project = awaited(projects.put_project)
    get_project = awaited(projects.get_project)
    list_projects = iterating_async(projects.list_projects)
    delete_project = awaited(projects.delete_project)
    add_finding = awaited(findings.add_finding)
    search_findings = iterating_async(findings.search_findings)
    get_finding = awaited(findings.get_finding)
    update_finding = awaited(findings.update_finding)
    delete_finding = awaited(findings.delete_finding)
    promote_issue = awaited(findings.promote_issue)
    put_definition = awaited(findings.put_definition)
    get_definition = awaited(findings.get_definition)
    search_definitions = iterating_async(findings.search_definitions)
    delete_definition = awaited(findings.delete_definition)
    put_artifact = awaited(artifacts.put_artifact)
    get_artifact = awaited(artifacts.get_artifact)
    list_artifacts = iterating_async(artifacts.list_artifacts)

    def serve(
        self,
        functions: "Mapping[str, TaskFunction]",
        agent_id: str,
        *,
        concurrency: int = 1,
        lease_ttl_s: int = 30,
    ) -> Serving:
        """Serve functions as `Client.serve` does, on threads beside the event loop: `async with client.serve(...)`."""
        serving = Serving(self._lend(), functions, agent_id, concurrency=concurrency, lease_ttl_s=lease_ttl_s)
        self._servings.append(serving)
        return serving

    async def close(self) -> None:
        """Stop what this client serves, and close its connections."""
        for serving in self._servings:
            await serving.stopped()
        await self._close()

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _carry_out(self, steps: Conversation[T]) -> T:
        return await carry_out_async(steps, self._tools, self._pause)

    def _hand_out(self, steps: Stream[T]) -> AsyncIterator[T]:
        return hand_out_async(steps, self._tools, self._pause)

    async def _pause(self, seconds: float) -> None:
        for serving in self._servings:
            serving.check()
        await self._sleep(seconds)
