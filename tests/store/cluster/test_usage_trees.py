"""The usage of a run is added to its ancestors exactly once, however often its mover dies, on one server and many."""

import uuid
from collections.abc import Sequence
from typing import Any, Final, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dcf.core.documents.parents import MOST_DEPTH
from dcf.core.documents.usage import Charge, UsageReport
from dcf.core.documents.usage_sums import sums_of_tree
from dcf.features.usage.storage import UsageBooks
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections, Pool
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.usage_sums import charge_commands, owed_command
from dcf.values.records import record
from tests.store.cluster.test_in_steps import InSteps
from tests.support.trouble import Killed

_RUNS: Final = MOST_DEPTH + 1


class Mortal:
    """Connections of a process that dies once it has sent this number of commands."""

    def __init__(self, connections: Connections, lives: int) -> None:
        self._connections = connections
        self._lives = lives
        self.shards, self.form = connections.shards, connections.form

    def send(self, *commands: Command) -> list[Reply]:
        sent = commands[: self._lives]
        self._lives -= len(sent)
        replies = self._connections.send(*sent) if sent else []
        if len(sent) < len(commands) or self._lives <= 0:
            raise Killed
        return list(replies)


@record(frozen=True, slots=True)
class Step:
    """A run reports tokens, and each process that moves its reports dies after some commands; the last one lives."""

    run: int
    tokens: int
    lives: tuple[int, ...] = ()


steps = st.lists(
    st.builds(
        Step,
        st.integers(0, _RUNS - 1),
        st.integers(1, 10**9),
        st.lists(st.integers(1, 12), max_size=3).map(tuple),
    ),
    max_size=12,
)
trees = st.lists(st.integers(0, _RUNS), min_size=1, max_size=_RUNS - 1)
"""For each run but the first the number of its parent, if that is smaller than its own; else it is the one before."""

CHAIN: Final = list(range(_RUNS - 1))
EACH_DIES: Final = [Step(number, 10**number, (number % 7 + 1, 3)) for number in range(_RUNS)]


class Family:
    """Runs below a first one, which have only what the mover needs: meta, sums and reports."""

    def __init__(self, connections: Connections, parents: Sequence[int]) -> None:
        self._connections = connections
        self.runs = [RunKeys(f"t-{uuid.uuid4().hex[:12]}") for _ in range(len(parents) + 1)]
        self.above: list[list[int]] = [[]]
        for number, proposed in enumerate(parents, 1):
            parent = proposed if proposed < number else number - 1
            self.above.append([parent, *self.above[parent]])
        connections.send(*(connections.form.put(run.meta, '{"status":"running"}') for run in self.runs))

    def report(self, number: int, tokens: int) -> None:
        """Commit a report, as the transaction of a completion does."""
        ancestors = tuple(self.runs[above].workflow_id for above in self.above[number])
        usage = UsageReport(tokens_in=tokens, nanos=tokens, currency="EUR")
        charge = Charge(state="A", agent="a-trees", day="2026-01-01", usage=usage, ancestors=ancestors)
        run = self.runs[number]
        self._connections.send(owed_command(run, 1))
        self._connections.send(("MULTI",), *charge_commands(run, [charge]), ("EXEC",))

    def move(self, number: int, lives: int | None = None) -> None:
        connections = self._connections if lives is None else cast("Any", Mortal(self._connections, lives))
        try:
            UsageBooks(connections).settle(self.runs[number].workflow_id)
        except Killed:
            assert lives is not None

    def sums(self) -> list[dict[str, int]]:
        books = UsageBooks(self._connections)
        return [sums_of_tree(sums) for sums in books.of_runs([run.workflow_id for run in self.runs])]

    def delete(self) -> None:
        self._connections.send(*(("DEL", key) for run in self.runs for key in (run.meta, run.usage, run.usage_parts)))


def moved_once(connections: Connections, parents: Sequence[int], reports: Sequence[Step]) -> None:
    family = Family(connections, parents)
    expected = [0] * len(family.runs)
    for step in reports:
        number = step.run % len(family.runs)
        family.report(number, step.tokens)
        for lives in step.lives:
            family.move(number, lives)
        for run in (number, *family.above[number]):
            expected[run] += step.tokens
    for number in range(len(family.runs)):
        family.move(number)
        family.move(number)
    sums = family.sums()
    family.delete()
    assert [(own.get("tokens_in", 0), own.get("cost:EUR", 0)) for own in sums] == [(sum_, sum_) for sum_ in expected]


@pytest.fixture
def split(real_pool: Pool) -> Connections:
    return InSteps(real_pool)


def test_sums_of_random_trees_are_those_of_their_runs(connections: Connections) -> None:
    @settings(max_examples=40, deadline=None)
    @given(trees, steps)
    @example(CHAIN, EACH_DIES)
    def check(parents: list[int], reports: list[Step]) -> None:
        moved_once(connections, parents, reports)

    check()


def test_so_they_are_where_each_run_is_in_a_slot_of_its_own(split: Connections) -> None:
    @settings(max_examples=60, deadline=None)
    @given(trees, steps)
    @example(CHAIN, EACH_DIES)
    def check(parents: list[int], reports: list[Step]) -> None:
        moved_once(split, parents, reports)

    check()


@pytest.mark.parametrize("name", ["real_connections", "split"])
def test_sums_of_a_deleted_ancestor_do_not_come_back(request: pytest.FixtureRequest, name: str) -> None:
    connections: Connections = request.getfixturevalue(name)
    family = Family(connections, [0, 1])
    (deleted, ended, _) = family.runs
    connections.send(("DEL", deleted.meta), ("EXPIRE", ended.meta, 1000))
    family.report(2, 5)
    family.move(2)
    assert connections.send(("EXISTS", deleted.usage)) == [0]
    (life,) = connections.send(("PTTL", ended.usage))
    assert 0 < life <= 1_000_000, "what a child reports after the end of its parent expires with it"
    family.delete()
