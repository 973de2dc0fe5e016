"""A region that fails: what its replica in another has, what workers find there, and how the old one comes back.

A person does what docs/operating/failing-region.md says. `python -m lab region` tries random workflows with it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import Lease
from dcf.errors import StoreUnavailable, UnknownOutcome
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.transaction import attempts
from dcf.values.refusal import Refusal
from lab.evidence import Story, read_documents, read_happenings, read_left, read_meta
from lab.expectation import Expected
from lab.redis_servers import LabRedis
from lab.regions import Regions, why_not
from lab.rules import judge
from tests.support.ahead import Ahead, let_pass
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World
from tests.system.processes.site import HOOKED, LONG, ORDER, STATES, WORKFLOW, Process, Site, finish, first_line

pytestmark = [pytest.mark.processes, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

DELAY_S = 0.04
LEASE_S = 60
HASTY_S = 0.5
"""The deadline of a call that cannot succeed."""
STEPS = ("Validate", "Price", "Invoice")
AGENTS = ("here", "there")

Dcf = Callable[..., World]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRegions:
    """A primary here, its replica there, and 80 ms there and back."""

    link: Regions
    here: LabRedis
    there: LabRedis

    def lose_here(self) -> None:
        """The link is cut, then everything here is gone; a person makes the replica a primary."""
        self.link.cut()
        self.here.kill()
        self.there.lead()

    def is_replicated(self) -> bool:
        return self.there.offset() == self.here.offset()


@pytest.fixture
def pair(site: Site) -> Iterator[TwoRegions]:
    with Regions(DELAY_S) as link:
        # A log that is synced every second is written up to two seconds after the answer where the disk is busy.
        logged = ("--appendonly", "yes", "--appendfsync", "always")
        here = LabRedis(site.folder / "here", *logged, region=link.here)
        there = LabRedis(site.folder / "there", *logged, region=link.there)
        with here, there:
            link.lead(link.there, here.port, link.here)
            link.lead(link.here, there.port, link.there)
            there.follow(here.port)
            yield TwoRegions(link=link, here=here, there=there)


@pytest.fixture
def dcf(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dcf]:
    """dcf on a Redis; all of them see the same time. It asks replicas for a moment only, again until its deadline."""
    monkeypatch.setattr(attempts, "_WAIT_MS", 200)
    made: list[World] = []
    time = Ahead()

    def on(redis: LabRedis, *runs: str, wait_replicas: int = 0, deadline_s: float = LONG) -> World:
        connections = Connections(open_pool(f"unix://{redis.socket}"))
        made.append(World(connections=connections, deadline_s=deadline_s, wait_replicas=wait_replicas, clock=time))
        made[-1].runs.extend(runs)
        return made[-1]

    yield on
    for world in made:
        world.connections.close()


def begun(world: World) -> str:
    """An order whose first step is done."""
    run = world.create(chain(*STEPS), agents=dict.fromkeys(STEPS, AGENTS), planner="boss")
    world.plane.kick_off(run, "start")
    world.do(run, "Validate", "here", output={"valid": True})
    return run


def finish_there(world: World, run: str, old_token: str) -> Lease:
    """Let leases end, the clock tell agents, and one of them do the rest; its lease, which refuses an older one."""
    heard = [event["event_id"] for event in events(world)]
    let_pass(world, 2 * LEASE_S)
    world.make_due(run, "Price")
    world.notifications.pulse()
    assert "Price" in {event["target_state"] for event in events(world) if event["event_id"] not in heard}
    taken = world.try_acquire(run, "Price", "there")
    assert isinstance(taken, Leased)
    assert code_of(world.try_complete(run, "Price", old_token, {"total": 1})) == "lease_lost"
    world.complete(run, "Price", taken.doc.lease.token, {"total": 2})
    end_there(world, run)
    return taken.doc.lease


def end_there(world: World, run: str) -> None:
    """Do the last step, and let the clock tell the planner."""
    world.do(run, "Invoice", "there", output={"total": 2})
    wait_until(lambda: world.notifications.pulse() == 0 and not world.is_live(run))


def is_unconfirmed(write: Callable[[World], object], dcf: Dcf, pair: TwoRegions) -> bool:
    """Say whether a write was sent and not confirmed; it gets more time where the machine was too busy to send it."""
    for deadline_s in (HASTY_S, 10 * HASTY_S, 60 * HASTY_S):
        with suppress(StoreUnavailable):
            try:
                write(dcf(pair.here, wait_replicas=1, deadline_s=deadline_s))
            except UnknownOutcome:
                return True
    return False


def events(world: World) -> list[dict[str, Any]]:
    """The contents of the agents' inboxes."""
    return [event for agent in AGENTS for event in world.messages(agent)]


def code_of(answer: object) -> str:
    """The code of a refusal."""
    assert isinstance(answer, Refusal), answer
    return answer.code


def broken_rules(redis: LabRedis, run: str) -> list[tuple[str, str]]:
    """The findings of the lab's checker in the history and the documents."""
    client = redis.client()
    documents = read_documents(client, run)
    story = Story(
        run=run,
        seed=0,
        expected=Expected(output={"total": 2}, done=Counter(STEPS)),
        calls=(),
        happenings=read_happenings(client, run),
        meta=read_meta(client, run),
        agents=frozenset(AGENTS),
        documents=documents,
        documents_later=documents,
        left=read_left(client, run),
        planner_notices=("run_finished",),
    )
    return judge(story)


def history(redis: LabRedis, run: str) -> list[tuple[str, str, int]]:
    return [(happening.type, happening.state, happening.epoch) for happening in read_happenings(redis.client(), run)]


def test_nothing_that_was_answered_behind_a_replica_is_lost_with_the_region(pair: TwoRegions, dcf: Dcf) -> None:
    before = dcf(pair.here, wait_replicas=1)
    run = begun(before)
    token = before.acquire(run, "Price", "here", ttl_s=LEASE_S)
    pair.link.cut()
    assert is_unconfirmed(lambda world: world.complete(run, "Price", token, {"total": 2}), dcf, pair)
    pair.lose_here()

    after = dcf(pair.there, run)
    assert after.statuses(run) == {"Validate": "succeeded", "Price": "running", "Invoice": "pending"}
    assert isinstance(after.complete(run, "Price", token, {"total": 2}), Updated), "who holds the lease finishes there"
    end_there(after, run)
    assert broken_rules(pair.there, run) == []


def test_without_it_unreplicated_writes_are_lost_and_the_run_continues_from_there(pair: TwoRegions, dcf: Dcf) -> None:
    before = dcf(pair.here)
    run = begun(before)
    wait_until(pair.is_replicated)
    pair.link.cut()
    lost = before.try_acquire(run, "Price", "here", ttl_s=LEASE_S)
    assert isinstance(lost, Leased)
    before.complete(run, "Price", lost.doc.lease.token, {"total": 1})
    following = before.acquire(run, "Invoice", "here")
    assert pair.here.offset() > pair.there.offset(), "so many bytes of writes are lost"
    pair.lose_here()

    after = dcf(pair.there, run)
    assert after.statuses(run) == {"Validate": "succeeded", "Price": "pending", "Invoice": "pending"}
    assert code_of(after.try_complete(run, "Invoice", following)) == "lease_lost"
    assert finish_there(after, run, str(lost.doc.lease.token)).epoch > lost.doc.lease.epoch, (
        "what is outside refuses the smaller one"
    )
    assert broken_rules(pair.there, run) == []


def test_a_region_that_comes_back_tells_what_was_lost_before_it_becomes_a_replica(pair: TwoRegions, dcf: Dcf) -> None:
    before = dcf(pair.here)
    run = begun(before)
    wait_until(pair.is_replicated)
    pair.link.cut()
    before.do(run, "Price", "here", output={"total": 1})
    pair.lose_here()
    dcf(pair.there, run).do(run, "Price", "there", output={"total": 2})

    pair.here.start()  # alone: the link is still cut, and no dcf is led here
    known = history(pair.there, run)
    lost = {(kind, state) for kind, state, epoch in history(pair.here, run) if (kind, state, epoch) not in known}
    assert {("LeaseAcquired", "Price"), ("StateSucceeded", "Price")} <= lost
    assert not [state for _, state in lost if state == "Validate"]
    pair.here.kill()

    pair.link.join()
    pair.here.start("--replicaof", "127.0.0.1", str(pair.there.port))
    wait_until(partial(pair.here.has_all_of, pair.there.port), LONG)
    assert history(pair.here, run) == history(pair.there, run)
    with pytest.raises(StoreUnavailable, match="replica"):
        dcf(pair.here, deadline_s=10 * HASTY_S).create(chain("A"))


# The order pipeline, with the commands that the page names


def worker(site: Site, region: Any, redis: LabRedis, **more: str) -> Process:
    """A worker in a region, on the Redis of that region."""
    site.within = region.command()
    options = ("--agent-id", "clerk", "--direct", "--lease-ttl", "2", "--json")
    process = site.dcf("worker", str(HOOKED), *options, REDIS_URL=f"redis://127.0.0.1:{redis.port}", **more)
    first_line(process)
    return process


def test_the_order_pipeline_goes_on_in_the_other_region(pair: TwoRegions, site: Site) -> None:
    site.hook("CalculatePricing.hold")
    confirmed = {"DCF_WAIT_REPLICAS": "1"}
    dying = worker(site, pair.link.here, pair.here, **confirmed)
    order = ("start", str(WORKFLOW), "--input", str(ORDER), "--assign", "clerk", "--id", "order")
    started = site.dcf(*order, REDIS_URL=f"redis://127.0.0.1:{pair.here.port}", **confirmed)
    assert finish(started) == ("order\n", 0)
    site.wait_entered("CalculatePricing")
    dying.kill()
    pair.lose_here()

    site.hook("CalculatePricing.go")
    worker(site, pair.link.there, pair.there)
    wait_until(lambda: read_meta(pair.there.client(), "order")["status"] != "running", LONG)
    assert read_meta(pair.there.client(), "order")["output"]["total"] == "242.77"
    done = Counter(state for kind, state, _ in history(pair.there, "order") if kind == "StateSucceeded")
    assert done == Counter(STATES)
