"""Offers of capabilities to decisions: the tables must be complete, and each kind of thing has one place."""

from typing import Any, Final

import pytest

from dcf.asl.tasks.extensions import LANGUAGE, Language, LanguageOffer
from dcf.core.definitions.extensions import EndExtensions, EndReads, parts_to_end
from dcf.core.documents.attached import AttachedKind, AttachedKinds
from dcf.core.documents.codec import read_state, write_state
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parts import Part, every_name, last
from dcf.core.extensions import EXTENSIONS, Capability, CompletionStep, Extensions, steps_of
from dcf.core.leasing.extensions import LEASING, LeaseExtensions
from dcf.features.diagnosis.extensions import ExplainOffer, Explanations
from dcf.features.gates import capability as gates
from dcf.features.gates.explaining import about_gates
from dcf.features.gates.model import Submission
from dcf.features.growing import capability as growing
from dcf.features.installed import offers
from dcf.features.people.model import Asking
from dcf.features.questions.explaining import about_question
from dcf.features.questions.model import Questioned
from dcf.runs.clock.duties import DutyExtensions
from dcf.runs.loading import RunExtensions
from dcf.runs.notifying.contents import NoticeExtensions
from dcf.store.extensions import ListExtensions, PartExtensions
from tests.core.build import definition
from tests.support.capabilities.installation import own_tables

DECISIONS: Final = offers("capability", Capability)


def empty() -> Extensions:
    """Return tables that are not filled yet."""
    return Extensions(LeaseExtensions(), AttachedKinds(), EndExtensions())


def test_tables_raise_before_capabilities_are_installed() -> None:
    tables = empty()
    with pytest.raises(RuntimeError, match=r"completions.*dcf\.features\.installed_decisions"):
        _ = tables.completions
    with pytest.raises(RuntimeError, match=r"holds.*dcf\.features\.installed_decisions"):
        _ = tables.leasing.holds
    with pytest.raises(RuntimeError, match=r"kinds.*dcf\.features\.installed_decisions"):
        _ = tables.attached.kinds
    with pytest.raises(RuntimeError, match=r"opened.*dcf\.features\.installed_runs"):
        _ = ListExtensions().opened
    with pytest.raises(RuntimeError, match=r"fields.*dcf\.features\.installed_language"):
        _ = Language().fields
    with pytest.raises(RuntimeError, match=r"rows.*dcf\.features\.installed_runs"):
        _ = PartExtensions().rows
    with pytest.raises(RuntimeError, match=r"contents.*dcf\.features\.installed_runs"):
        _ = NoticeExtensions().contents
    with pytest.raises(RuntimeError, match=r"makers.*dcf\.features\.installed_runs"):
        _ = DutyExtensions().makers
    with pytest.raises(RuntimeError, match=r"growing.*dcf\.features\.installed_runs"):
        _ = RunExtensions().growing


def test_verdicts_are_explained_before_questions() -> None:
    tables = Explanations()
    with pytest.raises(RuntimeError, match=r"asking.*dcf\.features\.installed_explanations"):
        _ = tables.asking
    tables.install(offers("explaining", ExplainOffer))
    assert tables.asking == (about_gates, about_question)


def test_two_capabilities_cannot_offer_the_same_kind_of_resource() -> None:
    tables = Language()
    child = LANGUAGE.resources["child"]
    with pytest.raises(ValueError, match="the same kind of Resource"):
        tables.install([LanguageOffer(resources=(child,)), LanguageOffer(resources=(child,))])


def test_two_capabilities_cannot_read_the_same_field_of_a_task() -> None:
    gates = LANGUAGE.fields["Gates"]
    with pytest.raises(ValueError, match="the same field of a Task"):
        Language().install([LanguageOffer(fields=(gates,)), LanguageOffer(fields=(gates,))])


def test_two_capabilities_cannot_offer_the_same_ending() -> None:
    with pytest.raises(ValueError, match="offer the same"):
        empty().install([*DECISIONS, gates.OFFER])


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
    with pytest.raises(ValueError, match="0 capabilities offer the same"):
        empty().install([Capability()])
    with pytest.raises(ValueError, match="2 capabilities offer the same"):
        empty().install([*DECISIONS, growing.OFFER])


def test_what_two_capabilities_read_of_the_same_part_is_read_together() -> None:
    part = Part[tuple[str, ...], object, object](name="lines", both=every_name, after=last, together=last)

    def offer(name: str) -> Capability:
        reads = EndReads(applies=lambda _: True, parts=lambda _, path: part.wanted((name, path)))
        return Capability(look_reads=part.wanted((name,)), end_reads=reads)

    with own_tables():
        EXTENSIONS.install([*DECISIONS, offer("first"), offer("second")])
        assert LEASING.look_reads[part] == ("first", "second")
        assert parts_to_end(definition(), "A")[part] == ("first", "A", "second")


def test_two_capabilities_cannot_attach_a_value_under_the_same_field() -> None:
    kind = AttachedKind(field="asked", read=lambda _: None)
    with pytest.raises(ValueError, match="under the same field"):
        empty().install([*DECISIONS, Capability(attached=kind)])


def test_a_field_has_one_value_and_values_are_in_the_order_of_their_fields() -> None:
    first, second, questions = Submission(number=1, sha256=""), Submission(number=2, sha256=""), Questioned(count=1)
    doc = StateDoc().attaching(questions).attaching(first).attaching(second)
    assert doc.attached == (second, questions)
    assert (doc.attached_as(Submission), doc.attached_as(Asking)) == (second, None)
    assert doc.lasting == (questions,)
    assert read_state(write_state(doc)) == doc
