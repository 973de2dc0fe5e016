"""usage: what work used up is summed by state, run, agent and project, each report once; a budget blocks its run."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import Meta, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.usage import Budget, UsageReport, read_budget, read_report
from dcf.core.documents.usage_sums import money, sums_shown
from dcf.errors import InvalidArgument
from dcf.features.journal.model import EntryKind
from dcf.features.journal.query import JournalQuery
from dcf.features.journal.writing import AddEntry
from dcf.features.usage.periods import MOST_DAYS, days_between
from dcf.features.usage.scripts import MODELS, OTHER_MODELS
from dcf.features.usage.storage import UsageBooks
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.usage_sums import OWED
from dcf.values.refusal import Refusal
from tests.support.redis.documents import set_member
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World, new_token

SOME = UsageReport(tokens_in=100, tokens_out=20, ms=1500, nanos=250_000_000, currency="EUR", model="m1")


def name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:10]}"


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def report(world: World, run: str, state: str, person: str, usage: UsageReport, **more: Any) -> Updated | Refusal:
    return world.try_complete(run, state, world.acquire(run, state, person), {}, usage=usage, **more)


def meta_of(world: World, run: str) -> Meta:
    meta = world.plane.read(run, (), whole_meta=False).meta
    assert meta is not None
    return meta


def blocked(world: World, run: str) -> list[str]:
    return [item.issue for item in meta_of(world, run).blocked_by]


def budget_of(world: World, run: str) -> Budget | None:
    return meta_of(world, run).budget


def test_usage_is_summed_by_state_run_agent_and_project_with_every_attempt(real: World) -> None:
    me, project = name("a"), name("p")
    first = {"Type": "Task", "Next": "B", "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1}]}
    run = real.create(workflow({"A": first, "B": task()}), project=project)
    real.update(run, "A", real.acquire(run, "A", me), status=Status.FAILED, error="E", usage=SOME)
    set_member(real.ask, RunKeys(run).state("A"), "not_before", None)
    report(real, run, "A", me, SOME)
    report(real, run, "B", me, UsageReport(tokens_out=1, nanos=1, currency="USD"))
    result = real.usages.of_run(run)
    assert sums_shown(result.total) == {
        "tokens_in": 200,
        "tokens_out": 41,
        "seconds": 3,
        "cost": {"EUR": "0.5", "USD": "0.000000001"},
        "reports": 3,
    }
    assert result.states["A"]["tokens_in"] == 200
    assert result.states["B"] == {"tokens_out": 1, "cost:USD": 1, "reports": 1}
    assert result.agents == {me: result.total}
    assert result.models["m1"]["reports"] == 2
    for book in (real.usages.of("agent", me, today(), today()), real.usages.of("project", project, today(), today())):
        assert book.total == result.total
        assert list(book.days.values()) == [result.total]


def test_a_completion_that_reports_usage_also_ends_the_scope_that_it_was_the_last_in(world: World) -> None:
    run = world.create(workflow({"P": parallel({"L": task()}, {"R": task()}, following="Z"), "Z": task()}))
    report(world, run, "P/0/L", "a", SOME)
    answer = report(world, run, "P/1/R", "a", SOME)
    assert isinstance(answer, Updated)
    assert (answer.next_states, world.doc(run, "Z").status) == (("Z",), "pending")


def test_a_completion_repeated_is_counted_once(world: World) -> None:
    me = name("a")
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A", me)
    for _ in range(3):
        world.complete(run, "A", token, {"n": 1}, usage=SOME)
    assert world.usages.of_run(run).total["reports"] == 1
    assert world.usages.of("agent", me, today(), today()).total["tokens_in"] == 100


def test_what_an_answer_to_a_task_token_used_counts_once_and_may_reach_the_budget(world: World) -> None:
    me = name("a")
    waits = task("B", Resource="mail.waitForTaskToken", Parameters={"token.$": "$$.Task.Token"})
    run = world.create(workflow({"A": waits, "B": task()}), agents={"A": me})
    world.usages.set_budget(run, {"tokens": 100})
    world.complete(run, "A", world.acquire(run, "A", me), {})
    token = world.given(run, "A")["token"]
    for _ in range(2):
        assert isinstance(world.callbacks.succeed(token, 1, SOME), RunAnswer)
    assert isinstance(world.callbacks.fail(token, "Late", usage=SOME), Refusal)
    result = world.usages.of_run(run)
    assert (result.states["A"]["reports"], result.agents) == (1, {me: result.total}), "who handed the token out pays"
    assert not isinstance(world.try_acquire(run, "B"), Leased), "the budget is used up"


def test_a_refused_completion_counts_nothing(world: World) -> None:
    run = world.create(chain("A"))
    world.acquire(run, "A", "w")
    assert isinstance(world.try_complete(run, "A", new_token(), {}, usage=SOME), Refusal)
    assert world.usages.of_run(run).total == {}


def test_what_is_given_back_and_written_in_part_counts_too(world: World) -> None:
    run, me = world.create(chain("A")), name("a")
    token = world.acquire(run, "A", me)
    for _ in range(2):
        world.update(run, "A", token, output=1, request_id="r1", usage=SOME)
    world.update(run, "A", token, status=Status.PENDING, usage=SOME)
    assert world.usages.of_run(run).total["reports"] == 2


def test_what_a_process_owed_that_died_between_commit_and_sum_is_in_the_books_once(real: World) -> None:
    me, project = name("a"), name("p")
    run = real.create(chain("A", "B"), project=project)
    real.plane.after_usage = None  # it dies right after the commit
    report(real, run, "A", me, SOME)
    assert real.ask("XLEN", RunKeys(run).spent) == 1
    assert real.ask("ZSCORE", OWED, run) is not None
    real.ask("ZADD", OWED, 1, run)  # a while ago
    books = UsageBooks(real.connections)
    books.settle_owed(2_000_000_000_000_000)
    books.settle_owed(2_000_000_000_000_000)
    assert real.ask("ZSCORE", OWED, run) is None
    assert real.ask("EXISTS", RunKeys(run).spent) == 0
    assert real.usages.of("agent", me, today(), today()).total["reports"] == 1
    assert real.usages.of("project", project, today(), today()).total["tokens_in"] == 100


def test_two_processes_that_settle_at_the_same_time_count_each_report_once(real: World, worlds: Any) -> None:
    me = name("a")
    branches = [{f"B{number}": task()} for number in range(12)]
    run = real.create(workflow({"Fan": parallel(*branches)}))
    servers = [real, worlds()]
    tokens = {number: real.acquire(run, f"Fan/{number}/B{number}", me) for number in range(12)}

    def done(number: int) -> None:
        servers[number % 2].complete(run, f"Fan/{number}/B{number}", tokens[number], 1, usage=SOME)
        servers[(number + 1) % 2].usages.of_run(run)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(done, range(12)))
    assert real.usages.of_run(run).total["reports"] == 12
    assert real.usages.of("agent", me, today(), today()).total["tokens_in"] == 1200


def test_a_run_without_usage_sends_no_command_more(worlds: Any, counting: Any) -> None:
    world = worlds(pool=counting)
    run = world.create(chain("A"))
    with counting.counted() as packets:
        world.do(run, "A")
    sent = str([command for packet in packets for command in packet])
    assert ":usage" not in sent
    assert ":spent" not in sent


def test_the_completion_that_reaches_the_budget_blocks_the_run_and_leases_no_state(real: World) -> None:
    run = real.create(chain("A", "B", "C"), agents={"A": "w", "B": "w", "C": "w"})
    real.usages.set_budget(run, {"tokens": 150})
    first = real.complete(run, "A", real.acquire(run, "A"), {}, usage=SOME, owner="w", claim_ttl_s=60)
    assert [claim.state for claim in first.claims] == ["B"], "100 in and 20 out are less than 150"
    token = first.claims[0].doc.lease.token
    second = real.complete(run, "B", token, {}, usage=SOME, owner="w", claim_ttl_s=60)
    assert second.claims == ()
    assert second.next_states == ("C",)
    refused = real.try_acquire(run, "C")
    assert isinstance(refused, Refusal)
    assert (refused.code, "240 of 150 tokens" in refused.message) == ("run_blocked", True)
    assert real.event_types(run).count("RunBlocked") == 1

    still = real.usages.set_budget(run, {"tokens": 200}, reason="a little more")
    assert isinstance(still, RunAnswer)
    assert still.answer["used_up"] == "240 of 200 tokens"
    assert isinstance(real.try_acquire(run, "C"), Refusal)
    real.usages.set_budget(run, {"tokens": 1000})
    real.do(run, "C")
    assert real.run_status(run) == "succeeded"


def test_each_part_of_a_budget_counts_and_other_currencies_do_not() -> None:
    sums = {"tokens_in": 5, "tokens_out": 5, "ms": 2000, "cost:EUR": 10**9}
    assert Budget(tokens=11).reached(sums) is None
    assert Budget(tokens=10).reached(sums) == "10 of 10 tokens"
    assert Budget(nanos=10**9, currency="EUR").reached(sums) == "1 of 1 EUR"
    assert Budget(nanos=1, currency="USD").reached(sums) is None
    assert Budget(ms=2000).reached(sums) == "2 of 2 seconds"


def test_a_run_that_ends_with_the_completion_that_reaches_its_budget_is_not_blocked(world: World) -> None:
    run = world.create(chain("A"))
    world.usages.set_budget(run, {"tokens": 1})
    report(world, run, "A", "w", SOME)
    assert world.run_status(run) == "succeeded"
    assert world.meta(run).get("blocked_by") is None


def test_parallel_completions_of_a_run_with_a_budget_block_it_once(real: World) -> None:
    branches = [{f"B{number}": task()} for number in range(8)]
    run = real.create(workflow({"Fan": parallel(*branches, following="Last"), "Last": task()}))
    real.usages.set_budget(run, {"tokens": 500})
    tokens = {number: real.acquire(run, f"Fan/{number}/B{number}") for number in range(8)}
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: real.complete(run, f"Fan/{n}/B{n}", tokens[n], 1, usage=SOME), range(8)))
    assert real.usages.of_run(run).total["reports"] == 8
    assert real.event_types(run).count("RunBlocked") == 1


def test_usage_that_is_none_is_refused() -> None:
    bad: list[Any] = [
        [],
        {},
        {"tokens": 1},
        {"tokens_in": -1},
        {"tokens_in": True},
        {"tokens_in": 1.5},
        {"tokens_in": 10**12 + 1},
        {"seconds": float("inf")},
        {"seconds": "1"},
        {"cost": 0.1, "currency": "EUR"},
        {"cost": "0.1"},
        {"currency": "EUR"},
        {"cost": "-1", "currency": "EUR"},
        {"cost": "1e9", "currency": "EUR"},
        {"cost": "0.0000000001", "currency": "EUR"},
        {"cost": "1", "currency": "euro"},
        {"model": 3},
        {"model": "a\u202eb"},
    ]
    for document in bad:
        with pytest.raises(InvalidArgument):
            read_report(document)
    assert read_report({"cost": "0.123456789", "currency": "EUR"}).nanos == 123_456_789
    assert read_budget({"cost": "5", "currency": "EUR"}) == Budget(nanos=5 * 10**9, currency="EUR")
    assert [money(nanos) for nanos in (0, 1, 10**9, 1_250_000_000)] == ["0", "0.000000001", "1", "1.25"]


def test_the_audit_record_says_what_the_run_used_up(world: World) -> None:
    run = world.create(chain("A"))
    report(world, run, "A", "w", SOME)
    assert world.finalize(run).audit["cost_summary"]["cost"] == {"EUR": "0.25"}


def test_a_project_that_reached_its_budget_blocks_the_runs_that_report(real: World) -> None:
    project = name("p")
    real.plane.limits = real.limits
    real.limits.put_budget(project, {"tokens": 200})
    first, second = (real.create(chain("A", "B"), project=project) for _ in range(2))
    report(real, first, "A", "w", SOME)
    assert isinstance(real.try_acquire(first, "B"), Leased)
    report(real, second, "A", "w", SOME)
    refused = real.try_acquire(second, "B")
    assert isinstance(refused, Refusal)
    assert f"project '{project}' is used up: 240 of 200 tokens" in refused.message
    real.plane.after_usage = None
    real.usages.settle(second)
    assert real.event_types(second).count("RunBlocked") == 1
    wish = AddEntry(kind=EntryKind.ISSUE, text="Which colour?", agent="w", key="own", blocks=True, is_operator=True)
    real.journal.add_journal_entry(second, wish)
    issue, own = blocked(real, second)

    real.usages.set_project_budget(project, {"tokens": 210})
    assert blocked(real, second) == [issue, own], "it is still used up"
    real.usages.set_project_budget(project, {"tokens": 1000}, reason="go on")
    assert blocked(real, second) == [own], "only its own issue is resolved"


def test_a_run_is_not_left_blocked_by_a_budget_that_was_raised_meanwhile(
    real: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = name("p")
    real.plane.limits = real.limits
    real.usages.set_project_budget(project, {"tokens": 1})
    run = real.create(chain("A", "B"), project=project)
    token, committing = real.acquire(run, "A"), real.plane.transactions.on_run

    def raised_first(*value: Any) -> Any:
        monkeypatch.undo()
        real.usages.set_project_budget(project, {"tokens": 1000})  # finds no run that is blocked
        return committing(*value)

    monkeypatch.setattr(real.plane.transactions, "on_run", raised_first)
    real.complete(run, "A", token, {}, usage=SOME)
    assert real.event_types(run).count("RunBlocked") == 1
    assert isinstance(real.try_acquire(run, "B"), Leased)


def test_two_who_set_different_limits_at_once_lose_neither(real: World) -> None:
    run, project = real.create(chain("A")), name("p")
    changes = [{"tokens": 5}, {"cost": "1", "currency": "EUR"}, {"seconds": 60}] * 3
    with ThreadPoolExecutor(len(changes)) as pool:
        answers = [*pool.map(lambda change: real.usages.set_budget(run, change), changes)]
        [*pool.map(lambda change: real.limits.put_budget(project, change), changes)]
    assert all(isinstance(answer, RunAnswer) for answer in answers)
    every = Budget(tokens=5, nanos=10**9, currency="EUR", ms=60_000)
    assert (budget_of(real, run), real.limits.budget_of(project)) == (every, every)
    real.usages.set_budget(run, {"tokens": None, "cost": "2", "currency": "USD"})
    assert budget_of(real, run) == Budget(nanos=2 * 10**9, currency="USD", ms=60_000), "null takes a limit away"
    with pytest.raises(InvalidArgument):
        real.usages.set_budget(run, {"currency": "EUR"})
    real.limits.put_budget(project, {})
    assert real.limits.budget_of(project) is None


def test_a_budget_that_is_used_up_while_it_is_raised_leaves_no_issue_open(
    real: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = real.create(chain("A", "B"))
    real.usages.set_budget(run, {"tokens": 1})
    token, reading = real.acquire(run, "A"), real.plane.read

    def used_up_after(*value: Any, **more: Any) -> Any:
        used_up_after = reading(*value, **more)
        monkeypatch.undo()
        real.complete(run, "A", token, {}, usage=SOME)
        return used_up_after

    monkeypatch.setattr(real.plane, "read", used_up_after)
    real.usages.set_budget(run, {"tokens": 1000})
    assert real.event_types(run).count("RunBlocked") == 1
    assert real.journal.read_journal(run, JournalQuery(limit=5, open=True)).entries == []
    assert isinstance(real.try_acquire(run, "B"), Leased)


def test_models_beyond_those_kept_apart_are_summed_as_one(real: World) -> None:
    run = real.create(chain("A"))
    token = real.acquire(run, "A")
    for number in range(MODELS + 2):
        usage = UsageReport(tokens_in=1, model=f"m{number}")
        real.update(run, "A", token, output=number, request_id=f"r{number}", usage=usage)
    models = real.usages.of_run(run).models
    assert len(models) == MODELS + 1
    assert models[OTHER_MODELS]["tokens_in"] == 2


def test_a_period_has_so_many_days_at_most(real: World) -> None:
    assert len(days_between("2025-01-01", "2026-01-01")) == MOST_DAYS
    for first, last in (("2025-01-01", "2026-01-02"), ("2026-01-02", "2026-01-01"), ("x", "2026-01-01")):
        with pytest.raises(InvalidArgument):
            real.usages.of("agent", "nobody", first, last)
