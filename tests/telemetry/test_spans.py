"""Spans out of a run's history: what is a span, what it is below, what it links to, and how it ended."""

from dcf.core.documents.model import Status
from dcf.core.documents.usage import UsageReport
from dcf.telemetry.ids import root_span_id_of, span_id_of, traceparent
from dcf.telemetry.spans import RunSpan, SpanOutcome, spans_of
from dcf.values.instants import from_text
from dcf.values.json_text import Json
from tests.runs.test_concluding import conclude, waits
from tests.support.ahead import let_pass
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, retrying, task
from tests.support.world import World

SECRET = "what-an-agent-wrote"
SECOND = 1_000_000_000


def traced(world: World, run: str) -> list[RunSpan]:
    return spans_of(run, "Sample", (happening.as_json() for happening in world.history_of(run)))


def of(spans: list[RunSpan], name: str) -> list[RunSpan]:
    return [span for span in spans if span.name == name]


def test_a_takeover_ends_the_attempt_and_the_next_one_links_to_it(world: World) -> None:
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A", "first")
    world.renew(run, "A", token)
    epoch = world.doc(run, "A").lease.epoch
    world.expire_lease(run, "A")
    world.do(run, "A", "second")
    lost, won = of(traced(world, run), "A")
    assert (lost.outcome, lost.reason, won.outcome) == (SpanOutcome.ERROR, "lease taken over", SpanOutcome.OK)
    assert won.links == (lost.span_id,)
    assert lost.span_id == span_id_of(run, "A", epoch)
    assert [event.name for event in lost.events] == ["LeaseRenewed", "LeaseTakenOver"]
    assert (lost.attributes["dcf.owner"], won.attributes["dcf.owner"]) == ("first", "second")


def test_what_an_attempt_used_up_is_told_in_the_words_of_genai(world: World) -> None:
    run = world.create(chain("A", "B"))
    used = UsageReport(tokens_in=100, tokens_out=20, ms=1500, nanos=10**7, currency="EUR", model="m-1")
    world.complete(run, "A", world.acquire(run, "A", "model"), {}, usage=used)
    world.do(run, "B")
    spans = traced(world, run)
    (used_up,), (plain,) = of(spans, "A"), of(spans, "B")
    assert {name: value for name, value in used_up.attributes.items() if name.startswith(("gen_ai", "dcf.usage"))} == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": "model",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "dcf.usage.seconds": 1.5,
        "dcf.usage.cost": "0.01",
        "dcf.usage.currency": "EUR",
    }
    assert not [name for name in plain.attributes if name.startswith("gen_ai")]


def test_the_history_says_how_long_a_lease_is_and_when_a_retry_is_due(timely: World) -> None:
    run = timely.create(workflow({"A": task(Retry=retrying("States.ALL", IntervalSeconds=30))}))
    token = timely.acquire(run, "A", "w", ttl_s=77)
    timely.fail(run, "A", token)
    (first, *_) = of(traced(timely, run), "A")
    assert first.attributes["dcf.ttl_s"] == 77
    (retried,) = [event for event in first.events if event.name == "StateRetried"]
    due = from_text(retried.attributes["dcf.not_before"])
    assert due is not None
    assert round((due * 1000 - retried.at) / SECOND) == 30


def test_each_try_of_a_task_is_a_span(timely: World) -> None:
    run = timely.create(workflow({"A": task(Retry=retrying("Flaky"))}))
    timely.fail(run, "A", timely.acquire(run, "A"), "Flaky", SECRET)
    let_pass(timely, 10)
    timely.do(run, "A")
    first, second = of(traced(timely, run), "A")
    assert (first.outcome, first.reason, second.outcome) == (SpanOutcome.ERROR, "Flaky", SpanOutcome.OK)
    assert second.links == (first.span_id,)
    assert [event.name for event in first.events] == ["StateRetried"]
    assert SECRET not in repr(first)


def test_a_run_under_way_has_open_spans_below_its_root(world: World) -> None:
    run = world.create(chain("A", "B"))
    world.acquire(run, "A")
    root, attempt = traced(world, run)
    assert (root.parent, root.span_id, root.is_open) == (None, root_span_id_of(run), True)
    assert (attempt.parent, attempt.is_open, attempt.outcome) == (root.span_id, True, SpanOutcome.UNSET)
    assert attempt.end >= attempt.start


def test_what_is_open_when_the_run_fails_ends_with_it(world: World) -> None:
    run = world.create(workflow({"Both": parallel({"L": task()}, {"R": task()})}))
    world.acquire(run, "Both/1/R")
    world.update(run, "Both/0/L", world.acquire(run, "Both/0/L"), status=Status.FAILED, error="Broken", cause=SECRET)
    spans = traced(world, run)
    assert (spans[0].outcome, spans[0].reason) == (SpanOutcome.ERROR, "Broken")
    assert not [span.name for span in spans if span.is_open]


def happened(second: int, type_: str, state: str | None = None, **data: Json) -> dict[str, Json]:
    return {"at": f"2026-11-22T09:00:{second:02}.000000Z", "type": type_, "state": state, **data}


def test_what_a_history_leaves_open_ends_with_the_run_and_not_with_what_comes_after() -> None:
    history = [
        happened(1, "RunCreated"),
        happened(1, "StateEntered", "A", epoch=1),
        happened(3, "LeaseAcquired", "A", epoch=2, owner="w"),
        happened(5, "RunCancelled"),
        happened(9, "RunFinalized", status="cancelled"),
    ]
    root, attempt = spans_of("run", "Sample", history)
    assert (root.is_open, attempt.is_open) == (False, False)
    assert [root.end - root.start, attempt.end - attempt.start] == [4 * SECOND, 2 * SECOND]


def test_a_run_that_is_retried_is_open_again_and_ends_as_it_ends_at_last() -> None:
    failed = [happened(1, "RunCreated"), happened(2, "RunFailed", "A", error="Broken"), happened(3, "RunRetried")]
    (root,) = spans_of("run", "Sample", failed)
    assert (root.is_open, root.outcome, root.reason) == (True, SpanOutcome.UNSET, None)
    (root,) = spans_of("run", "Sample", [*failed, happened(4, "RunSucceeded")])
    assert (root.is_open, root.outcome, root.end - root.start) == (False, SpanOutcome.OK, 3 * SECOND)


def test_an_attempt_keeps_what_happened_while_it_waited_and_says_how_long_that_was() -> None:
    """Its id is that of its epoch, also if the lease was given in the commit that entered the state."""
    history = [
        happened(1, "StateEntered", "A", epoch=7),
        happened(2, "NotificationSent", "A", epoch=7),
        happened(4, "LeaseAcquired", "A", epoch=7, owner="w"),
        happened(5, "StateSucceeded", "A", epoch=8),
    ]
    _, attempt = spans_of("run", "Sample", history)
    assert attempt.span_id == span_id_of("run", "A", 7)
    assert attempt.attributes["dcf.wait_ms"] == 3000
    assert [event.name for event in attempt.events] == ["NotificationSent", "StateSucceeded"]


def test_what_is_concluded_from_outside_is_one_span(world: World) -> None:
    run = world.create(workflow({"A": waits("B"), "B": task()}))
    conclude(world, run, "A", output=SECRET)
    (waited,) = of(traced(world, run), "A")
    assert (waited.outcome, waited.is_open) == (SpanOutcome.OK, False)
    assert [event.name for event in waited.events][-2:] == ["StateConcluded", "StateSucceeded"]


def test_a_loop_within_one_commit_has_a_span_for_each_visit() -> None:
    at = "2026-11-22T09:00:00.000000Z"
    visit = {"at": at, "type": "StateSucceeded", "state": "Again", "epoch": 7}
    spans = spans_of("run", "Loop", [{"at": at, "type": "RunCreated", "state": None}, visit, visit, visit])
    assert len({span.span_id for span in spans}) == len(spans) == 4


def test_the_ids_follow_from_the_run_in_every_process_and_version() -> None:
    """Traces of a run that began before an upgrade continue: these values never change."""
    assert traceparent("run-1") == "00-ff650c3a703ea7830cf3dd5dfef8813b-1a62261c5c393169-01"
    assert traceparent("run-1", "Each/0/S", 3) == "00-ff650c3a703ea7830cf3dd5dfef8813b-52543587ee9af680-01"
    assert traceparent("run-1", "A", 11) != traceparent("run-1", "A1", 1)
