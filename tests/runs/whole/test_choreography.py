"""Agents move a run by their work, without an orchestrator: chains, choices, loops, pools, takeovers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from dcf.core.documents.answers import Created, Leased
from dcf.core.documents.model import RunStatus
from dcf.errors import UnknownRun, UnknownState
from dcf.values.refusal import Refusal
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain, fan, loop, workflow
from tests.support.world import World, new_token

Worlds = Callable[..., World]


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def test_two_agents_carry_an_order_from_start_to_end_by_their_inboxes_alone(world: World) -> None:
    steps = chain("Validate", "Price", "Invoice")
    agents = {"Validate": "clerk", "Price": "pricer", "Invoice": "clerk"}
    run = world.create(steps, agents=agents, planner="boss", run_input={"order": 42})
    world.plane.kick_off(run, "initial")
    world.notifications.notify_next(run, None)
    seen: dict[str, int] = {}
    worked: list[tuple[str, str, str | None]] = []
    while len(worked) < 3:
        for agent in ("clerk", "pricer"):
            inbox = world.messages(agent)[seen.get(agent, 0) :]
            seen[agent] = seen.get(agent, 0) + len(inbox)
            for event in inbox:
                state = event["target_state"]
                value = world.given(run, state)
                world.complete(run, state, world.acquire(run, state, agent), {**value, state: agent})
                world.notifications.notify_next(run, state)
                worked.append((state, agent, event["source_state"]))
    assert worked == [("Validate", "clerk", None), ("Price", "pricer", "Validate"), ("Invoice", "clerk", "Price")]
    result = {"order": 42, "Validate": "clerk", "Price": "pricer", "Invoice": "clerk"}
    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert world.meta(run)["output"] == result
    assert world.finalize(run).audit["output"] == result
    assert [event["status"] for event in world.messages("boss")] == ["succeeded"]


def test_a_choice_of_two_hundred_ways_takes_one_and_the_join_waits_for_that_one_only(world: World) -> None:
    run = world.create(fan(200), agents={"Way117": "w", "Join": "j"})
    before = world.doc(run, "Join")
    assert len(before.waits_for) == 200
    assert not before.is_ready
    answer = world.do(run, "Ask", output={"way": "Way117"})
    assert answer.next_states == ("Way117",)
    assert code(world.try_acquire(run, "Way116")) == "not_ready"
    assert code(world.try_acquire(run, "Join", "j")) == "not_ready"
    token = world.acquire(run, "Way117")
    epoch = world.doc(run, "Way117").lease.epoch
    world.complete(run, "Way117", token, 1)
    assert dict(world.doc(run, "Join").waits_for) == {"Way117": epoch}
    world.do(run, "Join", "j")
    counts = world.finalize(run).audit["counts"]
    # Ask, Pick, Way117, Join; the ways not taken and the dead end were never reached
    assert (counts["succeeded"], counts["skipped"], counts["total"]) == (4, 200, 204)


def test_a_choice_without_a_matching_rule_fails_the_run_when_it_says_so(world: World) -> None:
    run = world.create(fan(3), planner="boss")
    answer = world.do(run, "Ask", output={"way": "none"})
    assert answer.run_status is RunStatus.FAILED
    assert world.meta(run)["error"] == "NoWay"
    assert world.statuses(run) == {
        "Ask": "succeeded", "Pick": "succeeded", "Lost": "failed", "Join": "skipped",
        **dict.fromkeys(("Way0", "Way1", "Way2"), "skipped"),
    }  # fmt: skip


def test_a_loop_opens_its_states_with_higher_epochs_and_history_keeps_all_visits(
    world: World,
) -> None:
    run, epochs = world.create(loop()), []
    for done in (False, False, True):
        work = world.acquire(run, "Work")
        epochs.append(world.doc(run, "Work").lease.epoch)
        world.complete(run, "Work", work, {})
        world.do(run, "Check", output={"done": done})
        epochs.append(world.doc(run, "Check").lease.epoch)
    world.do(run, "Finish")
    assert epochs == sorted(set(epochs))
    assert world.run_status(run) == "succeeded"
    epoches = [
        event.data["epoch"] for event in world.events(run) if (event.type, event.state) == ("StateSucceeded", "Work")
    ]
    assert epoches == epochs[::2]
    assert world.event_types(run, "Enough") == ["StateSucceeded"] * 3
    assert {doc.attempts for doc in world.docs(run).values()} == {1}, "each visit counts its own attempts"


def test_late_calls_of_a_worker_of_an_earlier_visit_change_nothing(world: World) -> None:
    run = world.create(loop())
    old = world.acquire(run, "Work")
    world.complete(run, "Work", old, {"visit": 1})
    world.do(run, "Check", output={"done": False})
    assert world.complete(run, "Work", old, {"visit": 1}).repeated, "it is told that it was applied then"
    assert code(world.update(run, "Work", old, output={"visit": "stale"})) == "lease_lost"
    new = world.acquire(run, "Work")
    assert code(world.try_complete(run, "Work", old, {"visit": "stale"})) == "already_completed"
    assert world.complete(run, "Work", old, {"visit": 1}).repeated
    assert world.doc(run, "Work").lease.token == new
    assert world.output(run, "Work") == {"visit": 1}


def test_a_task_that_leads_to_itself_is_opened_again(world: World) -> None:
    again = {"Variable": "$.n", "NumericLessThan": 3, "Next": "T"}
    states = {
        "T": {"Type": "Task", "Next": "C"},
        "C": {"Type": "Choice", "Choices": [again], "Default": "End"},
        "End": {"Type": "Succeed"},
    }
    run = world.create(workflow(states))
    token, n = world.acquire(run, "T", "w"), 0
    while True:
        n += 1
        answer = world.complete(run, "T", token, {"n": n}, claim_ttl_s=60)
        if answer.claimed is None:
            break
        assert answer.claimed.doc.lease.token is not None
        assert answer.claimed.doc.lease.token != token
        token = answer.claimed.doc.lease.token
    assert (n, answer.run_status) == (3, RunStatus.SUCCEEDED)
    assert world.event_types(run, "T").count("LeaseAcquired") == 3


def test_a_machine_of_silent_states_is_over_when_it_is_created(world: World) -> None:
    states = {
        "P": {"Type": "Pass", "Result": 7, "Next": "C"},
        "C": {"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 7, "Next": "S"}], "Default": "X"},
        "S": {"Type": "Succeed"},
        "X": {"Type": "Task", "Next": "S"},
    }
    run = world.create(workflow(states), planner="boss")
    assert world.statuses(run) == {"P": "succeeded", "C": "succeeded", "S": "succeeded", "X": "skipped"}
    assert world.meta(run)["output"] == 7
    world.notifications.pulse()
    assert [event["type"] for event in world.messages("boss")] == ["run_finished"]


def test_any_member_of_a_pool_may_take_a_state_and_nobody_else(world: World) -> None:
    run = world.create(chain("A"), agents={"A": ("one", "two")})
    assert code(world.try_acquire(run, "A", "three")) == "owner_mismatch"
    world.release(run, "A", world.acquire(run, "A", "one"))
    world.acquire(run, "A", "two")
    assert code(world.try_acquire(run, "A", "one")) == "lease_held"
    assert world.doc(run, "A").attempts == 2


def test_another_member_of_the_pool_takes_over_when_the_lease_has_expired(real: World) -> None:
    run = real.create(chain("A", "B"), agents={"A": ("one", "two")})
    dead = real.acquire(run, "A", "one")
    assert code(real.try_acquire(run, "A", "two")) == "lease_held"
    real.renew(run, "A", dead, ttl_s=1)
    first = real.doc(run, "A").lease
    wait_until(lambda: not first.is_live(server_time(real)))
    token = real.acquire(run, "A", "two")
    second = real.doc(run, "A")
    assert second.lease.epoch > first.epoch
    assert (second.attempts, second.lease.owner_agent_id) == (2, "two")
    for answer in (
        real.renew(run, "A", dead, reject_if_expired=False),
        real.update(run, "A", dead, output="late"),
        real.try_complete(run, "A", dead, "late"),
        real.release(run, "A", dead),
    ):
        assert code(answer) == "lease_lost"
    assert real.complete(run, "A", token, "right").next_states == ("B",)
    assert real.output(run, "A") == "right"
    _, takeover = (event for event in real.events(run) if (event.type, event.state) == ("LeaseAcquired", "A"))
    assert takeover.data["takeover"] is True


def server_time(world: World) -> int:
    seconds, micros = world.ask("TIME")
    return int(seconds) * 1_000_000 + int(micros)


def test_a_completion_after_expiry_counts_while_nobody_took_over(world: World) -> None:
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A")
    world.expire_lease(run, "A")
    assert world.complete(run, "A", token, "late but right").next_states == ("B",)
    assert world.given(run, "B") == "late but right"


def test_completing_and_claiming_passes_over_what_somebody_else_is_assigned_to(world: World) -> None:
    run = world.create(chain("A", "B", "C"), agents={"A": "w", "B": "w", "C": "other"})
    first = world.complete(run, "A", world.acquire(run, "A"), 1, claim_ttl_s=60)
    assert first.claimed is not None
    assert (first.claimed.state, first.claimed.given) == ("B", 1)
    assert first.claimed.doc.lease.token is not None
    second = world.complete(run, "B", first.claimed.doc.lease.token, 2, claim_ttl_s=60)
    assert (second.claimed, second.next_states) == (None, ("C",))
    assert world.doc(run, "C").status == "pending"


def test_reading_shows_documents_inputs_and_outputs_together(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "w"}, run_input={"i": 1})
    world.do(run, "A", output={"o": 2})
    result = world.plane.read(run)
    assert result.meta is not None
    assert set(result.states) == {"A", "B"}
    assert (dict(result.inputs), dict(result.outputs)) == ({"A": {"i": 1}, "B": {"o": 2}}, {"A": {"o": 2}})
    assert set(world.plane.read(run, ("B",)).states) == {"B"}
    assert world.plane.read(run, (), whole_meta=False).meta_document is None
    assert world.plane.read(run, ("A",), whole_meta=False).meta.agents == {"A": ("w",)}  # type: ignore[union-attr]


def test_what_does_not_exist_is_said_by_name(world: World) -> None:
    run = world.create(chain("A"))
    with pytest.raises(UnknownState, match="'Z'"):
        world.plane.read(run, ("A", "Z"))
    calls: list[Callable[[], object]] = [
        lambda: world.plane.read("nowhere"),
        lambda: world.acquire("nowhere", "A"),
        lambda: world.complete("nowhere", "A", "t"),
        lambda: world.claim("nowhere", "w"),
        lambda: world.finalize("nowhere"),
        lambda: world.plane.kick_off("nowhere", "go"),
        lambda: world.notifications.notify_next("nowhere", None),
        lambda: world.plane.exhaust("nowhere", "A"),
    ]
    for call in calls:
        with pytest.raises(UnknownRun, match="'nowhere'"):
            call()
    assert world.ask("KEYS", "*nowhere*") == [], "asking leaves no ghost keys"


# The same name again, after the first run has expired


def vanish(world: World, run: str) -> None:
    """As if the run's retention had passed."""
    world.ask("DEL", *world.keys_of(run))


def test_a_process_that_knew_an_expired_run_works_by_the_definition_of_the_new_one(real: World, worlds: Worlds) -> None:
    run = real.create(chain("A", "Old"), agents={"Old": "w"})
    elsewhere = worlds()
    vanish(real, run)
    elsewhere.plane.create(elsewhere.wish(chain("A", "New", "Z"), run, agents={"New": "somebody"}))
    answer = real.complete(run, "A", real.acquire(run, "A"), 1, claim_ttl_s=60)
    assert (answer.next_states, answer.claimed) == (("New",), None), "New is somebody's; the old plan had no such state"


@rows("verb", ["read", "finalize", "kick_off", "update", "exhaust"])
def test_every_verb_notices_that_the_run_is_another_one_now(real: World, worlds: Worlds, verb: str) -> None:
    run = real.create(chain("Old"))
    elsewhere = worlds()
    real.plane.run(run)
    vanish(real, run)
    elsewhere.plane.create(elsewhere.wish(chain("New", "Z"), run))
    match verb:
        case "read":
            assert set(real.docs(run)) == {"New", "Z"}
        case "finalize":
            assert real.finalize(run).audit["counts"]["total"] == 2
        case "kick_off":
            assert getattr(real.plane.kick_off(run, "go"), "states", None) == ("New",)
        case "update":
            with pytest.raises(UnknownState):
                real.try_complete(run, "Old", "t")
        case _:
            real.plane.exhaust(run, "New")
    assert "Old" not in real.plane.run(run).definition.machine.states


def test_the_process_that_creates_a_run_again_uses_its_input_not_the_expired_one(world: World) -> None:
    states = {"A": {"Type": "Task", "Next": "P"}, "P": {"Type": "Pass", "InputPath": "$$.Execution.Input", "End": True}}
    run = world.create(workflow(states), run_input="old")
    world.do(run, "A")
    vanish(world, run)
    world.plane.create(world.wish(workflow(states), run, run_input="new"))
    world.do(run, "A")
    assert world.meta(run)["output"] == "new"


# Creating


def test_eight_creators_at_once_make_one_run(real: World) -> None:
    wish = real.wish(chain("A", "B"))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: real.plane.create(wish), range(8)))
    assert all(isinstance(answer, Created) for answer in answers)
    assert [getattr(answer, "existed", None) for answer in answers].count(False) == 1
    assert real.event_types(wish.workflow_id) == ["RunCreated", "StateEntered"]


def test_of_eight_creators_of_one_name_one_succeeds_and_the_others_are_refused(real: World) -> None:
    run = real.name()
    wishes = [real.wish(chain(f"S{number}"), run) for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(real.plane.create, wishes))
    made = [number for number, answer in enumerate(answers) if isinstance(answer, Created)]
    assert len(made) == 1
    assert [code(answer) for number, answer in enumerate(answers) if number not in made] == ["conflict"] * 7
    assert set(real.docs(run)) == {f"S{made[0]}"}
    assert len(real.keys_of(run)) == 6, (
        "no document of another wish is left: meta, definition, events, timers, state, input"
    )


def test_creating_again_finds_the_run_as_it_is(world: World) -> None:
    wish = world.wish(chain("A", "B"))
    world.plane.create(wish)
    world.do(wish.workflow_id, "A")
    again = world.plane.create(replace(wish, max_attempts=3))
    assert isinstance(again, Created)
    assert (again.existed, again.meta["max_attempts"]) == (True, 10)
    assert world.statuses(wish.workflow_id) == {"A": "succeeded", "B": "pending"}


def test_creating_again_does_not_touch_a_run_that_was_closed_with_states_left_open(world: World) -> None:
    wish = world.wish(chain("A", "B"))
    run = wish.workflow_id
    world.plane.create(wish)
    token = world.acquire(run, "A", token=new_token())
    audit = world.finalize(run, close_open_states=False).audit
    world.plane.create(wish)
    world.notifications.pulse()
    assert world.doc(run, "A").lease.token == token
    assert audit["counts"]["running"] == 1
    assert isinstance(world.try_acquire(run, "A", "w"), Refusal)


def test_the_token_of_a_repeated_acquire_finds_its_lease(world: World) -> None:
    run, token = world.create(chain("A")), new_token()
    world.acquire(run, "A", token=token)
    again = world.try_acquire(run, "A", token=token)
    assert isinstance(again, Leased)
    assert again.outcome == "lease_already_held"
    assert world.doc(run, "A").attempts == 1
