"""A process without gates and one with gates: the first reads and keeps states with gates, and does not end them."""

from collections.abc import Callable

import pytest

from dcf.core.completing.resolving import wish_of
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.repeating import Rerun
from dcf.errors import CapabilityMissing, InvalidDefinition
from dcf.features.gates.model import submission_of
from dcf.features.gates.syntax import gates_given
from tests.features.gates.test_operations import REVIEW, begun, code, gated, judge, ok, submit
from tests.support.capabilities.installation import without_gates
from tests.support.redis.documents import set_member
from tests.support.workflows.growing import Server
from tests.support.workflows.machines import chain
from tests.support.world import World


def another(world: World) -> World:
    """Return what another process has on the same Redis."""
    return World(connections=world.connections, onlooker=world.onlooker, clock=world.clock)


def refused(call: Callable[[], object]) -> CapabilityMissing:
    """Return the refusal of what a process cannot decide."""
    with pytest.raises(CapabilityMissing) as raised:
        call()
    return raised.value


def test_it_reads_a_waiting_output_renews_its_lease_and_the_gate_is_as_it_was(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    before = world.doc(run, "A")
    with without_gates():
        other = another(world)
        doc = other.doc(run, "A")
        assert (doc.status, doc.kind, doc.attached) == ("running", "Gate", ())
        assert isinstance(other.renew(run, "A", token), Leased)
        assert other.plane.run(run).definition.sha256 == world.plane.run(run).definition.sha256
        assert other.diagnosis.explain(run).findings
    assert world.doc(run, "A").attached == before.attached
    assert ok(judge(world, run))["state_status"] == "succeeded"


def test_it_says_why_it_ends_no_state_that_has_gates(world: World) -> None:
    run, token = begun(world, REVIEW)
    with without_gates():
        other = another(world)
        error = refused(lambda: submit(other, run, token))
        assert error.code == "capability_missing"
        assert error.message == "No capability of this server reads Gates of state 'A'."
        assert error.hint == "Send the same call to a server that has the capability; nothing was written."
        refused(lambda: other.fail(run, "A", token))
        refused(lambda: other.plane.update(run, Update(state="A", token=token, output=1, has_output=True)))
    assert (world.doc(run, "A").status, world.output(run, "A")) == ("running", None)
    assert code(submit(world, run, token)) == "review_running"


def test_it_ends_no_waiting_for_a_verdict_by_hand(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    before = world.doc(run, "A")
    with without_gates():
        other = another(world)
        refused(lambda: other.release(run, "A", token))
        refused(lambda: other.lifecycle.resolve(run, wish_of("A", output=1)))
    assert world.doc(run, "A") == before


def test_its_clock_leaves_a_gate_to_the_clock_of_another_process(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    world.notifications.pulse()
    set_member(world.ask, world.store.keys(run).state("A"), ("gated", "open", 0, "due"), "2001-01-01T00:00:00.000000Z")
    world.make_due(run, "A")
    before = world.doc(run, "A")
    with without_gates():
        other = another(world)
        refused(lambda: other.plane.look(run, "A"))
        other.notifications.pulse()
    assert world.doc(run, "A") == before
    world.notifications.pulse()
    submission = submission_of(world.doc(run, "A"))
    assert submission is not None
    assert submission.open[0].asks == 2


def test_what_has_no_gates_goes_on_in_the_same_run(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    judge(world, run)
    with without_gates():
        other = another(world)
        assert isinstance(other.do(run, "B", "ben", 1), Updated)
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_gates_that_a_run_was_started_with_count_for_each_of_its_tasks(world: World) -> None:
    run = world.create(chain("A", "B"), gates=gates_given([REVIEW]))
    token = world.acquire(run, "A", "ann")
    with without_gates():
        other = another(world)
        assert "the gates of the run of state 'A'" in refused(lambda: submit(other, run, token)).message
        refused(lambda: other.starting.rerun(run, Rerun(workflow_id=world.name(), agents={})))
    assert code(submit(world, run, token)) == "review_running"


def test_a_unit_with_gates_waits_for_a_process_that_has_them(real: World) -> None:
    server = Server(real)
    run = server.open()
    server.add(run, {"name": "A", "gates": [REVIEW]}, {"name": "B"})
    token = real.acquire(run, "A")
    with without_gates():
        other = another(real)
        assert "Gates of state 'A'" in refused(lambda: submit(other, run, token)).message
        assert isinstance(other.do(run, "B", "ben", 1), Updated)
    assert code(submit(real, run, token)) == "review_running"


def test_it_accepts_no_new_workflow_with_gates() -> None:
    with without_gates(), pytest.raises(InvalidDefinition, match="the field 'Gates' does not belong here"):
        read_definition(gated(REVIEW))
