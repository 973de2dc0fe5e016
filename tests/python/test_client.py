"""The Python client: the verbs, on every kind of it."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import dcf
from dcf.client import Client
from dcf.client import serving as client_serving
from dcf.client.calls import call_pages
from dcf.errors import (
    InvalidArgument,
    InvalidDefinition,
    Refused,
    RunFailed,
    UnknownDefinition,
    UnknownRun,
    UnknownState,
    WaitTimedOut,
)
from tests.python.conftest import greeter
from tests.python.workflows import EMPTY, FAILING, HELLO, chain
from tests.support.tables import rows
from tests.support.waiting import PATIENCE_S


def test_a_run_is_started_served_and_ends_with_its_output(
    client: Client, served: Client, run_id: str, agent: str
) -> None:
    with greeter(served, agent):
        started = client.start(HELLO, {"name": "Ada"}, agents=agent, workflow_id=run_id, tags=["greeting"])
        assert (started.workflow_id, started.existed) == (
            run_id,
            False,
        )  # a warning: its worker may not have called yet
        assert client.result(run_id, timeout_s=PATIENCE_S) == {"greeting": "Hello, Ada!"}
    result = client.get(run_id)
    assert (result.status, result.is_over, result.output) == ("succeeded", True, {"greeting": "Hello, Ada!"})
    assert (result.tags, result.workflow_name) == (("greeting",), "Greet")
    assert (result.states["Greet"].status, result.states["Greet"].attempts) == ("succeeded", 1)
    assert client.wait(run_id) == result


def test_a_started_document_is_started_again_by_its_name(client: Client, run_id: str) -> None:
    first = client.start(EMPTY | {"workflow_name": f"named-{run_id}"}, "plain text")
    assert client.result(first.workflow_id) == "plain text"
    again = client.start(f"named-{run_id}", None)
    assert again.workflow_id != first.workflow_id
    assert client.result(again.workflow_id) is None
    with pytest.raises(UnknownDefinition):
        client.start(f"never-{run_id}")


def test_a_start_that_is_repeated_with_its_request_id_finds_the_same_run(client: Client, run_id: str) -> None:
    first = client.start(EMPTY, request_id=run_id)
    again = client.start(EMPTY, request_id=run_id)
    assert (again.workflow_id, again.existed) == (first.workflow_id, True)
    assert client.start(EMPTY).workflow_id != first.workflow_id


def test_a_run_that_does_not_succeed_raises_its_error_and_cause(
    client: Client, served: Client, run_id: str, agent: str
) -> None:
    with greeter(served, agent):
        client.start(FAILING, agents={"Fail": [agent]}, workflow_id=run_id)
        with pytest.raises(RunFailed) as failed:
            client.result(run_id, timeout_s=PATIENCE_S)
    error = failed.value
    assert (error.code, error.status, error.workflow_id) == ("run_failed", "failed", run_id)
    assert (error.error, error.cause) == ("NoName", "the input has no name")
    assert error.message == f"Run '{run_id}' is failed (NoName: the input has no name)."
    assert f'`client.retry("{run_id}")` lets the run continue' in str(error)


def test_waiting_ends_after_the_time_that_was_given_and_the_run_goes_on(client: Client, run_id: str) -> None:
    client.start(HELLO, workflow_id=run_id)
    with pytest.raises(WaitTimedOut, match="had not ended") as late:
        client.wait(run_id, timeout_s=0)
    assert isinstance(late.value, TimeoutError)
    assert client.get(run_id).status == "running"


def test_a_run_is_paused_explained_resumed_resolved_and_cancelled(client: Client, run_id: str, agent: str) -> None:
    client.start(chain("First", "Second"), workflow_id=run_id, agents={"First": agent})
    paused = client.pause(run_id, reason="lunch", request_id="noon")
    assert paused.paused_at is not None
    assert client.pause(run_id, request_id="noon").repeated
    assert [finding.cause for finding in client.why(run_id).findings] == ["paused"]
    assert client.resume(run_id).announced == 1
    resolved = client.resolve(run_id, "First", output="by hand", assign=[])
    assert (resolved.state_status, resolved.next_states, resolved.run_status) == ("succeeded", ("Second",), "running")
    (finding,) = client.why(run_id, "Second").findings
    assert (finding.cause, finding.state) == ("nobody_assigned", "Second")
    assert finding.remedy.call is not None
    assert finding.remedy.call["tool"] == "resolve_state"
    assert client.resolve(run_id, "Second", assign=[agent]).assigned == (agent,)
    assert client.cancel(run_id, reason="enough").run_status == "cancelled"
    result = client.get(run_id)
    assert {name: state.status for name, state in result.states.items()} == {
        "First": "succeeded",
        "Second": "cancelled",
    }
    with pytest.raises(RunFailed) as failed:
        client.result(run_id)
    assert failed.value.status == "cancelled"


def test_the_agents_of_a_state_are_told_again_and_its_lease_is_taken_away(client: Client, run_id: str) -> None:
    client.start(HELLO, workflow_id=run_id, agents="nobody-serves-it")
    (again,) = client.notify(run_id, "Greet").targets
    assert (again.agent_id, again.sent, again.reason) == ("nobody-serves-it", True, None)
    client.notify(run_id)
    assert client.release(run_id, "Greet").outcome == "lease_already_clear"
    client.pause(run_id)
    (skipped,) = client.notify(run_id, "Greet").targets
    assert (skipped.sent, skipped.reason) == (False, "run_paused")


def test_a_failed_run_is_retried_and_repeated(client: Client, run_id: str, agent: str) -> None:
    client.start(HELLO, {"name": "Ada"}, workflow_id=run_id, agents=agent)
    client.resolve(run_id, "Greet", error="Broken", cause="on purpose")
    retried = client.retry(run_id, reason="mended")
    assert (retried.run_status, retried.retried, retried.states) == ("running", 1, ("Greet",))
    client.resolve(run_id, "Greet", skip=True)
    again = client.rerun(run_id, input={"name": "Bob"}, agents={"*": "somebody"})
    assert again.workflow_id != run_id
    client.resolve(again.workflow_id, "Greet", skip=True)
    assert client.result(again.workflow_id) == {"name": "Bob"}
    assert client.rerun(run_id, from_state="Greet", new_workflow_id=f"{run_id}-2").workflow_id == f"{run_id}-2"


def test_an_ended_run_is_finalized_exported_held_and_deleted(client: Client, run_id: str) -> None:
    client.start(EMPTY, {"a": 1}, workflow_id=run_id)
    closed = client.finalize(run_id, finalize_note="done")
    assert closed.audit["final_status"] == "succeeded"
    exported = client.export(run_id)
    assert exported.document["format"] == "dcf-run"
    assert exported.states["Done"]["status"] == "succeeded"
    assert exported.events[0]["type"] == "RunCreated"
    assert {"usage", "journal", "artifacts"} <= set(exported.document)
    assert client.hold(run_id, reason="a dispute").changed
    with pytest.raises(Refused) as refused:
        client.delete(run_id)
    assert refused.value.code == "on_hold"
    assert client.hold(run_id, hold=False).hold is False
    assert client.delete(run_id).existed
    assert not client.delete(run_id).existed
    with pytest.raises(UnknownRun):
        client.get(run_id)


def test_what_is_refused_is_raised_with_its_code_and_what_to_do(client: Client, run_id: str) -> None:
    client.start(EMPTY, workflow_id=run_id)
    for verb in (client.cancel, client.pause, client.resume):
        with pytest.raises(Refused) as refused:
            verb(run_id)
        error = refused.value
        assert (error.code, error.answer["workflow_id"]) == ("run_over", run_id)
        assert not error.message.startswith("run_over")
        assert error.hint
    with pytest.raises(Refused) as other:
        client.start(HELLO, workflow_id=run_id)
    assert other.value.code == "conflict"


def test_what_is_wrong_with_a_call_is_raised_as_its_class(client: Client, run_id: str) -> None:
    client.start(HELLO, workflow_id=run_id)
    with pytest.raises(UnknownRun, match="There is no run 'nobody'") as unknown:
        client.get("nobody")
    assert str(unknown.value) == "There is no run 'nobody'. `client.list()` lists the runs."
    with pytest.raises(UnknownState):
        client.why(run_id, "Nowhere")
    with pytest.raises(InvalidArgument, match="workflow_id"):
        client.get("no id!")
    with pytest.raises(InvalidDefinition) as wrong:
        client.start({"asl": {"StartAt": "Nowhere", "States": {}}})
    assert wrong.value.problems
    assert wrong.value.problems[0].path.startswith("/asl")
    assert wrong.value.hint == wrong.value.problems[0].hint


@rows("value", [float("nan"), object(), {1: 2}, 2**64])
def test_what_is_no_json_never_leaves_the_program(served: Client, value: Any) -> None:
    with pytest.raises(InvalidArgument, match="input"):
        served.start(EMPTY, value)
    with pytest.raises(InvalidArgument, match="output"):
        served.resolve("some-run", "A", output=value)


def test_what_is_no_document_is_refused_in_words(served: Client) -> None:
    wrong: Any
    for wrong in ("order.json", None, 42):
        with pytest.raises(InvalidArgument, match="A workflow is no"):
            served.validate(wrong)
    with pytest.raises(InvalidArgument, match="A workflow is no list"):
        served.start([])  # type: ignore[arg-type]


def test_a_document_is_validated_and_a_faulty_one_is_no_error(client: Client) -> None:
    conversation = client.validate({"asl": {"StartAt": "Nowhere", "States": {}}})
    assert not conversation.ok
    assert all(problem.message and problem.hint and problem.code for problem in conversation.problems)


def test_a_workflow_in_any_form_is_valid_and_says_what_it_leaves_open(client: Client) -> None:
    conversation = client.validate({"steps": [{"step_id": "A"}]}, agents="worker-1")
    assert (conversation.ok, conversation.warnings) == (True, ())
    assert "agent of 'A': worker-1 (agents_map_json)" in conversation.defaulted
    assert client.language().startswith("# The workflow language")


def _pages_of_two(*subject: Any, **arguments: Any) -> Any:
    return call_pages(*subject, **arguments | {"limit": 2})


def test_runs_are_listed_in_pages_that_are_read_as_needed(
    client: Client, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.client.rows.call_pages", _pages_of_two)
    for number in range(5):
        client.start(EMPTY, workflow_id=f"{run_id}-{number}", tags=[run_id])
    listed = list(client.list(tag=run_id))
    assert [item.workflow_id for item in listed] == [f"{run_id}-{number}" for number in (4, 3, 2, 1, 0)]
    assert all((item.status, item.states, item.tags) == ("succeeded", 1, (run_id,)) for item in listed)
    assert next(client.list(tag=run_id)) == listed[0]
    assert list(client.list(tag=run_id, status="running")) == []
    hour = datetime.now(UTC) - timedelta(hours=1)
    assert len(list(client.list(tag=run_id, since=hour, workflow="workflow"))) in {0, 5}
    assert list(client.list(tag=run_id, until=hour)) == []


def test_a_single_text_is_one_name_and_not_its_letters(client: Client, run_id: str) -> None:
    client.start(HELLO, workflow_id=run_id, tags="night")
    assert client.get(run_id).tags == ("night",)
    assert [event.type for event in client.events(run_id, types="StateEntered", states="Greet")] == ["StateEntered"]
    assert client.resolve(run_id, "Greet", assign="bob").assigned == ("bob",)


def test_events_are_chosen_and_gone_on_from(client: Client, run_id: str) -> None:
    client.start(chain("A", "B"), workflow_id=run_id)
    client.resolve(run_id, "A", output=1)
    every = list(client.events(run_id))
    assert [item.type for item in every][:2] == ["RunCreated", "StateEntered"]
    assert list(client.events(run_id, newest_first=True)) == every[::-1]
    assert list(client.events(run_id, cursor=every[1].id)) == every[2:]
    (resolved,) = client.events(run_id, states=["A"], types=["StateSucceeded", "StateFailed"])
    assert (resolved.state, resolved.by) == ("A", "local")
    assert resolved.data["epoch"] > 0
    later = datetime.now(UTC) + timedelta(hours=1)
    assert list(client.events(run_id, since=later)) == []
    assert list(client.events(run_id, until=later)) == every


@rows("wrong", [{"newest_first": True}, {"until": "2026-11-22T09:00:00Z"}])
def test_what_cannot_be_followed_is_refused(client: Client, wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="follow"):
        next(client.events("some-run", follow=True, **wrong))


def test_a_time_without_a_zone_is_refused(served: Client) -> None:
    with pytest.raises(InvalidArgument, match="zone"):
        served.events("some-run", since=datetime(2026, 11, 22))  # noqa: DTZ001 - the mistake that is refused
    with pytest.raises(InvalidArgument, match="zone"):
        served.list(until=datetime(2026, 11, 22))  # noqa: DTZ001 - the same


def test_following_yields_what_happens_until_the_run_is_over(client: Client, served: Client, run_id: str) -> None:
    """The run is acted on while it is followed, between two of its events."""
    client.start(chain("A", "B"), workflow_id=run_id)
    followed = []
    for event in client.events(run_id, follow=True):
        followed.append(event)
        if event.type == "StateEntered" and event.state is not None:
            served.resolve(run_id, event.state, output=event.state)
    assert followed[-1].type == "RunSucceeded"
    assert followed == list(client.events(run_id))


def test_functions_work_until_they_are_stopped(served: Client, run_id: str, agent: str) -> None:
    with greeter(served, agent):
        served.start(HELLO, {"name": "Ada"}, workflow_id=run_id, agents=agent)
        served.result(run_id, timeout_s=PATIENCE_S)
    served.start(HELLO, {"name": "Bob"}, workflow_id=f"{run_id}-2", agents=agent)
    assert served.get(f"{run_id}-2").states["Greet"].status == "pending"
    with greeter(served, agent):
        assert served.result(f"{run_id}-2", timeout_s=60) == {"greeting": "Hello, Bob!"}


def test_what_ends_the_functions_is_raised_where_their_result_is_waited_for(
    served: Client, run_id: str, agent: str
) -> None:
    def end(value: object) -> object:
        raise SystemExit("the function ended it")

    serving = served.serve({"Greet": end}, agent)
    served.start(HELLO, workflow_id=run_id, agents=agent)
    with pytest.raises(SystemExit, match="the function ended it"):
        served.result(run_id, timeout_s=PATIENCE_S)
    serving.stop()
    with pytest.raises(WaitTimedOut):
        served.result(run_id, timeout_s=0)


def test_functions_that_run_too_long_are_told_and_their_states_given_back(
    served: Client, run_id: str, agent: str
) -> None:
    began, noticed = threading.Event(), threading.Event()

    def work(value: Any, context: dcf.TaskContext) -> None:
        began.set()
        if context.cancelled.wait(60):
            noticed.set()
            context.check()

    serving = served.serve({"Greet": work}, agent)
    served.start(HELLO, workflow_id=run_id, agents=agent)
    assert began.wait(60)
    serving.stop(grace_s=0)
    assert noticed.is_set()
    assert served.get(run_id).states["Greet"].status == "pending"


def test_a_function_that_never_notices_keeps_no_program_from_closing_what_it_stopped(
    served: Client, run_id: str, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_serving, "_UNWIND_S", 0.1)
    began, door = threading.Event(), threading.Event()

    def work(value: Any) -> None:
        began.set()
        door.wait(60)

    def stop_and_close() -> None:
        with serving:
            serving.stop(grace_s=0)

    serving = served.serve({"Greet": work}, agent)
    served.start(HELLO, workflow_id=run_id, agents=agent)
    assert began.wait(60)
    closing = threading.Thread(target=stop_and_close, daemon=True)
    closing.start()
    closing.join(60)
    is_closed = not closing.is_alive()
    door.set()
    assert is_closed
