"""Hosts die at random steps, bills come twice: budgets are exceeded by few turns, the statement corrects the ledger.

Time is virtual, and the decisions are the pure ones, which `test_protocol` compares with the script in Redis.
"""

import heapq
import random
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dcf.features.accounts import decisions, model
from dcf.features.accounts.model import Bill, Books, LimitMet, Used, Wish
from dcf.values.instants import SECOND

BEGIN = 20_000 * model.DAY
AGENTS = 20
CALLS = (2, 4)
TOKENS = (500, 3000)
PRICE = 3000
"""Billionths for a token."""

LARGEST_TURN = CALLS[1] * TOKENS[1] * PRICE


class Trial:
    """Twenty agents on three hosts, which work off states. The provider bills each call, also of a killed host."""

    def __init__(self, seed: int, *, limits: dict[str, int], crash: float, estimate: int, turns: int) -> None:
        self.rng, self.now, self.crash, self.estimate, self.left = random.Random(seed), BEGIN, crash, estimate, turns
        self.books = Books(numbers=limits, texts={"currency": "EUR"})
        self.bills: dict[str, tuple[int, int]] = {}
        self.working: set[str] = set()
        self.most = self.turns = self.crashes = 0
        self.lives = [0, 0, 0]
        self.due: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.window: tuple[int, int] | None = None
        self.late_starts = 0
        for agent in range(AGENTS):
            self.after(self.rng.random(), self.ask, agent, 0)

    def after(self, seconds: float, step: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self.due, (self.now + int(seconds * SECOND), self.rng.getrandbits(60), step, arguments))

    def run(self, seconds: int) -> None:
        until = BEGIN + seconds * SECOND
        while self.due and self.due[0][0] <= until:
            self.now, _, step, arguments = heapq.heappop(self.due)
            step(*arguments)

    def is_dead(self, agent: int, life: int) -> bool:
        """Return True if the host of the agent died since, or dies now."""
        host = agent % 3
        if life != self.lives[host]:
            return True
        if self.rng.random() >= self.crash:
            return False
        self.lives[host] += 1
        self.crashes += 1
        self.working = {name for name in self.working if int(name.split("-")[1]) % 3 != host}
        for agent_of_host in range(host, AGENTS, 3):
            self.after(20 + self.rng.random(), self.ask, agent_of_host, self.lives[host])
        return True

    def ask(self, agent: int, life: int) -> None:
        if self.left == 0 or self.is_dead(agent, life):
            return
        name = f"t{self.turns}-{agent}"
        wish = Wish(id=name, run="r", agent=f"a{agent}", tokens=self.estimate, nanos=self.estimate * PRICE)
        verdict, self.books = decisions.reserve(self.books, wish, self.now)
        if verdict.verdict != "granted":
            if verdict.verdict != "day":
                self.after(min(60.0, verdict.after / SECOND + self.rng.random() / 100), self.ask, agent, life)
            return
        self.turns, self.left = self.turns + 1, self.left - 1
        self.working.add(name)
        self.most = max(self.most, len(self.working))
        self.call(name, agent, life, self.rng.randint(*CALLS), (0, 0))

    def call(self, name: str, agent: int, life: int, calls: int, used: tuple[int, int]) -> None:
        """Report what was heard, then make the next call, or settle the turn."""
        if self.is_dead(agent, life):
            return
        if calls == 0:
            self.settle(name, used, ok=True)
            self.after(0.05, self.ask, agent, life)
            return
        self.report(name, used)
        if self.window is not None and self.window[0] <= self.now < self.window[1]:
            met = LimitMet(until=self.window[1], kind="limit", by=f"a{agent}", id=name)
            until, self.books = decisions.meet(self.books, met, self.now)
            self.settle(name, used, ok=False)
            self.after((until - self.now) / SECOND, self.ask, agent, life)
            return
        tokens = self.rng.randint(*TOKENS)
        before = self.bills.get(name, (0, 0))
        self.bills[name] = (before[0] + tokens, before[1] + tokens * PRICE)
        heard = (used[0] + tokens, used[1] + tokens * PRICE)
        self.after(self.rng.uniform(0.5, 6), self.call, name, agent, life, calls - 1, heard)

    def report(self, name: str, used: tuple[int, int], **more: bool) -> None:
        bill = Bill(id=name, used=Used(tokens_in=used[0], nanos=used[1]), currency="EUR", **more)
        for _ in range(1 + (self.rng.random() < 0.1)):
            _, self.books = decisions.report(self.books, bill, self.now)

    def settle(self, name: str, used: tuple[int, int], *, ok: bool) -> None:
        self.working.discard(name)
        self.report(name, used, ended=True, ok=ok)

    def state(self) -> None:
        """Count the statement of the provider: every bill, and nothing for turns that it does not know."""
        for name in {*self.bills, *self.books.held, *self.books.done}:
            tokens, nanos = self.bills.get(name, (0, 0))
            bill = Bill(id=name, used=Used(tokens_in=tokens, nanos=nanos), currency="EUR")
            _, self.books = decisions.state(self.books, bill, self.now // model.DAY, self.now)

    def sum_of(self, field: str) -> int:
        return sum(sums.get(field, 0) for sums in self.books.days.values())

    @property
    def billed(self) -> int:
        return sum(nanos for _, nanos in self.bills.values())


seeds = st.integers(0, 10**9)


@given(seeds)
def test_the_statement_makes_the_ledger_equal_to_the_bills_whatever_died(seed: int) -> None:
    trial = Trial(seed, limits={"in_flight": AGENTS}, crash=0.01, estimate=6000, turns=150)
    trial.run(2000)
    heard = trial.sum_of("cost:EUR")
    assert heard <= trial.billed
    trial.state()
    assert trial.sum_of("cost:EUR") == trial.billed
    assert (trial.sum_of("open_cost:EUR"), trial.sum_of("open_tokens")) == (0, 0)
    assert trial.sum_of("turns") + trial.sum_of("lapsed") == len(trial.books.done)
    assert (trial.books.held, trial.books.numbers["count"], trial.books.numbers["nanos"]) == ({}, 0, 0)


@given(seeds, st.sampled_from([0, 6000, 12_000]), st.sampled_from([1, 5, 20]), st.sampled_from([0.0, 0.01]))
def test_a_days_budget_is_exceeded_by_one_turn_for_each_slot_at_most(
    seed: int, estimate: int, slots: int, crash: float
) -> None:
    budget = 400_000_000
    trial = Trial(seed, limits={"in_flight": slots, "day_nanos": budget}, crash=crash, estimate=estimate, turns=200)
    trial.run(3000)
    assert trial.sum_of("cost:EUR") - budget <= slots * LARGEST_TURN
    if estimate * PRICE >= LARGEST_TURN:
        assert trial.billed - budget <= LARGEST_TURN


@given(seeds)
def test_no_more_turns_are_at_work_than_the_account_allows(seed: int) -> None:
    trial = Trial(seed, limits={"in_flight": 5}, crash=0.01, estimate=0, turns=100)
    trial.run(2000)
    assert trial.most <= 5


@given(seeds, st.integers(15, 300))
def test_after_a_window_every_agent_is_at_work_within_ten_seconds(seed: int, length: int) -> None:
    trial = Trial(seed, limits={"in_flight": AGENTS}, crash=0.0, estimate=0, turns=10_000)
    trial.window = (BEGIN + 20 * SECOND, BEGIN + (20 + length) * SECOND)
    trial.run(20 + length - 1)
    assert not trial.working
    begun = trial.turns
    trial.run(20 + length + 10)
    assert len(trial.working) >= AGENTS - 2, "all but those between two turns"
    assert trial.turns > begun
