"""Runs that share a full account get equal parts of it, by tokens, however much work each has."""

import heapq
import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dcf.features.accounts import decisions, model
from dcf.features.accounts.model import Bill, Books, Used, Wish
from dcf.values.instants import SECOND

BEGIN = 20_000 * model.DAY
RUNS = 8
SLOTS = 8
LARGE = 18
SMALL = 2
"""Turns that one run, and each of the others, wants at once."""


def served(seed: int, turns: int, *, tokens: tuple[int, int], estimate: int) -> tuple[Counter[str], Counter[str]]:
    """Return how many turns each run got, and how many tokens these used."""
    rng = random.Random(seed)
    books = Books(numbers={"in_flight": SLOTS})
    wanting = ["r0"] * LARGE + [f"r{number}" for number in range(1, RUNS) for _ in range(SMALL)]
    due: list[tuple[int, int, str, str | None]] = [
        (BEGIN + rng.randrange(SECOND), number, run, None) for number, run in enumerate(wanting)
    ]
    heapq.heapify(due)
    count, used, number = Counter[str](), Counter[str](), len(due)
    while sum(count.values()) < turns:
        now, _, run, turn = heapq.heappop(due)
        number += 1
        if turn is not None:
            spent = rng.randint(*tokens)
            used[run] += spent
            _, books = decisions.report(books, Bill(id=turn, used=Used(tokens_in=spent), ended=True, ok=True), now)
        verdict, books = decisions.reserve(books, Wish(id=f"t{number}", run=run, agent="ann", tokens=estimate), now)
        if verdict.verdict == "granted":
            count[run] += 1
            heapq.heappush(due, (now + rng.randrange(SECOND, 8 * SECOND), number, run, f"t{number}"))
        else:
            heapq.heappush(due, (now + verdict.after, number, run, None))
    return count, used


@given(st.integers(0, 10**9))
def test_a_run_with_nine_times_the_work_gets_no_more_turns_than_others(seed: int) -> None:
    count, _ = served(seed, 100, tokens=(1000, 1000), estimate=1000)
    assert len(count) == RUNS
    assert all(abs(number - 100 / RUNS) <= 0.25 * 100 / RUNS for number in count.values()), count


@given(st.integers(0, 10**9))
def test_shares_are_equal_though_no_turn_has_an_estimate(seed: int) -> None:
    count, _ = served(seed, 100, tokens=(1000, 1000), estimate=0)
    assert len(count) == RUNS
    assert all(abs(number - 100 / RUNS) <= 0.25 * 100 / RUNS for number in count.values()), count


@given(st.integers(0, 10**9))
def test_shares_of_tokens_are_equal_without_estimates_once_turns_differ(seed: int) -> None:
    _, used = served(seed, 400, tokens=(500, 3000), estimate=0)
    equal = sum(used.values()) / RUNS
    assert all(abs(tokens - equal) <= 0.25 * equal for tokens in used.values()), used


@given(st.integers(0, 10**9))
def test_shares_are_of_tokens_though_each_estimate_is_wrong(seed: int) -> None:
    _, used = served(seed, 400, tokens=(500, 3000), estimate=1750)
    equal = sum(used.values()) / RUNS
    assert all(abs(tokens - equal) <= 0.25 * equal for tokens in used.values()), used
