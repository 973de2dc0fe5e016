"""The timeline of a run, folded from made-up histories, and the trace made of it."""

from dcf.asl.syntax.parsing import parse_machine
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json
from dcf.workflows.drawing.timeline import Timeline, kind_in, timeline
from dcf.workflows.drawing.trace import chrome_trace
from tests.support.tables import rows

BEGAN = 1_795_000_000 * SECOND

Told = tuple[float, str, str | None, dict[str, Json]]


def at(when: float, subject: str, state: str | None = None, **data: Json) -> Told:
    return when, subject, state, data


def folded(
    *events: Told, kinds: dict[str, str | None] | None = None, expired: dict[str, int] | None = None
) -> Timeline:
    documents = [
        {"at": to_text(BEGAN + int(when * SECOND)), "type": subject, "state": state, **data}
        for when, subject, state, data in events
    ]
    result = timeline(documents, kinds, expired)
    assert result is not None
    return result


def spans(timeline: Timeline, state: str) -> list[tuple[str, float, float | None, str | None]]:
    row = next(row for row in timeline.rows if row.state == state)
    return [
        (
            segment.phase.value,
            (segment.start - BEGAN) / SECOND,
            None if segment.end is None else (segment.end - BEGAN) / SECOND,
            segment.outcome,
        )
        for segment in row.segments
    ]


STARTED = (at(0, "RunCreated"), at(0, "StateEntered", "A", epoch=1), at(2, "RunStarted"))


def test_a_state_waits_for_its_run_is_ready_and_is_worked_on() -> None:
    result = folded(
        *STARTED,
        at(5, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1),
        at(9, "StateSucceeded", "A", epoch=2),
        at(9, "RunSucceeded"),
    )
    assert spans(result, "A") == [
        ("waiting", 0, 2, None),
        ("ready", 2, 5, None),
        ("working", 5, 9, "succeeded"),
    ]
    work = result.rows[0].segments[-1]
    assert (work.agent, work.attempt, result.rows[0].outcome) == ("ann", 1, "succeeded")
    assert result.end == BEGAN + 9 * SECOND


def test_each_try_is_a_segment_and_backing_off_ends_when_agents_are_called_again() -> None:
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1),
        at(4, "StateRetried", "A", epoch=7, retry=1),
        at(5, "NotificationSent", "A", epoch=2),
        at(8, "NotificationSent", "A", epoch=7),
        at(9, "LeaseAcquired", "A", epoch=8, owner="bob", attempt=2),
        at(10, "StateFailed", "A", epoch=8),
        at(10, "RunFailed", "A"),
    )
    assert spans(result, "A")[2:] == [
        ("working", 3, 4, "failed"),
        ("backing_off", 4, 8, None),
        ("ready", 8, 9, None),
        ("working", 9, 10, "failed"),
    ]


def test_an_agent_that_is_taken_over_counts_as_lost_from_when_it_was_heard_last() -> None:
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1),
        at(6, "LeaseRenewed", "A", epoch=2),
        at(20, "LeaseAcquired", "A", epoch=3, owner="bob", attempt=2, takeover=True),
    )
    assert spans(result, "A")[2:] == [
        ("working", 3, 6, "lost_lease"),
        ("lost_lease", 6, 20, None),
        ("working", 20, None, None),
    ]
    assert result.end is None


@rows(
    ("signs", "lost_at"),
    [
        ([], 13),
        ([at(6, "LeaseRenewed", "A", epoch=2, ttl_s=4)], 10),
        ([at(6, "LeaseRenewed", "A", epoch=2)], 16),
        ([at(6, "LeaseRenewed", "A", epoch=2, ttl_s=60)], 6),
        ([at(8, "StateUpdated", "A", epoch=2)], 13),
        ([at(15, "StateUpdated", "A", epoch=2)], 15),
    ],
    ids=[
        "never renewed",
        "renewed for less",
        "renewed as it was",
        "taken over within it",
        "heard in it",
        "heard later",
    ],
)
def test_a_lease_is_lost_after_its_last_known_end_unless_its_agent_was_heard_later(
    signs: list[Told], lost_at: float
) -> None:
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1, ttl_s=10),
        *signs,
        at(20, "LeaseAcquired", "A", epoch=3, owner="bob", attempt=2, takeover=True, ttl_s=5),
        at(30, "LeaseAcquired", "A", epoch=4, owner="cid", attempt=3, takeover=True, ttl_s=5),
    )
    assert spans(result, "A")[2:] == [
        ("working", 3, lost_at, "lost_lease"),
        ("lost_lease", lost_at, 20, None),
        ("working", 20, 25, "lost_lease"),
        ("lost_lease", 25, 30, None),
        ("working", 30, None, None),
    ]


def test_a_lease_whose_length_is_not_told_was_lost_when_its_agent_was_heard_last() -> None:
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1, ttl_s=10),
        at(20, "LeaseAcquired", "A", epoch=3, owner="bob", attempt=2, takeover=True),
        at(22, "LeaseRenewed", "A", epoch=3),
        at(40, "LeaseAcquired", "A", epoch=4, owner="cid", attempt=3, takeover=True),
    )
    assert spans(result, "A")[4:6] == [("working", 20, 22, "lost_lease"), ("lost_lease", 22, 40, None)]


def due_at(when: float) -> str:
    return to_text(BEGAN + int(when * SECOND))


def backed_off(*events: Told, kind: str | None = None) -> list[tuple[str, float, float | None, str | None]]:
    """A state that failed at 4, to be tried again at 8."""
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1, ttl_s=10),
        at(4, "StateRetried", "A", epoch=7, retry=1, not_before=due_at(8)),
        *events,
        kinds={"A": kind},
    )
    segments = spans(result, "A")
    return segments[[phase for phase, *_ in segments].index("backing_off") :]


def test_backing_off_ends_when_the_next_try_is_due() -> None:
    assert backed_off(at(12, "LeaseAcquired", "A", epoch=8, owner="bob", attempt=2)) == [
        ("backing_off", 4, 8, None),
        ("ready", 8, 12, None),
        ("working", 12, None, None),
    ]


def test_a_state_backs_off_while_the_history_has_not_reached_that_time() -> None:
    assert backed_off(at(7, "LeaseAcquired", "B", epoch=8)) == [("backing_off", 4, None, None)]
    assert backed_off(at(9, "LeaseAcquired", "B", epoch=8)) == [("backing_off", 4, 8, None), ("ready", 8, None, None)]


def test_a_state_that_is_due_in_a_paused_run_waits_for_the_run() -> None:
    assert backed_off(at(6, "RunPaused"), at(11, "RunResumed"), at(12, "RunCancelled")) == [
        ("backing_off", 4, 8, None),
        ("waiting", 8, 11, None),
        ("ready", 11, 12, None),
    ]
    assert backed_off(at(9, "RunPaused"), at(11, "RunCancelled")) == [
        ("backing_off", 4, 8, None),
        ("ready", 8, 9, None),
        ("waiting", 9, 11, None),
    ]


def test_who_is_told_or_takes_the_state_earlier_ends_backing_off() -> None:
    details = backed_off(at(5, "NotificationSent", "A", epoch=7), at(9, "RunCancelled"))
    assert details == [("backing_off", 4, 5, None), ("ready", 5, 9, None)]
    taken = backed_off(at(6, "LeaseAcquired", "A", epoch=8, owner="bob", attempt=2), at(9, "RunCancelled"))
    assert taken == [("backing_off", 4, 6, None), ("working", 6, 9, "cancelled")]


def test_a_state_that_no_agent_takes_waits_when_its_next_try_is_due() -> None:
    assert backed_off(at(9, "StateEntered", "A"), at(10, "RunCancelled"), kind="Map") == [
        ("backing_off", 4, 8, None),
        ("waiting", 8, 9, None),
        ("waiting", 9, 10, None),
    ]


def test_an_agent_that_was_not_followed_counts_as_lost_from_its_leases_end() -> None:
    begun = (*STARTED, at(5, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1))
    result = folded(*begun, expired={"A": BEGAN + 8 * SECOND, "never heard of": BEGAN})
    assert spans(result, "A")[2:] == [("working", 5, 8, "lost_lease"), ("lost_lease", 8, None, None)]
    over = folded(*begun, at(7, "StateSucceeded", "A", epoch=2), expired={"A": BEGAN + 8 * SECOND})
    assert spans(over, "A")[2:] == [("working", 5, 7, "succeeded")], "what is done was not lost"


def test_a_released_state_is_ready_again_and_waits_while_its_run_is_paused() -> None:
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1),
        at(4, "LeaseReleased", "A", epoch=2),
        at(5, "RunPaused"),
        at(7, "RunResumed"),
        at(8, "RunCancelled"),
    )
    assert spans(result, "A")[2:] == [
        ("working", 3, 4, "released"),
        ("ready", 4, 5, None),
        ("waiting", 5, 7, None),
        ("ready", 7, 8, None),
    ]


def test_a_reassigned_state_is_ready_again_and_a_resolved_one_has_ended() -> None:
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1),
        at(4, "StateResolved", "A", epoch=3, how="assign", held_by="ann"),
        at(6, "StateResolved", "A", epoch=4, how="skip"),
    )
    assert spans(result, "A")[2:] == [("working", 3, 4, "resolved"), ("ready", 4, 6, None)]
    assert result.rows[0].outcome == "skipped"


def test_a_state_that_handed_its_token_on_waits_until_that_comes_back() -> None:
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1),
        at(4, "CallbackAwaited", "A", epoch=2),
        at(9, "StateConcluded", "A", epoch=2, how="output"),
    )
    assert spans(result, "A")[2:] == [("working", 3, 4, "handed_on"), ("waiting", 4, 9, None)]
    assert result.rows[0].outcome == "succeeded"


def test_states_that_no_agent_takes_wait() -> None:
    result = folded(*STARTED, at(3, "StateEntered", "W"), at(8, "StateSucceeded", "W"), kinds={"W": "Wait"})
    assert spans(result, "W") == [("waiting", 3, 8, None)]


def test_the_workflow_tells_which_states_wait_by_themselves() -> None:
    def task(resource: str, **more: Json) -> Json:
        return {"Type": "Task", "Resource": resource, "Next": "Each", **more}

    inner: Json = {"StartAt": "In", "States": {"In": {"Type": "Task", "End": True}}}
    machine, _ = parse_machine(
        {
            "StartAt": "Worked",
            "States": {
                "Worked": task("queue:work") | {"Next": "Handed"},
                "Handed": task("queue:work.waitForTaskToken") | {"Next": "Outside"},
                "Outside": task("dcf:callback.waitForTaskToken") | {"Next": "Person"},
                "Person": task("dcf:human", Parameters={"to": ["ann"], "title": "Well?"}) | {"Next": "Paid"},
                "Paid": task("dcf:signal", Parameters={"name": "paid"}),
                "Each": {"Type": "Map", "ItemProcessor": inner, "End": True},
            },
        }
    )
    assert machine is not None
    paths = ["Worked", "Handed", "Outside", "Person", "Paid", "Each", "Each/3/In", "Gone", "Each/x/In"]
    assert [kind_in(machine, path) for path in paths] == [
        *("Task", "Task", "Callback", "Human", "Signal", "Map", "Task", None, None)
    ]


def test_what_an_ended_run_left_is_over_and_skipped_states_have_a_row() -> None:
    result = folded(
        *STARTED,
        at(3, "LeaseAcquired", "A", epoch=2, owner="ann", attempt=1),
        at(4, "RunCancelled"),
        at(5, "StatesSkipped", states=["B"]),
    )
    assert spans(result, "A")[-1] == ("working", 3, 4, "cancelled")
    assert (result.rows[1].state, result.rows[1].outcome, result.rows[1].segments) == ("B", "skipped", ())


def test_a_history_of_nothing_has_no_timeline() -> None:
    assert timeline([]) is None
    assert timeline([{"at": "noon", "type": "RunCreated"}]) is None


def test_a_trace_has_a_thread_for_each_state_and_an_event_for_each_segment() -> None:
    timeline = folded(*STARTED, at(5, "LeaseAcquired", "A", owner="ann", attempt=1), at(9, "RunPaused"))
    events = chrome_trace(timeline, "run-1")["traceEvents"]
    names = {event["args"]["name"] for event in events if event["name"] in {"process_name", "thread_name"}}
    assert names == {"run-1", "A"}
    spans_of = [(event["name"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"]
    assert spans_of == [
        ("waiting", 0, 2 * SECOND),
        ("ready", 2 * SECOND, 3 * SECOND),
        ("working, attempt 1", 5 * SECOND, 4 * SECOND),
    ]
