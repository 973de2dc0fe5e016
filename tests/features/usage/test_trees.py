"""The usage of child runs reaches their ancestors, and a budget may be one of a run and all runs below it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.core.documents.answers import Leased
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.parents import MOST_DEPTH, Parent, read_parent
from dcf.core.documents.usage import UsageReport
from dcf.core.documents.usage_sums import sums_of_tree
from dcf.core.listing.runs import RunQuery
from dcf.errors import InvalidArgument
from dcf.features.children.model import link_of
from dcf.features.usage.budget_operations import settling
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.usage_sums import OWED
from dcf.values.refusal import Refusal
from tests.features.children.test_operations import begin, keep, only_child, settle, starts
from tests.support.workflows.machines import chain, workflow
from tests.support.world import World

SOME = UsageReport(
    tokens_in=70, tokens_cached=20, tokens_out=10, ms=1500, nanos=250_000_000, currency="EUR", model="m1"
)
"""100 tokens."""

LATER = 2_000_000_000_000_000


def child_of(world: World, parent: str) -> str:
    """A run as a state of its parent starts it; it continues after the end of that state."""
    link = link_of(world.meta(parent), parent, "A", 1, "")
    return world.create(chain("A", "B", "C"), parent=link)


def family(world: World) -> tuple[str, str, str]:
    """A run, its child, and the child of that."""
    head = world.create(chain("A", "B", "C"))
    child = child_of(world, head)
    return head, child, child_of(world, child)


def report(world: World, run: str, state: str = "A", usage: UsageReport = SOME) -> None:
    world.complete(run, state, world.acquire(run, state), {}, usage=usage)


def tokens(world: World, run: str) -> int:
    return sums_of_tree(world.usages.of_run(run).total).get("tokens_in", 0)


def blocking(world: World, run: str) -> list[str]:
    meta = world.plane.read(run, (), whole_meta=False).meta
    assert meta is not None
    return [blocker.text for blocker in meta.blocked_by]


def test_a_tree_of_ten_levels_has_the_usage_of_all_of_its_runs(world: World) -> None:
    inner = keep(world, chain("Do"))
    for _ in range(MOST_DEPTH - 1):
        inner = keep(world, workflow({"Inner": starts(inner)}))
    runs = [begin(world, workflow({"Inner": starts(inner)}))]
    for _ in range(MOST_DEPTH):
        runs.append(only_child(world, runs[-1]))
    parent = read_parent(world.meta(runs[-1])["parent"])
    assert parent is not None
    assert parent.ancestors == tuple(reversed(runs[:-1]))
    report(world, runs[-1], "Do")
    settle(world)
    assert [tokens(world, run) for run in runs] == [70] * len(runs)
    assert [world.usages.of_run(run).total.get("tokens_in", 0) for run in runs] == [0] * MOST_DEPTH + [70]
    assert sums_of_tree(world.usages.of_run(runs[0]).total) == world.usages.of_run(runs[-1]).total


def test_a_child_that_an_earlier_version_started_counts_for_its_parent(world: World) -> None:
    head = world.create(chain("A"))
    old = Parent(run=head, state="A", epoch=1, how="", depth=1)
    assert old.as_json() == {"run": head, "state": "A", "epoch": 1, "how": "", "depth": 1}, "as it wrote it"
    report(world, world.create(chain("A"), parent=old))
    assert tokens(world, head) == 70


def test_what_a_dead_process_owed_is_in_each_tree_once_and_reaches_the_budget(real: World) -> None:
    head, child, grandchild = family(real)
    real.usages.set_budget(head, {"tokens": 100, "tree": True})
    settled, real.plane.after_usage = real.plane.after_usage, None  # it dies right after the commit
    report(real, grandchild)
    assert tokens_of_sums(real, head) == 0
    real.ask("ZADD", OWED, 1, grandchild)  # a while ago
    duty = settling(real.plane, real.connections)
    duty(LATER)
    duty(2 * LATER)
    real.plane.after_usage = settled
    assert [tokens(real, run) for run in (head, child, grandchild)] == [70, 70, 70]
    assert all(blocking(real, run) for run in (head, child, grandchild))


def tokens_of_sums(world: World, run: str) -> int:
    """The tokens of the tree as far as they were moved."""
    (sums,) = world.books.of_runs([run])
    return sums_of_tree(sums).get("tokens_in", 0)


def test_processes_that_settle_at_the_same_time_count_each_report_once(real: World, worlds: Any) -> None:
    head = real.create(chain("A"))
    children = [child_of(real, head) for _ in range(6)]
    servers = [real, worlds()]
    leases = {(child, state): None for child in children for state in ("A", "B")}

    def done(child: str) -> None:
        for at, state in enumerate(("A", "B")):
            report(servers[at % 2], child, state)
            servers[(at + 1) % 2].usages.of_run(child)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(done, children))
    assert tokens(real, head) == 70 * len(leases)


def test_a_budget_of_the_tree_that_a_child_uses_up_blocks_the_run_and_all_below_it(real: World) -> None:
    head, child, grandchild = family(real)
    sibling, elsewhere = child_of(real, head), real.create(chain("A", "B"))
    real.usages.set_budget(head, {"tokens": 250, "tree": True})
    report(real, head)
    report(real, grandchild)
    assert [blocking(real, run) for run in (head, child, grandchild, sibling)] == [[], [], [], []]
    report(real, child)
    assert "The budget of the run and of all below it is used up: 300 of 250 tokens." in blocking(real, head)[0]
    text = f"The budget of run '{head}' and of all below it is used up: 300 of 250 tokens."
    assert all(text in blocking(real, run)[0] for run in (child, grandchild, sibling))
    assert all(isinstance(real.try_acquire(run, "B"), Refusal) for run in (head, child, grandchild))
    assert blocking(real, elsewhere) == []

    still = real.usages.set_budget(head, {"tokens": 300})
    assert isinstance(still, RunAnswer)
    assert (still.answer["budget"], still.answer["used_up"]) == ({"tokens": 300, "tree": True}, "300 of 300 tokens")
    assert blocking(real, sibling)
    real.usages.set_budget(head, {"tokens": 400})
    assert [blocking(real, run) for run in (head, child, grandchild, sibling)] == [[], [], [], []]
    assert isinstance(real.try_acquire(sibling, "A"), Leased)


def test_the_run_itself_may_use_up_the_budget_of_its_tree(real: World) -> None:
    head, child, _ = family(real)
    real.usages.set_budget(head, {"tokens": 150, "tree": True})
    report(real, child)
    token = real.acquire(head, "A")
    done = real.complete(head, "A", token, {}, usage=SOME, owner="w", claim_ttl_s=60)
    assert done.claims == (), "the completion that reaches it blocks the run, as that of a run alone"
    assert [len(blocking(real, run)) for run in (head, child)] == [1, 1]


def test_a_run_that_starts_in_a_used_up_tree_is_blocked_at_its_first_report(real: World) -> None:
    head, child, _ = family(real)
    real.usages.set_budget(head, {"tokens": 100, "tree": True})
    report(real, child)
    late = child_of(real, child)
    assert blocking(real, late) == []
    report(real, late)
    assert f"run '{head}'" in blocking(real, late)[0]
    real.usages.set_budget(head, {})
    assert [blocking(real, run) for run in (head, child, late)] == [[], [], []], "no budget blocks no run"


def test_a_budget_of_a_run_alone_does_not_count_its_children(real: World) -> None:
    head, child, _ = family(real)
    real.usages.set_budget(head, {"tokens": 150})
    report(real, child)
    report(real, head)
    assert blocking(real, head) == []
    real.usages.set_budget(head, {"tree": True})
    report(real, child, "B")
    assert blocking(real, head)
    assert blocking(real, child)
    real.usages.set_budget(head, {"tree": None})
    assert [blocking(real, run) for run in (head, child)] == [[], []]


def test_two_budgets_of_trees_block_apart(real: World) -> None:
    head, child, grandchild = family(real)
    for run in (head, child):
        real.usages.set_budget(run, {"tokens": 100, "tree": True})
    report(real, grandchild)
    assert [len(blocking(real, run)) for run in (head, child, grandchild)] == [1, 2, 2]
    real.usages.set_budget(head, {"tokens": 1000})
    assert [len(blocking(real, run)) for run in (head, child, grandchild)] == [0, 1, 1]


def test_the_budget_of_a_run_that_has_ended_blocks_no_run(real: World) -> None:
    head = real.create(chain("A"))
    child = child_of(real, head)
    real.usages.set_budget(head, {"tokens": 1, "tree": True})
    real.do(head, "A")
    report(real, child)
    assert blocking(real, child) == []
    assert tokens(real, head) == 70


def test_no_run_is_left_blocked_by_a_budget_of_its_tree_that_was_raised_meanwhile(
    real: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, child, _ = family(real)
    real.usages.set_budget(head, {"tokens": 1, "tree": True})
    token, committing = real.acquire(child, "A"), real.plane.transactions.on_run

    def raised_first(run: str, *more: Any) -> Any:
        if run != child:
            return committing(run, *more)
        monkeypatch.undo()
        real.usages.set_budget(head, {"tokens": 1000})  # does not find the child as blocked
        return committing(run, *more)

    monkeypatch.setattr(real.plane.transactions, "on_run", raised_first)
    real.complete(child, "A", token, {}, usage=SOME)
    assert real.event_types(child).count("RunBlocked") == 1
    assert [blocking(real, run) for run in (head, child)] == [[], []]


def test_reports_that_reach_the_budget_at_once_block_each_run_once(real: World, worlds: Any) -> None:
    head = real.create(chain("A"))
    children = [child_of(real, head) for _ in range(6)]
    real.usages.set_budget(head, {"tokens": 100, "tree": True})
    servers = [real, worlds()]
    leases = {child: real.acquire(child, "A") for child in children}

    def done(at: int) -> None:
        child = children[at]
        servers[at % 2].complete(child, "A", leases[child], {}, usage=SOME)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(done, range(6)))
    assert [real.event_types(run).count("RunBlocked") for run in (head, *children)] == [1] * 7


def test_a_run_outside_trees_sends_no_command_more(worlds: Any, counting: Any) -> None:
    world = worlds(pool=counting)
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A")
    with counting.counted() as packets:
        world.complete(run, "A", token, {}, usage=SOME)
    assert len(packets) == PACKETS_OF_A_REPORT
    assert len(packets[-1]) == 1, "one script after the commit"
    assert not [command for packet in packets for command in packet if "trees" in command]


PACKETS_OF_A_REPORT = 3
"""Reading, committing, and the script that moves the report."""


def test_a_tree_is_true_or_false_and_no_project_has_one(world: World) -> None:
    run, world.plane.limits = world.create(chain("A")), world.limits
    with pytest.raises(InvalidArgument):
        world.usages.set_budget(run, {"tokens": 1, "tree": "yes"})
    with pytest.raises(InvalidArgument):
        world.usages.set_project_budget("p", {"tokens": 1, "tree": True})


def test_children_are_listed_with_all_that_is_below_them(real: World) -> None:
    head, child, grandchild = family(real)
    report(real, child)
    report(real, grandchild)
    page = real.usages.of_children(head, None)
    assert {run: sums["tokens_in"] for run, sums in page.sums.items()} == {child: 140}
    assert page.next_cursor is None
    rows = real.usages._runs.list_runs(RunQuery(limit=10, parent=child)).rows
    assert [row.as_json()["usage"]["tokens_in"] for row in rows] == [70]
    assert real.ask("HGET", RunKeys(head).usage, "tree:reports") == b"2"
