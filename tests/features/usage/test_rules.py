"""Reports of usage: kinds of tokens, parts by model, and how several become one. Pure."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.core.documents.usage import MOST_MODELS, Budget, UsageReport, plus, read_budget, read_report, read_reported
from dcf.core.documents.usage_sums import run_sums_shown, sums_shown
from dcf.errors import InvalidArgument
from dcf.values.records import replace
from tests.support.tables import rows

KINDS = ("tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written")

amounts = st.fixed_dictionaries(dict.fromkeys((*KINDS, "ms", "nanos"), st.integers(0, 10**9)))
models = st.sampled_from([None, *(f"m-{number}" for number in range(4))])
reports = st.builds(
    lambda amounts, model: replace(UsageReport(currency="EUR", model=model), **amounts), amounts, models
)


@given(st.lists(reports, min_size=1, max_size=8))
def test_reports_that_become_one_keep_every_amount_and_that_of_each_model(several: list[UsageReport]) -> None:
    together = several[0]
    for more in several[1:]:
        together = together.with_more(more)
    for name in (*KINDS, "ms", "nanos"):
        assert getattr(together, name) == sum(getattr(report, name) for report in several)
        for model in {report.model for report in several} - {None}:
            of_model = sum(getattr(part, name) for part in together.parts if part.model == model)
            assert of_model == sum(getattr(report, name) for report in several if report.model == model)
    assert read_report(json.loads(json.dumps(together.as_json()))) == together, "it is sent and read"


def test_tokens_of_caches_are_sums_of_their_own_and_count_for_a_budget() -> None:
    used = read_report({"tokens_in": 1, "tokens_cached": 20, "tokens_cache_written": 300, "tokens_out": 4000})
    sums = plus({}, used)
    assert used.tokens == 4321
    assert {kind: sums[kind] for kind in KINDS} == {
        "tokens_in": 1,
        "tokens_cached": 20,
        "tokens_cache_written": 300,
        "tokens_out": 4000,
    }
    assert Budget(tokens=4321).reached(sums) == "4321 of 4321 tokens"
    assert sums_shown(sums)["tokens_cached"] == 20
    assert "tokens_cached" not in sums_shown({"tokens_in": 1}), "most work has none"


def test_a_report_by_model_has_at_least_the_sums_of_its_models() -> None:
    parts = {"m-1": {"tokens_in": 5, "cost": "0.1"}, "m-2": {"tokens_cached": 7, "cost": "0.2"}}
    used = read_report({"tokens_in": 2, "tokens_out": 9, "cost": "0.5", "currency": "EUR", "models": parts})
    assert (used.tokens_in, used.tokens_cached, used.tokens_out, used.nanos) == (5, 7, 9, 500_000_000)
    assert [(part.model, part.currency, part.nanos) for part in used.parts] == [
        ("m-1", "EUR", 100_000_000),
        ("m-2", "EUR", 200_000_000),
    ]
    assert used.amounts()["reports"] == 1


def test_the_eleventh_model_of_several_reports_counts_only_in_the_sums() -> None:
    together = UsageReport()
    for number in range(MOST_MODELS + 2):
        together = together.with_more(UsageReport(tokens_in=1, model=f"m-{number}"))
    assert (len(together.parts), together.tokens_in) == (MOST_MODELS, MOST_MODELS + 2)


@rows(
    "models",
    [
        *({}, [], "m", {"m": 5}, {"": {"tokens_in": 1}}, {"m": {"model": "n"}}, {"m": {"tokens_in": -1}}),
        {f"m-{number}": {"tokens_in": 1} for number in range(MOST_MODELS + 1)},
    ],
)
def test_models_that_are_none_are_refused(models: Any) -> None:
    with pytest.raises(InvalidArgument):
        read_report({"models": models})


def test_a_report_names_one_model_or_several() -> None:
    with pytest.raises(InvalidArgument):
        read_report({"model": "m", "models": {"m": {"tokens_in": 1}}})


def test_a_program_may_report_money_as_a_number() -> None:
    parts = {"m": {"cost": 0.25}}
    used = read_reported({"cost": 0.5, "currency": "USD", "tokens_in": None, "models": parts})
    assert (used.nanos, [part.nanos for part in used.parts]) == (500_000_000, [250_000_000])


def test_the_sums_of_a_run_show_those_of_its_tree_once_a_run_below_it_reported() -> None:
    own = {"tokens_in": 5, "reports": 1, "cost:EUR": 10**9}
    assert run_sums_shown(own) == sums_shown(own)
    below = {"tree:tokens_in": 7, "tree:reports": 2, "tree:cost:EUR": 10**9, "tree:cost:USD": 1}
    shown = run_sums_shown(own | below)
    assert shown["tree"] == sums_shown({"tokens_in": 12, "reports": 3, "cost:EUR": 2 * 10**9, "cost:USD": 1})
    assert {name: value for name, value in shown.items() if name != "tree"} == sums_shown(own)


def test_a_budget_of_a_tree_counts_all_runs_below() -> None:
    sums = {"tokens_in": 5, "tree:tokens_in": 7}
    assert Budget(tokens=12).reached(sums) is None
    assert Budget(tokens=12, tree=True).reached(sums) == "12 of 12 tokens"
    assert read_budget({"tree": True}) is None, "a budget without limits is none"
