"""Signals: a Task that waits for one ends with its payload, whether it comes before the Task is entered or after."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dcf.core.completing.updates import Update
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.signals import MOST_KEPT, Signals, read_signals
from dcf.errors import InvalidArgument, UnknownRun
from dcf.features.diagnosis.model import Cause
from dcf.features.external.operations import SignalSending
from dcf.runs.control_plane import ControlPlane
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support.ahead import let_pass
from tests.support.redis.documents import read_document
from tests.support.trouble import Meanwhile, dies
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import distributed, each, parallel, task
from tests.support.world import World


def waits(name: str = "paid", **fields: Any) -> Document:
    to = {} if "Next" in fields else {"End": True}
    return {"Type": "Task", "Resource": "dcf:signal", "Parameters": {"name": name}, **to, **fields}


def work_then_wait(**fields: Any) -> Document:
    return workflow({"Work": {"Type": "Task", "Next": "Paid"}, "Paid": waits(**fields)})


def sent(answer: object) -> dict[str, Any]:
    assert isinstance(answer, RunAnswer), answer
    return dict(answer.answer)


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def kept(world: World, run: str) -> Signals:
    return read_signals(read_document(world.ask, world.store.keys(run).of("signals")))


def taken(world: World, run: str) -> list[int]:
    """The numbers of the signals that states took, in order."""
    return [event.data["number"] for event in world.events(run) if event.data.get("via") == "signal"]


def pass_time(world: World, seconds: int) -> None:
    """Let time pass, and the clock look."""
    let_pass(world, seconds)
    for run in world.runs:
        for path in world.store.open_states(run):
            world.plane.look(run, path)


def test_a_signal_ends_the_state_that_waits_for_it(world: World) -> None:
    run = world.create(work_then_wait())
    world.do(run, "Work")
    assert (world.doc(run, "Paid").status, world.doc(run, "Paid").kind) == (Status.RUNNING, "Signal")
    answer = sent(world.signals.send(run, "paid", {"amount": 12}))
    assert (answer["state"], answer["kept"], answer["run_status"]) == ("Paid", False, "succeeded")
    assert world.meta(run)["output"] == {"amount": 12}
    assert world.event_types(run)[-4:] == ["SignalReceived", "StateConcluded", "StateSucceeded", "RunSucceeded"]


def test_a_signal_that_comes_early_is_kept_and_taken_by_the_state_as_it_is_entered(world: World) -> None:
    run = world.create(work_then_wait())
    assert sent(world.signals.send(run, "paid", {"amount": 12}))["kept"] is True
    assert [item.payload for item in kept(world, run).kept] == [{"amount": 12}]
    world.do(run, "Work")
    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert world.meta(run)["output"] == {"amount": 12}
    assert kept(world, run).kept == ()
    assert world.output(run, "Paid") == {"amount": 12}


def test_signals_of_a_name_are_taken_in_order_each_once(world: World) -> None:
    states = {
        "Work": {"Type": "Task", "Next": "First"},
        "First": waits(Next="Second", ResultPath="$.first"),
        "Second": waits(Next="Other", ResultPath="$.second"),
        "Other": waits("shipped", Next="Third", ResultPath="$.other"),
        "Third": waits(ResultPath="$.third"),
    }
    run = world.create(workflow(states))
    for number in (1, 2):
        world.signals.send(run, "paid", number)
    world.signals.send(run, "shipped", "s")
    world.do(run, "Work", output={})
    assert world.doc(run, "Third").waits_outside
    world.signals.send(run, "paid", 3)
    assert world.meta(run)["output"] == {"first": 1, "second": 2, "other": "s", "third": 3}
    assert taken(world, run) == [1, 2, 3, 4]


def test_a_repeated_request_is_applied_once(world: World) -> None:
    run = world.create(work_then_wait())
    first = world.signals.send(run, "paid", 1, request_id="p-1")
    again = world.signals.send(run, "paid", 1, request_id="p-1")
    assert isinstance(again, RunAnswer)
    assert (again.repeated, sent(again)) == (True, sent(first))
    assert len(kept(world, run).kept) == 1
    assert code(world.signals.send(run, "paid", 2, request_id="p-1")) == "conflict"
    world.do(run, "Work")
    assert sent(world.signals.send(run, "paid", 1, request_id="p-1"))["kept"] is True  # also after the end


def test_a_run_that_is_over_gets_no_signals(world: World) -> None:
    run = world.create(work_then_wait())
    world.lifecycle.cancel(run)
    assert code(world.signals.send(run, "paid")) == "run_over"
    with pytest.raises(UnknownRun):
        world.signals.send("nowhere", "paid")


def test_a_signal_that_no_state_waits_for_is_refused_with_those_that_are_known(world: World) -> None:
    run = world.create(work_then_wait())
    answer = world.signals.send(run, "payed")
    assert code(answer) == "unknown_signal"
    assert isinstance(answer, Refusal)
    assert "paid" in answer.message
    with pytest.raises(InvalidArgument):
        world.signals.send(run, "two words")


def test_a_name_that_follows_from_data_is_known_only_when_the_state_waits(world: World) -> None:
    states = {"Work": {"Type": "Task", "Next": "Paid"}, "Paid": waits() | {"Parameters": {"name.$": "$.name"}}}
    run = world.create(workflow(states))
    world.signals.send(run, "order-7", "early")
    world.do(run, "Work", output={"name": "order-8"})
    assert world.doc(run, "Paid").waits_outside
    assert sent(world.signals.send(run, "order-8", "mine"))["state"] == "Paid"
    assert world.meta(run)["output"] == "mine"


def test_a_state_that_names_no_signal_fails_in_words(world: World) -> None:
    states = {"Work": {"Type": "Task", "Next": "Paid"}, "Paid": {"Type": "Task", "Resource": "dcf:signal", "End": True}}
    run = world.create(workflow(states))
    world.do(run, "Work", output={"other": 1})
    assert world.run_status(run) is RunStatus.FAILED
    assert "name" in world.meta(run)["cause"]


def test_the_iterations_of_a_map_take_signals_of_their_own(world: World) -> None:
    inner = {"Paid": waits() | {"Parameters": {"name.$": "States.Format('paid-{}', $)"}}}
    run = world.create(workflow({"Each": each(inner, End=True)}), run_input=[1, 2, 3])
    for number in (3, 1, 2):
        world.signals.send(run, f"paid-{number}", number * 10)
    assert world.meta(run)["output"] == [10, 20, 30]


def test_kept_signals_end_branches_that_a_scope_opens_with(world: World) -> None:
    both = parallel({"A": waits("a")}, {"B": waits("b")}, following="Last")
    run = world.create(workflow({"Work": {"Type": "Task", "Next": "Both"}, "Both": both, "Last": task()}))
    world.signals.send(run, "a", 1)
    world.signals.send(run, "b", 2)
    world.do(run, "Work")
    assert world.given(run, "Last") == [1, 2]
    assert kept(world, run).kept == ()


def test_of_several_states_that_wait_the_one_that_has_waited_for_longest_gets_it(world: World) -> None:
    both = parallel({"A": waits()}, {"W": {"Type": "Task", "Next": "B"}, "B": waits()}, End=True)
    run = world.create(workflow({"Both": both}))
    world.do(run, "Both/1/W")
    assert sent(world.signals.send(run, "paid", 1))["state"] == "Both/0/A"
    assert sent(world.signals.send(run, "paid", 2))["state"] == "Both/1/B"
    assert world.meta(run)["output"] == [1, 2]


def test_a_run_keeps_only_so_many_signals(world: World) -> None:
    run = world.create(work_then_wait())
    for _ in range(MOST_KEPT):
        assert sent(world.signals.send(run, "paid"))["kept"]
    assert code(world.signals.send(run, "paid")) == "signals_full"
    assert len(kept(world, run).kept) == MOST_KEPT


def test_payloads_that_are_kept_are_bounded_together(world: World) -> None:
    run = world.create(work_then_wait())
    for _ in range(4):
        world.signals.send(run, "paid", "x" * 250_000)
    answer = world.signals.send(run, "paid", "x" * 250_000)
    assert code(answer) == "signals_full"


def test_a_state_that_times_out_leaves_the_signal_to_the_next(timely: World) -> None:
    again = [{"ErrorEquals": ["States.Timeout"], "Next": "Again"}]
    states = {"Paid": waits(TimeoutSeconds=60, Catch=again), "Again": waits()}
    run = timely.create(workflow(states))
    pass_time(timely, 61)
    assert timely.doc(run, "Again").waits_outside
    assert sent(timely.signals.send(run, "paid", 1))["state"] == "Again"


def test_a_retry_waits_anew_and_takes_what_was_kept_meanwhile(timely: World) -> None:
    retry = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 3600}]
    run = timely.create(workflow({"Paid": waits(TimeoutSeconds=60, Retry=retry)}))
    pass_time(timely, 61)
    assert sent(timely.signals.send(run, "paid", 1))["kept"] is True
    pass_time(timely, 3601)
    assert timely.meta(run)["output"] == 1


def test_a_retried_run_takes_signals_that_were_kept(world: World) -> None:
    states = {"Work": {"Type": "Task", "Next": "Paid"}, "Paid": waits()}
    run = world.create(workflow(states))
    world.signals.send(run, "paid", 1)
    world.fail(run, "Work", world.acquire(run, "Work"))
    world.retrying.retry(run)
    world.do(run, "Work")
    assert world.meta(run)["output"] == 1


def test_a_batch_of_completions_takes_each_signal_once(world: World) -> None:
    both = parallel(
        {"V": {"Type": "Task", "Next": "A"}, "A": waits()}, {"W": {"Type": "Task", "Next": "B"}, "B": waits()}, End=True
    )
    run = world.create(workflow({"Both": both}))
    world.signals.send(run, "paid", 1)
    world.signals.send(run, "paid", 2)
    writes = [
        Update(state=path, token=world.acquire(run, path), status=Status.SUCCEEDED, has_output=True, output=0)
        for path in ("Both/0/V", "Both/1/W")
    ]
    world.plane.update_all(run, writes)
    assert world.meta(run)["output"] == [1, 2]
    assert taken(world, run) == [1, 2]


# Races and crashes


def meanwhile(world: World, do: Callable[[], object]) -> SignalSending:
    """A sender that has looked, and before whose first commit something else happens."""
    clock: dict[str, Any] = {} if world.clock is None else {"clock": world.clock}
    return SignalSending(ControlPlane(RunStore(world.connections, before_commit=Meanwhile(do), **clock), world.index))


def test_a_state_that_is_entered_while_a_signal_is_sent_gets_it(world: World) -> None:
    run = world.create(work_then_wait())
    token = world.acquire(run, "Work")
    sender = meanwhile(world, lambda: world.complete(run, "Work", token, {}))
    assert sent(sender.send(run, "paid", 1))["state"] == "Paid"
    assert world.meta(run)["output"] == 1


def test_a_state_that_was_entered_between_the_look_and_the_transaction_gets_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.create(work_then_wait())
    token, waiting = world.acquire(run, "Work"), SignalSending._waiting
    todo = [lambda: world.complete(run, "Work", token, {})]

    def looked(self: SignalSending, *about: str) -> tuple[str, int] | None:
        seen = waiting(self, *about)
        if todo:
            todo.pop()()
        return seen

    monkeypatch.setattr(SignalSending, "_waiting", looked)
    assert sent(world.signals.send(run, "paid", 1))["state"] == "Paid"
    assert world.meta(run)["output"] == 1


def test_two_signals_at_once_end_two_visits(world: World) -> None:
    states = {"First": waits(Next="Second", ResultPath="$.a"), "Second": waits(ResultPath="$.b")}
    run = world.create(workflow(states))
    sender = meanwhile(world, lambda: world.signals.send(run, "paid", 1))
    assert sent(sender.send(run, "paid", 2))["state"] == "Second"
    assert world.meta(run)["output"] == {"a": 1, "b": 2}


def test_many_senders_and_one_worker_lose_and_double_nothing(world: World) -> None:
    again = {"Variable": "$.n", "NumericGreaterThanEquals": 12, "Next": "Done"}
    states = {
        "Work": {"Type": "Task", "Next": "Paid"},
        "Paid": waits(Next="More"),
        "More": {"Type": "Choice", "Choices": [again], "Default": "Work"},
        "Done": {"Type": "Pass", "End": True},
    }
    run = world.create(workflow(states))
    senders = [
        threading.Thread(target=lambda at=at: [world.signals.send(run, "paid", {"n": at + i}) for i in range(3)])
        for at in (0, 3, 6)
    ]
    for sender in senders:
        sender.start()
    done = 0
    while done < 9:
        if world.doc(run, "Work").is_ready and world.doc(run, "Work").status is Status.PENDING:
            world.do(run, "Work", output={})
            done += 1
    for sender in senders:
        sender.join()
    while world.doc(run, "Work").status is not Status.PENDING:
        pass
    assert sorted(taken(world, run)) == list(range(1, 10))
    assert kept(world, run).kept == ()


def test_a_sender_that_dies_before_any_commit_has_sent_all_or_nothing(timely: World) -> None:
    for number in range(3):
        run = timely.create(work_then_wait())
        timely.do(run, "Work")
        dies(timely, number, lambda run=run: timely.signals.send(run, "paid", 1, request_id="p"))  # type: ignore[misc]
        assert sent(timely.signals.send(run, "paid", 1, request_id="p"))["state"] == "Paid"
        assert taken(timely, run) == [1]


def test_a_diagnosis_names_the_signal(world: World) -> None:
    run = world.create(workflow({"Paid": waits("paid-7")}))
    world.plane.kick_off(run, "go")
    (finding,) = world.diagnosis.explain(run).findings
    assert (finding.cause, finding.evidence["signal"], finding.stuck) == (Cause.WAITING_FOR_SIGNAL, "paid-7", False)
    assert "a signal 'paid-7' since" in finding.sentence


def test_the_item_that_follows_a_tolerated_failure_takes_a_kept_signal(world: World) -> None:
    inner = {"Paid": waits(Next="Work"), "Work": task()}
    tolerant = distributed(inner, ToleratedFailureCount=1, MaxConcurrency=1)
    run = world.create(workflow({"Each": tolerant}), run_input=[1, 2])
    world.signals.send(run, "paid", "first")
    assert sent(world.signals.send(run, "paid", "second"))["kept"] is True
    world.fail(run, "Each/0/Work", world.acquire(run, "Each/0/Work"))
    assert kept(world, run).kept == ()
    assert world.given(run, "Each/1/Work") == "second"
