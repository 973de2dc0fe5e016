"""Retry, Catch, Wait, Parallel and Map: what one call of the engine answers, and what the caller decides."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dcf.asl import engine
from dcf.asl.machine import Machine
from dcf.asl.pausing import AT_ONCE
from dcf.asl.places import ancestors, resolve
from dcf.asl.state_paths import join, open_scope, split, split_scope, within
from dcf.asl.steps import (
    TOLERATED,
    Advance,
    BranchEnded,
    BranchFailed,
    Broke,
    Caught,
    Closed,
    Ended,
    Failed,
    NeedItems,
    OpenScope,
    OpenTask,
    OpenWait,
    Passed,
    Retried,
    Succeeded,
    Tolerance,
    exceeds,
    next_item,
)
from dcf.asl.surroundings import Clock
from dcf.asl.syntax.parsing import parse_machine
from dcf.errors import InvalidArgument
from tests.support.tables import rows

if TYPE_CHECKING:
    from collections.abc import Callable

CLOCK = Clock(now="2026-01-01T00:00:00Z", micros=1_000_000, seed="s")
END = {"Type": "Succeed"}
TASK = {"Type": "Task", "End": True}


def _machine(states: dict[str, Any], **head: Any) -> Machine:
    machine, problems = parse_machine({"StartAt": next(iter(states)), "States": states, **head})
    assert machine is not None, problems
    return machine


def _start(machine: Machine, document: Any = None) -> Advance:
    return engine.start(machine, {} if document is None else document, {}, CLOCK)


def _only(advance: Advance, kind: type) -> Any:
    steps = [step for step in advance.steps if isinstance(step, kind)]
    assert len(steps) == 1, advance.steps
    return steps[0]


def _all(advance: Advance, kind: type) -> list[Any]:
    return [step for step in advance.steps if isinstance(step, kind)]


@rows("name", ["A", "a/b", "100%", "a%2Fb", "%25", "x/%2F", "é", "/", "%"])
def test_a_path_leads_back_to_its_state(name: str) -> None:
    inner = {"StartAt": f"{name} in", "States": {f"{name} in": TASK}}
    machine = _machine({name: {"Type": "Parallel", "Branches": [inner], "End": True}})
    path = join(open_scope(join("", name), 0), f"{name} in")
    place = resolve(machine, path)
    assert (place.name, place.parents) == (f"{name} in", (join("", name),))
    assert split(join("", name)) == ("", name)
    assert split_scope(place.scope) == (join("", name), 0)
    assert within(path, join("", name))
    assert resolve(machine, join("", name)).name == name
    assert machine.task_successors(None) == (path,)


@rows("path", ["B", "A/0", "A/1/I", "A/x/I", "A/0/J", "A/0/I/0/K", "", "/", "A//I"])
def test_a_path_to_nowhere_is_a_key_error(path: str) -> None:
    inner = {"StartAt": "I", "States": {"I": TASK}}
    machine = _machine({"A": {"Type": "Parallel", "Branches": [inner], "End": True}})
    with pytest.raises(KeyError):
        resolve(machine, path)


RETRY = [
    {"ErrorEquals": ["A", "B"], "MaxAttempts": 2},
    {"ErrorEquals": ["C"], "IntervalSeconds": 5},
]


def test_each_retrier_counts_for_itself_until_a_catcher_takes_over() -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.why", "Next": "E"}]
    machine = _machine({"T": {"Type": "Task", "Retry": RETRY, "Catch": catch, "End": True}, "E": END})
    entry = _only(_start(machine, {"x": 1}), OpenTask).entry
    waits = []
    for error in "ABC":
        retried = _only(engine.fail(machine, "T", {"T": entry}, error, "c", {}, CLOCK), Retried)
        waits.append((retried.not_before - CLOCK.micros) // 1_000_000)
        entry = retried.entry
        assert retried.task.effective == {"x": 1}
    assert waits == [1, 2, 5]
    assert entry.retries == (2, 1)
    advance = engine.fail(machine, "T", {"T": entry}, "B", "why", {}, CLOCK)
    assert _only(advance, Caught).next == "E"
    assert advance.outcome == Succeeded(state="E", output={"x": 1, "why": {"Error": "B", "Cause": "why"}})


@rows(
    ("named", "error", "handled"),
    [
        ("States.ALL", "X", True),
        ("States.ALL", None, True),
        ("States.ALL", "States.Runtime", False),
        ("States.Runtime", "States.Runtime", False),
        ("States.TaskFailed", "X", True),
        ("States.TaskFailed", "States.Timeout", False),
        ("States.Timeout", "States.HeartbeatTimeout", True),
        ("States.HeartbeatTimeout", "States.Timeout", False),
        ("x", "X", False),
    ],
)
def test_which_errors_a_name_stands_for(named: str, error: str | None, handled: bool) -> None:
    catch = [{"ErrorEquals": [named], "Next": "E"}]
    machine = _machine({"T": {"Type": "Task", "Catch": catch, "End": True}, "E": END})
    entry = _only(_start(machine), OpenTask).entry
    advance = engine.fail(machine, "T", {"T": entry}, error, None, {}, CLOCK)
    assert isinstance(advance.outcome, Succeeded if handled else Failed)


def test_full_jitter_stays_below_the_delay_and_repeats() -> None:
    retry = [{"ErrorEquals": ["X"], "IntervalSeconds": 8, "MaxDelaySeconds": 10, "JitterStrategy": "FULL"}]
    machine = _machine({"T": {**TASK, "Retry": retry}})
    entry = replace(_only(_start(machine), OpenTask).entry, retries=(2,))
    first, again = (engine.fail(machine, "T", {"T": entry}, "X", "", {}, CLOCK) for _ in range(2))
    assert first == again
    assert 0 <= _only(first, Retried).not_before - CLOCK.micros < 10_000_000


def test_a_wait_is_open_until_its_time() -> None:
    machine = _machine({"W": {"Type": "Wait", "SecondsPath": "$.s", "Next": "E"}, "E": END})
    opened = _only(_start(machine, {"s": 3}), OpenWait)
    assert opened.until == CLOCK.micros + 3_000_000
    advance = engine.wake(machine, "W", {"W": opened.entry}, {}, CLOCK)
    assert advance.steps[0] == Ended(path="W", output={"s": 3})
    assert isinstance(advance.outcome, Succeeded)
    assert [step.path for step in _all(_start(machine, {"s": 0}), Passed)] == ["W", "E"]
    assert isinstance(_start(machine, {"s": 1.5}).outcome, Failed)


THEN = "1970-01-01T00:00:07.500Z"


@rows(
    ("state", "until"),
    [
        ({"Timestamp": THEN}, 7_500_000),
        ({"TimestampPath": "$.t"}, 7_500_000),
        ({"Timestamp": "1970-01-01T01:00:07.0000019+01:00"}, 7_000_001),
        ({"QueryLanguage": "JSONata", "Timestamp": THEN}, 7_500_000),
        ({"QueryLanguage": "JSONata", "Timestamp": "{% $states.input.t %}"}, 7_500_000),
        ({"QueryLanguage": "JSONata", "Timestamp": "{% $fromMillis($millis() + 1000) %}"}, 2_000_000),
        ({"QueryLanguage": "JSONata", "Seconds": "{% $states.input.s + 1 %}"}, 3_000_000),
        ({"TimestampPath": "$.s"}, "States.Runtime"),
        ({"QueryLanguage": "JSONata", "Timestamp": "{% $states.input.s %}"}, "States.QueryEvaluationError"),
        ({"QueryLanguage": "JSONata", "Timestamp": "{% '2026-01-01' %}"}, "States.QueryEvaluationError"),
        ({"QueryLanguage": "JSONata", "Timestamp": "{% $states.input.none %}"}, "States.QueryEvaluationError"),
        ({"QueryLanguage": "JSONata", "Seconds": "{% -1 %}"}, "States.QueryEvaluationError"),
        ({"QueryLanguage": "JSONata", "Timestamp": "{% '9999-01-01T00:00:00Z' %}"}, "States.QueryEvaluationError"),
    ],
)
def test_until_when_a_wait_waits(state: dict[str, Any], until: int | str) -> None:
    begun = _start(_machine({"W": {"Type": "Wait", **state, "End": True}}), {"t": THEN, "s": 1})
    if isinstance(until, int):
        assert _only(begun, OpenWait).until == until
    else:
        assert isinstance(begun.outcome, Failed)
        assert begun.outcome.error == until


def test_a_wait_that_is_over_sets_its_variables() -> None:
    wait = {"Type": "Wait", "SecondsPath": "$.s", "Assign": {"waited.$": "$.s"}, "Next": "P"}
    states = {"W": wait, "P": {"Type": "Pass", "Parameters": {"v.$": "$waited"}, "End": True}}
    machine = _machine(states)
    assert _start(machine, {"s": 0}).outcome == Succeeded(state="P", output={"v": 0})
    entry = _only(_start(machine, {"s": 3}), OpenWait).entry
    assert engine.wake(machine, "W", {"W": entry}, {}, CLOCK).outcome == Succeeded(state="P", output={"v": 3})


def test_a_wait_is_waited_for_however_much_the_call_did_before() -> None:
    states: dict[str, Any] = {f"P{at}": {"Type": "Pass", "Next": f"P{at + 1}"} for at in range(AT_ONCE)}
    states[f"P{AT_ONCE}"] = {"Type": "Wait", "SecondsPath": "$.s", "End": True}
    for seconds in (3, 0):
        advance = _start(_machine(states), {"s": seconds})
        assert _only(advance, OpenWait).until == CLOCK.micros + seconds * 1_000_000
        assert _only(advance, OpenWait).entry.silent == (0 if seconds else AT_ONCE)


def _parallel(**more: Any) -> Machine:
    branches = [
        {"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": 1, "End": True}}},
        {"StartAt": "B", "States": {"B": TASK}},
    ]
    return _machine({"P": {"Type": "Parallel", "Branches": branches, "Next": "E", **more}, "E": END})


def test_branches_are_joined_by_the_caller() -> None:
    machine = _parallel()
    begun = _start(machine, {"in": 1})
    opened, task = _only(begun, OpenScope), _only(begun, OpenTask)
    assert (opened.size, _only(begun, BranchEnded)) == (2, BranchEnded(scope="P/0", output=1))
    visits = {"P": opened, task.path: task.entry}
    done = engine.complete(machine, "P/1/B", visits, 2, {}, CLOCK)
    assert done.steps == (Ended(path="P/1/B", output=2), BranchEnded(scope="P/1", output=2))
    assert done.outcome == "open"
    assert engine.join(machine, "P", visits, [1, 2], {}, CLOCK).outcome == Succeeded(state="E", output=[1, 2])


def test_a_branch_that_fails_closes_the_scope_and_the_state_is_tried_anew() -> None:
    machine = _parallel(Retry=[{"ErrorEquals": ["X"], "MaxAttempts": 1}])
    begun = _start(machine)
    visits = {"P": _only(begun, OpenScope), "P/1/B": _only(begun, OpenTask).entry}
    failed = engine.fail(machine, "P/1/B", visits, "X", "c", {}, CLOCK)
    broke, closed, retried = failed.steps
    assert broke == Broke(path="P/1/B", error="X", cause="c")
    assert closed == Closed(path="P", error="X", cause="c")
    assert isinstance(retried, Retried)
    assert retried.task is None
    again = engine.wake(machine, "P", {"P": retried.entry}, {}, CLOCK)
    opened = _only(again, OpenScope)
    assert opened.entry.retries == (1,)
    last = engine.fail(machine, "P/1/B", {**visits, "P": opened}, "X", "c", {}, CLOCK)
    assert last.outcome == Failed(state="P", error="X", cause="c")


def test_silent_branches_are_joined_at_once_and_see_the_variables_around() -> None:
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "Parameters": {"v.$": "$v"}, "End": True}}}
    states = {
        "A": {"Type": "Pass", "Assign": {"v": 7}, "Next": "P"},
        "P": {"Type": "Parallel", "Branches": [inner, {**inner, "StartAt": "J", "States": {"J": END}}], "End": True},
    }
    assert _start(_machine(states)).outcome == Succeeded(state="P", output=[{"v": 7}, {}])


def _map(inner: dict[str, Any], **more: Any) -> Machine:
    return _machine(
        {"M": {"Type": "Map", "ItemProcessor": {"StartAt": "I", "States": {"I": inner}}, **more, "End": True}}
    )


def test_iterations_run_in_lanes() -> None:
    machine = _map(TASK, MaxConcurrency=2)
    begun = _start(machine, ["a", "b", "c", "d", "e"])
    opened = _only(begun, OpenScope)
    assert [task.path for task in _all(begun, OpenTask)] == ["M/0/I", "M/1/I"]
    second = _all(begun, OpenTask)[1]
    assert (second.effective, second.entry.item) == ("b", (1, "b"))
    done = engine.complete(machine, "M/1/I", {"M": opened, "M/1/I": second.entry}, "B", {}, CLOCK)
    assert [task.path for task in _all(done, OpenTask)] == ["M/3/I"]
    assert [next_item(opened, index) for index in range(5)] == [2, 3, 4, None, None]


def test_an_empty_map_is_over_at_once() -> None:
    assert _start(_map(TASK), []).outcome == Succeeded(state="M", output=[])


def test_tolerated_failures_are_the_callers_to_count() -> None:
    machine = _map(TASK, ToleratedFailureCount=1, MaxConcurrency=1)
    begun = _start(machine, [1, 2, 3])
    opened, task = _only(begun, OpenScope), _only(begun, OpenTask)
    failed = engine.fail(machine, task.path, {"M": opened, task.path: task.entry}, "X", "c", {}, CLOCK)
    assert _only(failed, BranchFailed) == BranchFailed(scope="M/0", error="X", cause="c")
    assert failed.outcome == "open"
    following = engine.open_item(machine, "M", {"M": opened}, 1, {}, CLOCK)
    assert _only(following, OpenTask).path == "M/1/I"
    closed = engine.fail(machine, "M", {"M": opened}, "X", "c", {}, CLOCK)
    assert closed.outcome == Failed(state="M", error="X", cause="c")
    joined = engine.join(machine, "M", {"M": opened}, [TOLERATED, None, 3], {}, CLOCK)
    assert joined.outcome == Succeeded(state="M", output=[None, 3])


@rows(
    ("tolerance", "failed", "total", "too_many"),
    [
        (Tolerance(), 1, 10, True),
        (Tolerance(), 0, 0, False),
        (Tolerance(count=1), 1, 2, False),
        (Tolerance(count=1), 2, 2, True),
        (Tolerance(percentage=50.0), 1, 2, False),
        (Tolerance(percentage=49.9), 1, 2, True),
        (Tolerance(count=5, percentage=10.0), 2, 10, True),
    ],
)
def test_how_many_failures_are_too_many(tolerance: Tolerance, failed: int, total: int, too_many: bool) -> None:
    assert exceeds(tolerance, failed, total) is too_many


def test_items_from_elsewhere_are_asked_for() -> None:
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": "I",
        "States": {"I": {"Type": "Pass", "End": True}},
    }
    reader = {"Resource": "s3", "Parameters": {"Key.$": "$.k"}, "ReaderConfig": {"InputType": "JSON", "MaxItems": 2}}
    state = {"Type": "Map", "ItemProcessor": processor, "ItemReader": reader, "ItemBatcher": {"MaxItemsPerBatch": 2}}
    machine = _machine({"M": {**state, "End": True}})
    only = _only(_start(machine, {"k": "f"}), NeedItems)
    assert (only.resource, only.arguments) == ("s3", {"Key": "f"})
    assert only.config == {"InputType": "JSON", "MaxItems": 2}
    got = engine.supply_items(machine, "M", {"M": only.entry}, [1, 2, 3], {}, CLOCK)
    assert got.outcome == Succeeded(state="M", output=[{"Items": [1, 2]}, {"Items": [3]}])
    failed = engine.fail(machine, "M", {"M": only.entry}, "States.ItemReaderFailed", "gone", {}, CLOCK)
    assert failed.outcome == Failed(state="M", error="States.ItemReaderFailed", cause="gone")


def test_a_jsonata_query_error_can_be_caught() -> None:
    catch = [{"ErrorEquals": ["States.QueryEvaluationError"], "Output": "{% $states.errorOutput.Error %}", "Next": "E"}]
    task = {"Type": "Task", "Output": "{% $none %}", "Catch": catch, "End": True}
    machine = _machine({"T": task, "E": END}, QueryLanguage="JSONata")
    entry = _only(_start(machine), OpenTask).entry
    advance = engine.complete(machine, "T", {"T": entry}, 1, {}, CLOCK)
    assert advance.outcome == Succeeded(state="E", output="States.QueryEvaluationError")


def test_luck_is_fixed_by_the_clock() -> None:
    states = {"A": {"Type": "Pass", "Output": ["{% $random() %}", "{% $uuid() %}", "{% $now() %}"], "End": True}}
    machine = _machine(states, QueryLanguage="JSONata")
    assert _start(machine) == _start(machine)
    assert _start(machine) != engine.start(machine, {}, {}, replace(CLOCK, seed="t"))
    pathed = _machine(
        {"A": {"Type": "Pass", "Parameters": {"a.$": "States.Array(States.UUID(), States.UUID())"}, "End": True}}
    )
    assert _start(pathed) == _start(pathed)
    outcome = _start(pathed).outcome
    assert isinstance(outcome, Succeeded)
    first, second = outcome.output["a"]
    assert first != second


def test_a_call_does_not_do_all_that_maps_in_maps_come_to() -> None:
    def nested(levels: int) -> dict[str, Any]:
        if not levels:
            return {"Type": "Pass", "End": True}
        processor = {"StartAt": f"L{levels - 1}", "States": {f"L{levels - 1}": nested(levels - 1)}}
        selector = {"n.$": "States.ArrayRange(1, 100, 1)"}
        return {"Type": "Map", "ItemsPath": "$.n", "ItemSelector": selector, "ItemProcessor": processor, "End": True}

    machine = _machine({"L4": nested(4)})
    advance = _start(machine, {"n": [1] * 100})
    assert advance.outcome == "open"
    assert len(advance.steps) < 3 * AT_ONCE


@rows(
    ("state", "place"),
    [
        ({"MaxConcurrencyPath": "$.n"}, "concurrency"),
        ({"ToleratedFailureCountPath": "$.n"}, "tolerance"),
        ({"ToleratedFailurePercentagePath": "$.n"}, "tolerance"),
    ],
)
@rows(("text", "number"), [("1", 1), ("+2", 2), ("2.0", 2), ("x", None), ("-1", None), ("", None), ("1e1", None)])
def test_where_a_path_leads_to_a_number_its_text_will_do(
    state: dict[str, Any], place: str, text: str, number: int | None
) -> None:
    machine = _map(TASK, ItemsPath="$.items", **state)
    start = _start(machine, {"items": [1, 2, 3], "n": text})
    if number is None:
        assert isinstance(start.outcome, Failed)
        assert start.outcome.error == "States.Runtime"
    else:
        same = _start(machine, {"items": [1, 2, 3], "n": number})
        assert repr(getattr(_only(start, OpenScope), place)) == repr(getattr(_only(same, OpenScope), place))


def test_how_many_items_are_read_and_batched_may_be_told_by_the_text_of_a_number() -> None:
    machine = _reading(
        ItemBatcher={"MaxItemsPerBatchPath": "$.n", "MaxInputBytesPerBatchPath": "$.bytes"}, MaxItemsPath="$.n"
    )
    only = _only(_start(machine, {"n": "2", "bytes": "4"}), NeedItems)
    assert only.config == {"InputType": "JSON", "MaxItems": 2}
    got = engine.supply_items(machine, "M", {"M": only.entry}, [1, 2, 3], {}, CLOCK)
    assert got.outcome == Succeeded(state="M", output=[{"Items": [1, 2]}, {"Items": [3]}])


def test_the_text_of_a_number_is_none_in_jsonata() -> None:
    machine = _map(TASK, QueryLanguage="JSONata", MaxConcurrency="{% '1' %}")
    outcome = _start(machine, [1]).outcome
    assert isinstance(outcome, Failed)
    assert outcome.error == "States.QueryEvaluationError"


def test_an_items_path_beside_an_item_reader_is_not_looked_at() -> None:
    machine = _reading(ItemsPath="$.none")
    entry = _only(_start(machine, {"none": [7]}), NeedItems).entry
    assert engine.supply_items(machine, "M", {"M": entry}, [1], {}, CLOCK).outcome == Succeeded(state="M", output=[1])
    failed = engine.supply_items(machine, "M", {"M": entry}, {"none": [7]}, {}, CLOCK).outcome
    assert isinstance(failed, Failed)
    assert failed.error == "States.ItemReaderFailed"


def _reading(MaxItemsPath: str | None = None, **more: Any) -> Machine:  # noqa: N803 - a field of the language
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": "I",
        "States": {"I": {"Type": "Pass", "End": True}},
    }
    most = {} if MaxItemsPath is None else {"MaxItemsPath": MaxItemsPath}
    reader = {"Resource": "s3", "Parameters": {"Key": "k"}, "ReaderConfig": {"InputType": "JSON", **most}}
    return _machine({"M": {"Type": "Map", "ItemProcessor": processor, "ItemReader": reader, **more, "End": True}})


@rows(
    ("catching", "found"),
    [("States.HeartbeatTimeout", True), ("States.Timeout", True), ("States.ALL", True), ("States.TaskFailed", False)],
)
def test_a_missed_heartbeat_is_caught_by_its_name_and_told_as_a_timeout(catching: str, found: bool) -> None:
    catch = [{"ErrorEquals": [catching], "Next": "E"}]
    machine = _machine({"T": {**TASK, "Catch": catch}, "E": END})
    entry = _only(_start(machine), OpenTask).entry
    outcome = engine.fail(machine, "T", {"T": entry}, "States.HeartbeatTimeout", None, {}, CLOCK).outcome
    output = {"Error": "States.Timeout", "Cause": None}
    expected = Succeeded(state="E", output=output) if found else Failed(state="T", error="States.Timeout", cause=None)
    assert outcome == expected


def test_a_missed_heartbeat_that_is_retried_is_told_as_a_timeout() -> None:
    machine = _machine({"T": {**TASK, "Retry": [{"ErrorEquals": ["States.HeartbeatTimeout"]}]}})
    entry = _only(_start(machine), OpenTask).entry
    retried = _only(engine.fail(machine, "T", {"T": entry}, "States.HeartbeatTimeout", "late", {}, CLOCK), Retried)
    assert (retried.error, retried.cause) == ("States.Timeout", "late")


def test_what_is_not_open_or_no_scope_is_the_callers_mistake() -> None:
    machine = _parallel()
    assert ancestors("P/1/B") == ("P",)
    calls: tuple[Callable[[], Advance], ...] = (
        lambda: engine.complete(machine, "P/1/B", {}, 1, {}, CLOCK),
        lambda: engine.join(machine, "E", {}, [], {}, CLOCK),
        lambda: engine.fail(machine, "P", {}, None, None, {}, CLOCK),
        lambda: engine.open_item(machine, "P", {}, 0, {}, CLOCK),
        lambda: engine.wake(machine, "nowhere", {}, {}, CLOCK),
    )
    for call in calls:
        with pytest.raises(InvalidArgument):
            call()
