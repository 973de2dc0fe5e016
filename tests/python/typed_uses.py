"""Uses of the public API as type checkers must understand them: mypy and pyright, both strict, read this file.

Nothing here runs. Each `assert_type` says what a user's editor says. `test_types.py` has both read it.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, assert_type

import dcf
from dcf.client import (
    AcquiredLease,
    AddedEntry,
    AddedUnits,
    AgentContext,
    AnsweredQuestion,
    AnsweredTask,
    AskedQuestion,
    AsyncClaim,
    AsyncClient,
    AwaitedEvent,
    ChangedDocument,
    Claim,
    ClaimedState,
    Client,
    ClosedRun,
    CompletedState,
    CompletedStates,
    CorrectedResult,
    CreatedControlPlane,
    CreatedSchedule,
    CreatedWorkers,
    DecidedGate,
    DefinitionDetails,
    DeletedAgent,
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
    KeptArtifact,
    LeftNote,
    ListedPath,
    ListedProject,
    ListedRun,
    ListedSkills,
    ListedTask,
    ListedWork,
    LivingTask,
    LoadedSkill,
    MadeProject,
    MyAssignment,
    NotifiedAgents,
    OpenedRun,
    OperatedRun,
    ReadArtifact,
    ReadControlPlane,
    ReadEntry,
    ReadSums,
    RegisteredAgent,
    ReleasedState,
    RenewedLease,
    ResolvedState,
    RetriedRun,
    RunDetails,
    RunEvent,
    RunExport,
    RunStatusName,
    ScheduleDetails,
    SearchedAll,
    SentSignal,
    Serving,
    ShownDefinition,
    ShownFinding,
    StartedRun,
    StateDetails,
    UpdatedState,
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
    """May be asynchronous, and gets the context of its call."""
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


@dataclass
class Order:
    """An input of a run, and an output."""

    amount: int


@dcf.task
def price(order: Order) -> Order:
    """Price."""
    return order


@dcf.flow
def pricing(order: Order) -> Order:
    """Price an order."""
    return price(order)


def uses_of_flows_and_records() -> None:
    """Serve a flow, and hand records over; get times."""
    with dcf.connect() as client, client.serve(pricing, "pricer", concurrency=2, lease_ttl_s=60) as serving:
        assert_type(serving, Serving)
        started = client.start(pricing, pricing.input(Order(1)), agents="pricer")
        assert_type(client.start(pricing, {"order": Order(1)}), StartedRun)
        assert_type(client.start({"asl": {}}, Order(1)), StartedRun)
        assert_type(client.close_run("r", output=Order(1), metrics={"n": 1}), ClosedRun)
        assert_type(client.send_task_success("token", Order(1), usage={"seconds": 1}), EndedTask)
        assert_type(client.serve({"Greet": greet, "Charge": charge, "Price": price}, "all"), Serving)
        assert_type(client.get(started.workflow_id).created_at, datetime | None)
        assert_type(client.get("r").states["Greet"].finished_at, datetime | None)
        for event in client.events("r"):
            assert_type(event.at, datetime)
        assert_type(next(client.list_schedules()).next_at, datetime | None)


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


def uses_of_work_and_leases() -> None:
    """Show the types that a program gets that does work itself."""
    with dcf.connect() as client:
        assert_type(client.await_workflow_event("ann", timeout_s=5, lease_states=("Greet",)), AwaitedEvent)
        assert_type(client.await_workflow_event("ann").acknowledged, bool | None)
        assert_type(client.find_work("ann", status="ready"), Iterator[ListedWork])
        claim = client.claim_work("ann")
        assert_type(claim, Claim | None)
        if claim is not None:
            assert_type(claim.state, str)
            assert_type(claim.complete({"n": 1}, usage={"seconds": 2}), UpdatedState)
            assert_type(claim.fail("TooVague", "No figures."), UpdatedState)
            assert_type(claim.renew(60), RenewedLease)
            assert_type(claim.release("another time"), ReleasedState)
        assert_type(client.claim_ready_state("r", "ann"), ClaimedState)
        assert_type(client.acquire_state_lease("r", "Greet", "ann"), AcquiredLease)
        assert_type(client.renew_state_lease("r", "Greet", "token"), RenewedLease)
        done = client.update_workflow_control_plane(
            "r", "Greet", new_status="succeeded", output=1, usage={"seconds": 2}
        )
        assert_type(done, UpdatedState)
        assert_type(done.run_status, RunStatusName | None)
        completed = client.complete_states("r", [{"state": "Greet", "lease_token": "token", "output_json": 1}])
        assert_type(completed, CompletedStates)
        assert_type(completed.completed, tuple[CompletedState, ...])
        assert_type(client.read_workflow_control_plane("r", summary=True), ReadControlPlane)
        assert_type(client.get_my_assignment("ann"), MyAssignment)
        assert_type(client.load_skill("skill://pricing", "ann"), LoadedSkill)
        assert_type(client.get_skillset(), ListedSkills)


def uses_of_what_is_kept_beside_runs() -> None:
    """Say what projects, journals, artifacts, documents and files return."""
    with dcf.connect() as client:
        assert_type(client.put_project("shop", paths=["/srv/shop", {"path": "/srv", "machine": "ci"}]), MadeProject)
        assert_type(client.list_projects(), Iterator[ListedProject])
        assert_type(client.add_journal_entry("r", "decision", "so", agent_id="ann"), AddedEntry)
        assert_type(client.read_journal("r", kind="decision", since=datetime.now(UTC)), Iterator[ReadEntry])
        assert_type(client.put_artifact("r", b"content", name="a"), KeptArtifact)
        assert_type(client.get_artifact("r", "a").content, bytes)
        assert_type(client.get_artifact("r", "a"), ReadArtifact)
        assert_type(client.json_set("doc:a", "$.a", [1]), ChangedDocument)
        assert_type(client.list_directory(recursive=True), Iterator[ListedPath])
        assert_type(client.get_context("r"), AgentContext)
        assert_type(client.search("price", types=["finding"]), SearchedAll)
        assert_type(client.read_usage("r", until="1h"), ReadSums)


def uses_of_runs_that_grow_and_of_agents() -> None:
    """Show the types of runs without a workflow, and of runs that are created without being started."""
    with dcf.connect() as client:
        assert_type(client.open_run("migration", tags=["db"]), OpenedRun)
        assert_type(client.add_units("r", [{"name": "a"}]), AddedUnits)
        assert_type(client.create_workflow_control_plane({"asl": {}}, gates=[{"Name": "lint"}]), CreatedControlPlane)
        assert_type(client.create_worker_agents(workflow_id="r", default_tags=("team:x",)), CreatedWorkers)
        assert_type(client.delete_agent(agent_name="a"), DeletedAgent)


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
        assert_type(await client.await_workflow_event("ann"), AwaitedEvent)
        assert_type(client.find_work(), AsyncIterator[ListedWork])
        claim = await client.claim_work("ann", workflow_id="r")
        assert_type(claim, AsyncClaim | None)
        if claim is not None:
            assert_type(await claim.complete({"n": 1}), UpdatedState)
            assert_type(await claim.fail("TooVague"), UpdatedState)
            assert_type(await claim.renew(), RenewedLease)
            assert_type(await claim.release(), ReleasedState)
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
