"""The end of a run: what is closed how, what the record says, and that it is written once."""

from collections.abc import Callable
from dataclasses import replace

from dcf.core.documents.decision import Packed, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus, StateDoc, Status
from dcf.core.lifecycle.finalization import CLOSED_BY_FINALIZE, pack
from dcf.values.instants import SECOND
from tests.core.build import LOOP, MemoryRun, code, run
from tests.support.tables import rows


def untouched() -> MemoryRun:
    return run()


def held() -> MemoryRun:
    made = run()
    made.acquire("A", "t1")
    return made


def succeeded() -> MemoryRun:
    made = run(LOOP)
    made.acquire("A", "t1")
    made.complete("A", "t1", {"go": "stop"})
    return made


def failed() -> MemoryRun:
    made = held()
    made.update("A", "t1", status=Status.FAILED, error="E", cause="c")
    return made


@rows(
    ("make", "status"),
    [(untouched, "cancelled"), (held, "cancelled"), (succeeded, "succeeded"), (failed, "failed")],
)
def test_a_run_is_closed_as_it_went_and_cancelled_if_it_had_not_ended(
    make: Callable[[], MemoryRun], status: str
) -> None:
    made = make()
    audit = made.finalize().audit
    assert audit["final_status"] == made.status == status
    assert made.audit == audit
    assert made.types()[-1] == "RunFinalized"
    assert not any(doc.status in (Status.PENDING, Status.RUNNING) for doc in made.states.values())


def test_states_that_were_never_reached_are_skipped_and_open_ones_cancelled() -> None:
    made = held()
    epoch = made.states["A"].lease.epoch
    made.now += SECOND
    made.finalize()
    a, b = made.states["A"], made.states["B"]
    assert (a.status, a.last_error, a.finished_at) == (Status.CANCELLED, CLOSED_BY_FINALIZE, made.now)
    assert (a.lease.token, a.lease.epoch) == (None, epoch)
    assert (b.status, b.last_error, b.finished_at) == (Status.SKIPPED, None, made.now)
    assert made.types()[-3:] == ["StatesSkipped", "StateCancelled A", "RunFinalized"]
    assert made.timers == {}


def test_skipped_states_do_not_spoil_a_success() -> None:
    made = succeeded()
    assert made.skip_unreached() == 1
    assert made.states["B"].status is Status.SKIPPED
    assert made.finalize().audit["final_status"] == "succeeded"


def test_a_second_call_is_told_what_the_first_one_wrote() -> None:
    made = held()
    first = made.finalize(note="first")
    before = (made.meta_document, list(made.events))
    made.now += SECOND
    second = made.finalize(note="second", status=RunStatus.SUCCEEDED)
    assert (first.repeated, second.repeated) == (False, True)
    assert second.audit == first.audit
    assert made.last_changes is None
    assert (made.meta_document, made.events) == before


def test_states_may_be_left_open_and_are_closed_to_workers_all_the_same() -> None:
    made = held()
    assert made.finalize(close_open_states=False).audit["final_status"] == "partial"
    assert [doc.status for doc in made.states.values()] == [Status.RUNNING, Status.SKIPPED]
    assert code(made.acquire("A", "t2")) == "terminal"
    assert code(made.update("A", "t1", status=Status.SUCCEEDED)) == "terminal"


def test_a_status_given_by_the_caller_overrides_what_the_states_say() -> None:
    made = held()
    assert made.finalize(status=RunStatus.FAILED).audit["final_status"] == made.status == "failed"


def test_a_failed_state_makes_an_unfinished_run_failed() -> None:
    made = untouched()
    made.states["B"] = StateDoc(status=Status.FAILED)
    assert made.finalize().audit["final_status"] == "failed"


def test_a_run_that_ended_by_itself_keeps_its_time_and_its_result() -> None:
    made = failed()
    assert made.meta_document is not None
    finished_at = made.meta_document["finished_at"]
    made.now += SECOND
    audit = made.finalize(note="seen").audit
    assert made.meta_document["finished_at"] == finished_at != made.meta_document["finalized_at"]
    assert (audit["error"], audit["cause"], audit["note"]) == ("E", "c", "seen")
    assert made.meta_document["finalize_note"] == "seen"


def test_a_cancelled_run_is_finished_when_it_is_finalized() -> None:
    made = held()
    made.finalize()
    assert made.meta_document is not None
    assert made.meta_document["finished_at"] == made.meta_document["finalized_at"] is not None


def test_the_record_counts_every_state_in_one_bucket_by_its_final_status() -> None:
    made = run()
    made.states |= {f"S{number}": StateDoc(status=status) for number, status in enumerate(Status)}
    counts = made.finalize().audit["counts"]
    assert counts == {
        "total": 8,
        "done": 1,
        "pending": 0,
        "running": 0,
        "succeeded": 1,
        "failed": 1,
        "skipped": 2,
        "cancelled": 4,
    }
    assert counts["total"] == sum(counts[status.value] for status in Status)


def test_the_record_names_the_run_and_its_definition() -> None:
    made = succeeded()
    audit = made.finalize().audit
    assert (audit["type"], audit["workflow_id"]) == ("finalize", "w1")
    assert audit["definition_sha256"] == made.definition.sha256
    assert audit["output"] == {"go": "stop"}


def test_terminal_states_are_left_as_they_are() -> None:
    made = succeeded()
    before = dict(made.states)
    made.finalize()
    assert {name: doc for name, doc in made.states.items() if name != "B"} == {
        name: doc for name, doc in before.items() if name != "B"
    }


# After a run ended on its own


def test_nothing_is_skipped_while_the_run_goes_on() -> None:
    made = held()
    assert (made.skip_unreached(), made.last_changes) == (0, None)


def test_unreached_states_are_skipped_once() -> None:
    made = failed()
    assert made.skip_unreached() == 1
    assert made.types()[-1] == "StatesSkipped"
    assert made.events[-1].data == {"states": ["B"]}
    assert (made.skip_unreached(), made.last_changes) == (0, None)


def whole(made: MemoryRun) -> Snapshot:
    """What is read of the run, with the whole meta document."""
    return replace(made.snapshot(), meta_document=made.meta_document)


def test_the_workflow_of_an_ended_run_is_packed_once_and_that_of_an_open_one_never() -> None:
    made = failed()
    first = pack(whole(made), made.definition)
    assert first.changes == WriteSet(packed=Packed(definition=made.definition.document, deps=made.definition.deps))
    assert made.meta_document is not None
    packed = replace(made.snapshot(), meta_document={**made.meta_document, "deps": "{}"})
    assert pack(packed, made.definition).changes is None
    assert pack(whole(held()), made.definition).changes is None


def test_a_reached_state_that_the_end_of_the_run_overtook_is_cancelled() -> None:
    made = failed()
    made.states["B"] = StateDoc(waits_for={"A": 5})
    assert made.skip_unreached() == 1
    assert (made.states["B"].status, made.states["B"].last_error) == (Status.CANCELLED, "the run ended")
