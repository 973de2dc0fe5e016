"""Uses of the public API as type checkers must understand them: mypy and pyright, both strict, read this file.

Nothing here runs. Each `assert_type` says what a user's editor says. `test_types.py` has both read it.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal, assert_type

import dcf
from dcf.client import (
    AnsweredQuestion,
    AnsweredTask,
    AskedQuestion,
    AsyncClient,
    Client,
    CorrectedResult,
    CreatedSchedule,
    DecidedGate,
    DefinitionDetails,
    DeletedDefinition,
    DeletedFinding,
    DeletedRun,
    DeletedSchedule,
    EndedTask,
    ExplainedCause,
    ExplainedRun,
    FinalizedRun,
    FindingDetails,
    HeldRun,
    LeftNote,
    ListedRun,
    ListedTask,
    LivingTask,
    NotifiedAgents,
    OperatedRun,
    RegisteredAgent,
    ReleasedState,
    ResolvedState,
    RetriedRun,
    RunDetails,
    RunEvent,
    RunExport,
    RunStatusName,
    ScheduleDetails,
    SentSignal,
    Serving,
    ShownDefinition,
    ShownFinding,
    StartedRun,
    StateDetails,
    ValidatedWorkflow,
    WaitingGate,
)
from dcf.errors import DcfError, InvalidDefinition, Problem, Refused, RunFailed


@dcf.task("Greet")
def greet(given: dict[str, str]) -> dict[str, str]:
    """Keep its own type."""
    return {"greeting": given["name"]}


@dcf.task("Charge")
async def charge(given: dict[str, int], context: dcf.TaskContext) -> int:
    """May be asynchronous, and told of its call."""
    context.heartbeat()
    assert_type(context.attempt, int)
    assert_type(context.idempotency_key, str)
    return given["amount"]


assert_type(greet({"name": "Ada"}), dict[str, str])


def uses_of_gates() -> None:
    """Say what the verbs about gates return."""
    with dcf.connect() as client:
        assert_type(client.list_gates(agent_id="rita"), Iterator[WaitingGate])
        assert_type(client.decide_gate("r", "Greet", "review", "pass", content_sha256="0" * 64), DecidedGate)
        assert_type(client.override_gate("r", "Greet", reason="checked by phone"), DecidedGate)


def uses_of_a_client() -> None:
    """Say what each verb returns."""
    assert_type(dcf.connect(), Client)
    assert_type(dcf.connect_async("redis://localhost"), AsyncClient)
    with dcf.connect("http://127.0.0.1:8337/mcp", api_key="secret", deadline_s=5) as client:
        assert_type(client, Client)
        assert_type(client.start(Path("hello.json"), {"name": "Ada"}, agents="greeter"), StartedRun)
        started = client.start({"asl": {}}, agents={"Greet": ["ann", "bob"]}, tags=["nightly"])
        assert_type(started.workflow_id, str)
        assert_type(client.start("hello@1").run_status, RunStatusName)
        assert_type(client.get("r"), RunDetails)
        assert_type(client.get("r").states["Greet"], StateDetails)
        assert_type(client.get("r").error, str | None)
        assert_type(client.wait("r", timeout_s=5).is_over, bool)
        assert_type(client.result("r"), Any)
        assert_type(client.list(status="failed", stuck=True), Iterator[ListedRun])
        assert_type(client.events("r", follow=True, types=["RunFailed"]), Iterator[RunEvent])
        assert_type(client.why("r", "Greet"), ExplainedRun)
        assert_type(client.why("r").findings, tuple[ExplainedCause, ...])
        assert_type(client.cancel("r", reason="enough", request_id="1"), OperatedRun)
        assert_type(client.pause("r"), OperatedRun)
        assert_type(client.resume(workflow_id="r"), OperatedRun)
        assert_type(client.retry("r"), RetriedRun)
        assert_type(client.rerun("r", from_state="Greet"), StartedRun)
        assert_type(client.resolve("r", "Greet", output=None), ResolvedState)
        assert_type(client.release("r", "Greet"), ReleasedState)
        assert_type(client.notify("r"), NotifiedAgents)
        assert_type(client.hold("r", hold=False), HeldRun)
        assert_type(client.delete("r"), DeletedRun)
        assert_type(client.finalize("r", overall_status="succeeded"), FinalizedRun)
        assert_type(client.export("r"), RunExport)
        assert_type(client.validate({"asl": {}}), ValidatedWorkflow)
        assert_type(client.validate({}).problems, tuple[Problem, ...])


def uses_of_people_programs_and_schedules() -> None:
    """Say what answers, signals, agents and schedules return."""
    with dcf.connect() as client:
        assert_type(client.list_human_tasks(person="alice"), Iterator[ListedTask])
        assert_type(client.answer_human_task("r", "Ask", "approve", agent_id="alice"), AnsweredTask)
        assert_type(client.leave_note("r", "odd numbers", agent_id="ann"), LeftNote)
        assert_type(client.ask_question("r", "Greet", "token", "Why?", ask=["alice", {"group": "x"}]), AskedQuestion)
        assert_type(client.answer_question("r", "q1", "so", agent_id="alice"), AnsweredQuestion)
        assert_type(client.correct_result("r", "Greet", {"a": 1}, lease_token="token"), CorrectedResult)
        assert_type(client.signal("r", "paid", {"amount": 7}), SentSignal)
        assert_type(client.send_task_success("token", [1]), EndedTask)
        assert_type(client.send_task_failure("token", error="Declined"), EndedTask)
        assert_type(client.send_task_heartbeat("token"), LivingTask)
        assert_type(client.register_agent("hook", "https://agents.example/dcf"), RegisteredAgent)
        assert_type(client.list_registered_agents(), Iterator[RegisteredAgent])
        assert_type(client.create_schedule("nightly", "hello", cron="0 3 * * *"), CreatedSchedule)
        assert_type(client.list_schedules(), Iterator[ScheduleDetails])
        assert_type(client.operate_schedule("nightly", "trigger").workflow_id, str | None)
        assert_type(client.delete_schedule("nightly"), DeletedSchedule)
        assert_type(client.serve({"Greet": greet}, "greeter", concurrency=4), Serving)


def uses_of_findings_and_the_catalogue() -> None:
    """Say what is kept beyond runs."""
    with dcf.connect() as client:
        assert_type(client.add_finding("high", "data", "No currency", "7 is not 7 EUR.", tags=["api"]), ShownFinding)
        assert_type(client.search_findings("c++", severity=["high", "low"]), Iterator[FindingDetails])
        assert_type(client.update_finding("f-1", superseded_by="f-2").finding, FindingDetails)
        assert_type(client.delete_finding("f-1"), DeletedFinding)
        assert_type(client.put_definition("rule", "python", "Type it.", globs=["*.py"]), ShownDefinition)
        assert_type(client.search_definitions(kind="rule", file_types=["a.py"]), Iterator[DefinitionDetails])
        assert_type(client.delete_definition("rule", "python"), DeletedDefinition)


async def uses_of_an_asynchronous_client() -> None:
    """Say the same with await."""
    async with dcf.connect_async() as client:
        assert_type(client, AsyncClient)
        assert_type(await client.start({"asl": {}}, 1), StartedRun)
        assert_type(await client.get("r"), RunDetails)
        assert_type(await client.result("r", timeout_s=5), Any)
        assert_type(client.list(workflow="hello"), AsyncIterator[ListedRun])
        async for event in client.events("r", follow=True):
            assert_type(event, RunEvent)
        assert_type(await client.cancel("r"), OperatedRun)
        async with client.serve({"Greet": greet}, "greeter") as serving:
            assert_type(serving, Serving)
            assert_type(await serving.stopped(grace_s=5), None)


def uses_of_errors(client: Client) -> None:
    """Say what errors tell."""
    try:
        client.result("r")
    except RunFailed as failed:
        assert_type(failed.error, str | None)
        assert_type(failed.status, str)
    except Refused as refused:
        assert_type(refused.code, str)
        assert_type(refused.retry_after_s, float | None)
    except InvalidDefinition as invalid:
        assert_type(invalid.problems, tuple[Problem, ...])
    except DcfError as error:
        assert_type(error.hint, str)


def uses_without_a_server() -> None:
    """Say what works on a workflow alone."""
    assert_type(dcf.validate({}), dict[str, Any])
    assert_type(dcf.simulate({}, 1), dict[str, Any])
    assert_type(dcf.__version__, str)


def status_of(run: RunDetails) -> Literal["good", "bad", "open"]:
    """Show that a checker knows all statuses: it would say that a branch is missing."""
    match run.status:
        case "succeeded" | "partial":
            return "good"
        case "failed" | "cancelled":
            return "bad"
        case "running":
            return "open"
