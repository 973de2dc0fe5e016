"""Work for a webhook from its delivery to its answer, whatever fails in between."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.usage import UsageReport
from dcf.features.external.callback_operations import Callbacks
from dcf.features.questions.corrections import Correct
from dcf.features.webhooks.deliverer import WebhookDeliverer
from dcf.features.webhooks.operations import Offers
from dcf.features.webhooks.posting import Poster
from dcf.features.webhooks.storage import Webhook, Webhooks
from dcf.features.webhooks.tokens import work_token
from dcf.ports import Undelivered
from dcf.store.connection.connections import Connections, Pool
from dcf.values.refusal import Refusal
from dcf.webhooks import WebhookEvent, WebhookRefused
from lab.server_time import SharedTime, TimedPool
from tests.support.agents.receivers import Receiver, receiver
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import catching, retrying, task
from tests.support.world import Relay, World

ANSWERS = "https://dcf.example/task-tokens"


class Site:
    """dcf with one webhook, `hook`, as one process of it."""

    def __init__(self, world: World, receiver: Receiver) -> None:
        self.world, self.receiver = world, receiver
        self.webhooks = Webhooks(world.connections)
        self.webhooks.remove("hook")
        self.agent, _ = self.webhooks.add("hook", receiver.url, lease_ttl_s=600, created_by="test")
        self.offers = Offers(world.plane, self.webhooks.get)
        self.callbacks = Callbacks(world.plane, self.offers)
        self.relay: Relay = world.relay(self.deliverer())

    def deliverer(self, **poster: Any) -> WebhookDeliverer:
        return WebhookDeliverer(self.webhooks, self.offers, Poster((self.receiver.url,), **poster), ANSWERS)

    def run(self, document: Document, **more: Any) -> str:
        run = self.world.create(document, agents=dict.fromkeys(document["asl"]["States"], "hook"), **more)
        self.world.plane.kick_off(run, "initial")
        return run

    def deliver(self, run: str) -> list[Undelivered | None]:
        """Deliver what is owed, also what failed before, as if its time had come."""
        self.webhooks.woke("hook")
        self.world.outbox.reset_taken(run, "test")
        entries = self.world.outbox.take_over(run, self.relay._name, 0.0) + self.world.outbox.take(
            run, self.relay._name
        )
        return [target.delivery.failure for target in self.relay._settle_all(run, entries, None)]

    def events(self) -> list[WebhookEvent]:
        return self.receiver.events([key.secret for key in self.hook.keys])

    @property
    def hook(self) -> Webhook:
        hook = self.webhooks.get("hook")
        assert hook is not None
        return hook

    def token(self, number: int = -1) -> str:
        task_token = self.events()[number].task_token
        assert task_token is not None
        return task_token


@pytest.fixture
def site(real: World) -> Iterator[Site]:
    with receiver() as result:
        yield Site(real, result)


def told(answer: object) -> dict[str, Any]:
    assert isinstance(answer, RunAnswer), answer
    return dict(answer.answer)


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


ONE = workflow({"A": task()})
BRIEFED = workflow(
    {
        "A": task(
            Instructions="Price {% $states.input.item %}.",
            OutputSchema={"type": "object", "required": ["total"]},
            Errors=["OutOfStock"],
        )
    }
)


def test_an_event_brings_all_that_the_work_needs(site: Site) -> None:
    run = site.run(BRIEFED, run_input={"item": "tea"})
    assert site.deliver(run) == [None]
    (event,) = site.events()
    assert (event.type, event.agent_id, event.workflow_id, event.state) == ("work", "hook", run, "A")
    assert event.work is not None
    assert event.work["input"] == {"item": "tea"}
    assert event.work["instructions"] == "Price tea."
    assert event.work["output_schema"] == {"type": "object", "required": ["total"]}
    assert (event.work["errors"], event.work["attempt"]) == (["OutOfStock"], 1)
    assert event.answer_at["success"] == f"{ANSWERS}/success"
    assert event.data["provenance"]["trust"] == "untrusted data"


def test_a_request_is_signed_with_the_time_of_redis(site: Site, real_pool: Pool, tmp_path: Path) -> None:
    ahead = SharedTime(tmp_path / "time")
    ahead.step(3600)
    webhooks = Webhooks(Connections(TimedPool(real_pool, ahead)))
    deliverer = WebhookDeliverer(webhooks, site.offers, Poster((site.receiver.url,)), ANSWERS)
    assert deliverer.deliver("hook", "e-1", {"workflow_id": "r", "type": "run_finished"}).failure is None
    with pytest.raises(WebhookRefused):
        site.events()
    by_redis = ahead.of(time.time_ns() // 1000) / 1_000_000
    assert len(site.receiver.events([key.secret for key in site.hook.keys], now=by_redis)) == 1


def test_the_trace_of_an_event_is_a_header_of_its_request(site: Site) -> None:
    event = {"workflow_id": "r", "type": "run_finished", "traceparent": "00-abc-def-01"}
    assert site.deliverer().deliver("hook", "e-1", event).failure is None
    assert site.deliverer().deliver("hook", "e-2", {"workflow_id": "r", "type": "run_finished"}).failure is None
    traced, plain = site.receiver.came
    assert (traced.headers.get("traceparent"), plain.headers.get("traceparent")) == ("00-abc-def-01", None)
    assert len(site.events()) == 2


def test_who_accepts_holds_the_lease_and_ends_the_work_later(site: Site) -> None:
    run = site.run(workflow({"A": task("B"), "B": task()}))
    site.deliver(run)
    doc = site.world.doc(run, "A")
    assert (doc.status.value, doc.lease.owner_agent_id, doc.lease.ttl_s, doc.attempts) == ("running", "hook", 600, 1)
    for _ in range(2):
        done = told(site.callbacks.succeed(site.token(), {"total": 1}, UsageReport(tokens_in=5)))
    assert (done["state_status"], done["next_states"]) == ("succeeded", ["B"])
    assert site.world.output(run, "A") == {"total": 1}
    assert site.world.usages.of_run(run).agents == {"hook": {"tokens_in": 5, "reports": 1}}
    site.deliver(run)
    assert site.events()[-1].state == "B"


def test_an_offer_is_not_taken_after_its_input_was_corrected_and_is_offered_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = site.run(workflow({"A": task("B"), "B": task()}))
    site.deliver(run)
    told(site.callbacks.succeed(site.token(), {"total": 1}))
    accept = site.offers.accept

    def late(*accepted: Any) -> None:
        told(site.world.corrections.correct_result(run, Correct(state="A", output={"total": 2})))
        accept(*accepted)

    with monkeypatch.context() as patched:
        patched.setattr(site.offers, "accept", late)
        site.deliver(run)
    assert site.world.doc(run, "B").attempts == 0
    assert code(site.callbacks.succeed(site.token(), "of the earlier input")) == "task_token_outdated"
    site.world.make_due(run, "B")
    site.relay.pulse()
    site.deliver(run)
    work = site.events()[-1].work
    assert work is not None
    assert work["input"] == {"total": 2}
    told(site.callbacks.succeed(site.token(), "of the corrected one"))
    assert site.world.meta(run)["output"] == "of the corrected one"


def test_the_same_answer_again_is_answered_alike_and_another_is_refused(site: Site) -> None:
    run = site.run(ONE)
    site.deliver(run)
    first = site.callbacks.succeed(site.token(), 1)
    again = site.callbacks.succeed(site.token(), 1)
    assert isinstance(again, RunAnswer)
    assert again.repeated
    assert told(again) == told(first)
    assert code(site.callbacks.succeed(site.token(), 2)) == "task_token_used"
    assert code(site.callbacks.fail(site.token(), "No")) == "task_token_used"
    assert code(site.callbacks.heartbeat(site.token())) == "task_token_outdated"
    assert site.world.output(run, "A") == 1


def test_a_failure_is_caught_by_its_name(site: Site) -> None:
    run = site.run(workflow({"A": task(Catch=catching("Mend")), "Mend": task()}))
    site.deliver(run)
    told(site.callbacks.fail(site.token(), "OutOfStock", "none left"))
    assert site.world.given(run, "Mend") == {"Error": "OutOfStock", "Cause": "none left"}


def test_an_answer_may_come_before_its_acceptance_was_recorded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Example: the process that delivered died after the receiver's 2xx."""
    run = site.run(ONE)

    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(site.offers, "accept", die)
        with pytest.raises(SystemExit):
            site.deliver(run)
    assert site.world.doc(run, "A").status.value == "pending"
    assert told(site.callbacks.succeed(site.token(), 1))["run_status"] == "succeeded"
    assert site.world.doc(run, "A").attempts == 1


def test_after_such_a_death_the_same_event_comes_again_under_the_same_id(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = site.run(ONE)
    with monkeypatch.context() as patch:
        patch.setattr(site.offers, "accept", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            site.deliver(run)
    site.deliver(run)
    first, second = site.events()
    assert (first.id, first.task_token) == (second.id, second.task_token)
    assert site.world.doc(run, "A").lease.owner_agent_id == "hook"


def test_a_failed_receiver_gets_the_event_again_with_its_id_and_no_attempt_is_lost(site: Site) -> None:
    run = site.run(ONE)
    site.receiver.answers(500, 502, 429)
    for _ in range(3):
        assert site.deliver(run) == [Undelivered.AGENT_UNAVAILABLE]
        assert site.world.doc(run, "A").attempts == 0
    assert site.deliver(run) == [None]
    assert len({event.id for event in site.events()}) == 1
    assert len({event.task_token for event in site.events()}) == 1
    assert site.world.event_types(run).count("NotificationFailed") == 1, "each reason is told once"


def test_a_failing_receiver_is_left_alone_as_long_as_it_asks_or_ever_longer(site: Site) -> None:
    run = site.run(ONE)
    site.receiver.next.append(Response(status_code=503, headers={"Retry-After": "120"}))
    site.deliver(run)
    rest = site.webhooks.resting("hook")
    assert rest is not None
    assert 100 < rest.for_s <= 120
    delivery = site.deliverer().deliver("hook", "run:A:1:state_ready", {})
    assert (delivery.failure, len(site.receiver.came)) == (Undelivered.AGENT_UNAVAILABLE, 1)
    lengths = [site.webhooks.let_rest("hook", "down").for_s for _ in range(10)]
    assert lengths == sorted(lengths)
    assert lengths[-1] == 300
    site.webhooks.woke("hook")
    assert site.webhooks.resting("hook") is None


@rows("asked", ["soon", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "-3"])
def test_a_receiver_that_asks_for_what_cannot_be_read_is_left_alone_as_if_it_had_not(site: Site, asked: str) -> None:
    run = site.run(ONE)
    site.receiver.next.append(Response(status_code=503, headers={"Retry-After": asked}))
    assert site.deliver(run) == [Undelivered.AGENT_UNAVAILABLE]
    rest = site.webhooks.resting("hook")
    assert rest is not None
    assert rest.for_s <= 2


@rows("status", [400, 401, 404, 307])
def test_what_will_not_mend_is_refused_with_its_reason(site: Site, status: int) -> None:
    run = site.run(ONE)
    site.receiver.next.append(Response(status_code=status, headers={"Location": "http://169.254.169.254/"}))
    assert site.deliver(run) == [Undelivered.REFUSED]
    (failed,) = [event for event in site.world.events(run) if event.type == "NotificationFailed"]
    assert str(status) in failed.data["error"]
    assert site.world.doc(run, "A").attempts == 0


def test_a_receiver_that_is_gone_is_an_unknown_agent_of_which_the_planner_hears(site: Site) -> None:
    run = site.run(ONE, planner="planner-of-hooks")
    site.receiver.answers(410)
    assert site.deliver(run) == [Undelivered.UNKNOWN_AGENT]
    assert site.world.owed(run) == 1


def test_a_receiver_that_dies_after_accepting_gets_the_work_as_another_attempt(site: Site) -> None:
    run = site.run(ONE)
    site.deliver(run)
    site.world.expire_lease(run, "A")
    site.relay.pulse()
    site.deliver(run)
    first, second = site.events()
    assert first.work is not None
    assert second.work is not None
    assert (first.work["attempt"], second.work["attempt"]) == (1, 2)
    assert first.task_token != second.task_token
    assert code(site.callbacks.succeed(site.token(0), "late")) == "task_token_outdated"
    assert told(site.callbacks.succeed(site.token(1), "again"))["run_status"] == "succeeded"


def test_who_is_late_may_still_answer_until_another_has_taken_the_work(site: Site) -> None:
    run = site.run(ONE)
    site.deliver(run)
    site.world.expire_lease(run, "A")
    assert told(site.callbacks.succeed(site.token(), "late"))["run_status"] == "succeeded"


def test_work_that_nobody_ever_ends_fails_when_its_attempts_are_used_up(site: Site) -> None:
    run = site.run(ONE, max_attempts=2)
    for _ in range(2):
        site.deliver(run)
        site.world.expire_lease(run, "A")
        site.relay.pulse()
    site.relay.pulse()
    assert site.world.run_status(run) is RunStatus.FAILED


def test_a_retry_of_the_state_makes_another_token(site: Site) -> None:
    run = site.run(workflow({"A": task(Retry=retrying("Broken", IntervalSeconds=1, MaxAttempts=1))}))
    site.deliver(run)
    told(site.callbacks.fail(site.token(), "Broken"))
    assert code(site.callbacks.succeed(site.token(), 1)) in {"task_token_used", "task_token_outdated"}
    set_member(site.world.ask, site.world.store.keys(run).state("A"), "not_before", "2001-01-01T00:00:00.000000Z")
    site.world.make_due(run, "A")
    site.relay.pulse()
    site.deliver(run)
    assert site.token(0) != site.token(1)
    assert told(site.callbacks.succeed(site.token(1), 1))["run_status"] == "succeeded"


def test_a_heartbeat_lets_the_lease_last_as_long_again(site: Site) -> None:
    run = site.run(workflow({"A": task(HeartbeatSeconds=60)}))
    site.deliver(run)
    site.world.expire_lease(run, "A")
    alive = told(site.callbacks.heartbeat(site.token()))
    doc = site.world.doc(run, "A")
    assert doc.lease.expires_at is not None
    assert doc.lease.ts is not None
    assert doc.lease.expires_at - doc.lease.ts == 600 * 1_000_000
    assert alive["heartbeat_due"] is not None


def test_a_token_serves_its_agent_state_and_run_alone_until_its_webhook_is_removed(site: Site) -> None:
    run = site.run(ONE)
    site.deliver(run)
    site.webhooks.let_rest("hook", "down")  # a key of another type, whose name a made-up agent could stand for
    for agent in ("nobody", "rest:hook"):
        assert code(site.callbacks.succeed(work_token("0" * 48, run, "A", 0, agent).text, 1)) == "task_token_unknown"
    site.webhooks.woke("hook")
    forged = site.token()[:-2] + ("AA" if not site.token().endswith("AA") else "BB")
    assert code(site.callbacks.succeed(forged, 1)) == "task_token_unknown"
    token = site.token()
    site.webhooks.remove("hook")
    assert code(site.callbacks.succeed(token, 1)) == "task_token_unknown"
    assert site.world.doc(run, "A").status.value == "running"


def test_two_agents_of_a_pool_cannot_both_end_the_work(site: Site) -> None:
    """Example: an agent that reads its inbox took the state after the webhook's lease had passed."""
    document = workflow({"A": task()})
    run = site.world.create(document, agents={"A": ("hook", "reader")})
    site.world.plane.kick_off(run, "initial")
    offer = site.offers.make(site.hook, run, "A")
    assert offer is not None
    site.offers.accept(site.hook, offer)
    site.world.expire_lease(run, "A")
    taken = site.world.acquire(run, "A", "reader")
    assert code(site.callbacks.succeed(offer.task_token, 1)) == "task_token_outdated"
    site.world.complete(run, "A", taken, 2)
    assert site.world.output(run, "A") == 2


def test_an_older_offer_takes_no_later_visit_of_the_same_state(site: Site) -> None:
    run = site.run(ONE)
    offer = site.offers.make(site.hook, run, "A")
    assert offer is not None
    site.world.release(run, "A", site.world.acquire(run, "A", "hook"))
    assert code(site.callbacks.succeed(offer.task_token, 1)) == "task_token_outdated"


def test_a_task_that_hands_its_token_out_waits_for_it_once_the_receiver_has_it(site: Site) -> None:
    asks = task(Resource="mail.waitForTaskToken", Parameters={"token.$": "$$.Task.Token"})
    run = site.run(workflow({"A": asks}))
    site.deliver(run)
    assert site.world.doc(run, "A").waits_outside
    assert site.token() == site.world.given(run, "A")["token"]
    assert told(site.callbacks.succeed(site.token(), {"ok": 1}))["run_status"] == "succeeded"


def test_news_without_work_brings_no_token(site: Site) -> None:
    run = site.run(ONE, planner="hook")
    site.deliver(run)
    told(site.callbacks.succeed(site.token(), 1))
    site.deliver(run)
    news = site.events()[-1]
    assert (news.type, news.work, news.task_token) == ("run_finished", None, None)


def test_whoever_works_on_a_cancelled_run_is_told_to_stop(site: Site) -> None:
    run = site.run(ONE)
    site.deliver(run)
    site.world.lifecycle.cancel(run, reason="not wanted", request_id="c")
    site.deliver(run)
    assert site.events()[-1].type == "cancelled"
    assert code(site.callbacks.succeed(site.token(0), 1)) == "task_token_outdated"


def test_keys_are_rotated_without_a_gap(site: Site) -> None:
    old = site.hook.keys[0].secret
    site.webhooks.rotate("hook")
    new = site.hook.keys[0].secret
    run = site.run(ONE)
    site.deliver(run)
    for known in (old, new):
        assert site.receiver.events(known)[0].workflow_id == run
    assert site.receiver.came[0].headers["webhook-key-id"].split() == [key.key_id for key in site.hook.keys]
    site.webhooks.rotate("hook", at_once=True)
    assert [key.secret for key in site.hook.keys][1:] == []
    assert site.hook.keys[0].secret not in {old, new}


def test_no_secret_is_shown_by_a_record_or_stands_in_the_documents_of_a_run(site: Site) -> None:
    run = site.run(ONE)
    site.deliver(run)
    hidden = (site.hook.keys[0].secret, site.hook.token_secret, site.token(), site.receiver.url)
    shown = repr(site.hook) + json.dumps([event.data for event in site.world.events(run)])
    shown += "".join(str(raw) for raw in site.world.raw_docs(run).values())
    assert not [item for item in hidden if item in shown]


def test_while_one_receiver_is_away_another_member_of_the_pool_gets_the_work(site: Site) -> None:
    with receiver() as other:
        site.webhooks.add("other-hook", other.url, lease_ttl_s=600, created_by="test")
        site.relay = site.world.relay(
            WebhookDeliverer(site.webhooks, site.offers, Poster((site.receiver.url, other.url)), ANSWERS)
        )
        site.webhooks.let_rest("hook", "It is away.", 600)
        run = site.world.create(ONE, agents={"A": ("hook", "other-hook")})
        site.world.plane.kick_off(run, "initial")
        site.relay.deliver(run)
        assert site.world.doc(run, "A").lease.owner_agent_id == "other-hook"
        assert len(other.came) == 1
        assert site.receiver.came == []


def test_skills_come_with_all_their_texts(site: Site) -> None:
    site.offers.skills_by(lambda _, path: [{"manifestId": "m", "directives": f"How to do {path}."}])
    bound = task(Skills=["skill://check.order@1.0.0"])
    run = site.run(workflow({"A": bound}))
    site.deliver(run)
    work = site.events()[0].work
    assert work is not None
    assert work["skills"] == [{"manifestId": "m", "directives": "How to do A."}]
