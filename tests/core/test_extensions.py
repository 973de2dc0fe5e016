"""Offers of capabilities to decisions: the tables must be complete, and each kind of thing has one place."""

from dataclasses import replace
from typing import Any

import pytest

from dcf.asl.tasks.extensions import LANGUAGE, Language
from dcf.core.extensions import EXTENSIONS, Capability, CompletionStep, Extensions, steps_of
from dcf.core.leasing.extensions import LeaseExtensions
from dcf.features.installed import CAPABILITIES
from dcf.runs.loading import RunExtensions
from dcf.runs.notifying.contents import NoticeExtensions
from dcf.store.extensions import ListExtensions
from tests.core.build import definition


def test_tables_raise_before_capabilities_are_installed() -> None:
    tables = Extensions(LeaseExtensions())
    with pytest.raises(RuntimeError, match=r"completions.*dcf\.features\.installed"):
        _ = tables.completions
    with pytest.raises(RuntimeError, match=r"holds.*dcf\.features\.installed"):
        _ = tables.leasing.holds
    with pytest.raises(RuntimeError, match=r"opened.*dcf\.features\.installed_lists"):
        _ = ListExtensions().opened
    with pytest.raises(RuntimeError, match=r"gates.*dcf\.features\.installed_language"):
        _ = Language().gates
    with pytest.raises(RuntimeError, match=r"contents.*dcf\.features\.installed_notices"):
        _ = NoticeExtensions().contents
    with pytest.raises(RuntimeError, match=r"growing.*dcf\.features\.installed_runs"):
        _ = RunExtensions().growing


def test_two_capabilities_cannot_offer_the_same_kind_of_resource() -> None:
    tables = Language()
    child = LANGUAGE.resources["child"]
    with pytest.raises(ValueError, match="the same kind of Resource"):
        tables.install(gates=LANGUAGE.gates, resources=(child, child))


def test_two_capabilities_cannot_offer_the_same_ending() -> None:
    gates = next(one for one in CAPABILITIES if one.name == "gates")
    with pytest.raises(ValueError, match="offer the same"):
        Extensions(LeaseExtensions()).install([*CAPABILITIES, replace(gates, name="others")])


def test_a_completion_meets_the_steps_that_apply_to_its_definition_innermost_first() -> None:
    def step(*, applies: bool) -> CompletionStep:
        def through(*_: Any) -> Any:
            raise AssertionError("not called here")

        return CompletionStep(applies=lambda _: applies, through=through)

    outer, inner, other = step(applies=True), step(applies=True), step(applies=False)
    before = EXTENSIONS.completions
    workflow = definition()
    try:
        EXTENSIONS.completions = (outer, other, inner)
        assert steps_of(workflow) == (inner.through, outer.through)
    finally:
        EXTENSIONS.completions = before
    assert workflow.steps == (inner.through, outer.through)
    assert steps_of(definition()) == ()


def test_the_engine_needs_one_capability_that_charges_and_one_that_lets_runs_grow() -> None:
    growing = next(one for one in CAPABILITIES if one.name == "growing")
    with pytest.raises(ValueError, match="0 capabilities offer the same"):
        Extensions(LeaseExtensions()).install([Capability(name="search")])
    with pytest.raises(ValueError, match="2 capabilities offer the same"):
        Extensions(LeaseExtensions()).install([*CAPABILITIES, replace(growing, name="others")])
