"""A closed account: no agent of it gets a lease, and a lease that it lost meanwhile counts no attempt."""

import uuid
from dataclasses import dataclass

import pytest

from dcf.core.documents.answers import Leased
from dcf.core.documents.model import Status
from dcf.core.documents.parking import LONGEST_S
from dcf.core.leasing.stuck import is_stuck_state
from dcf.features.accounts.admission_operations import AccountAdmissions
from dcf.features.accounts.model import LimitMet
from dcf.features.accounts.operations import Accounts
from dcf.features.accounts.overview_storage import Overviews
from dcf.features.accounts.storage import AccountStore
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND, to_text
from dcf.values.refusal import Refusal
from tests.support.ahead import let_pass, now
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import task
from tests.support.world import World, new_token

HOUR = 3600
LEASE_S = 30


@dataclass(frozen=True, kw_only=True)
class Site:
    """dcf with an account that two agents share, in a time that tests let pass."""

    world: World
    accounts: Accounts
    account: str
    me: str
    other: str

    def close(self, seconds: int = HOUR) -> int:
        """Close the account as `other` reports it; return until when."""
        until = now(self.world) + seconds * SECOND
        return self.accounts.limit(self.account, LimitMet(until=until, kind="limit", by=self.other))

    def run(self, *states: str, **options: object) -> str:
        names = states or ("A",)
        return self.world.create(chain(*names), agents=dict.fromkeys(names, self.me), **options)

    def lose(self, run: str) -> None:
        """Let the lease of state A expire."""
        self.world.acquire(run, "A", self.me, ttl_s=LEASE_S)
        let_pass(self.world, LEASE_S + 1)

    def look(self, run: str) -> None:
        self.world.make_due(run, "A")
        self.world.notifications.pulse()


@pytest.fixture
def site(timely: World, connections: Connections) -> Site:
    timely.ask("SET", keys.SERVER_TIME, now(timely))
    store, name = AccountStore(connections, lambda: now(timely)), uuid.uuid4().hex[:10]
    timely.plane.admitting.admissions = AccountAdmissions(store)
    site = Site(
        world=timely,
        accounts=Accounts(timely.plane, store, Overviews(connections)),
        account=f"acc-{name}",
        me=f"me-{name}",
        other=f"other-{name}",
    )
    for agent in (site.me, site.other):
        site.accounts.assign(agent, site.account)
    return site


def test_a_lease_lost_while_the_account_is_closed_counts_no_attempt_and_parks(site: Site) -> None:
    run = site.run(max_attempts=1)
    until = site.close()
    site.accounts.assign(site.me, None)
    site.world.acquire(run, "A", site.me, ttl_s=LEASE_S)
    site.accounts.assign(site.me, site.account)
    let_pass(site.world, LEASE_S + 1)
    site.look(run)
    doc = site.world.doc(run, "A")
    assert (doc.status, doc.lease.token, doc.tries, doc.not_before) == (Status.PENDING, None, 0, until)
    (finding,) = site.world.diagnosis.explain(run, None).findings
    assert finding.sentence.startswith(f"State 'A' is parked. Account {site.account} is closed until ")
    assert (finding.evidence["reported_by"], finding.stuck) == (site.other, False)
    let_pass(site.world, HOUR)
    assert site.world.doc(run, "A").is_claimable(now(site.world))


def test_a_limit_that_ended_within_the_lease_leaves_the_state_ready_and_uncounted(site: Site) -> None:
    run = site.run(max_attempts=1)
    site.world.acquire(run, "A", site.me, ttl_s=LEASE_S)
    site.close()
    site.accounts.reopen(site.account, "operator")
    let_pass(site.world, LEASE_S + 1)
    site.look(run)
    doc = site.world.doc(run, "A")
    assert (doc.tries, doc.not_before, doc.lease.token) == (0, None, None)
    assert site.world.messages(site.me), "the agent hears of it"


def test_a_lease_that_expires_while_the_account_is_open_counts(site: Site) -> None:
    run = site.run(max_attempts=2)
    site.lose(run)
    site.look(run)
    assert site.world.doc(run, "A").tries == 1
    site.close()
    site.look(run)
    assert site.world.doc(run, "A").tries == 1, "it was closed only after the lease had ended"


def test_the_lost_lease_of_an_agent_without_an_account_counts(site: Site) -> None:
    run = site.world.create(chain("A"), agents={"A": "ann"})
    site.close()
    site.world.acquire(run, "A", "ann", ttl_s=LEASE_S)
    let_pass(site.world, LEASE_S + 1)
    site.look(run)
    assert site.world.doc(run, "A").tries == 1


def test_an_agent_that_takes_a_state_over_finds_the_lost_attempt_uncounted(site: Site) -> None:
    run = site.world.create(chain("A"), agents={"A": [site.me, "ann"]}, max_attempts=1)
    site.world.acquire(run, "A", site.me, ttl_s=LEASE_S)
    site.close()
    let_pass(site.world, LEASE_S + 1)
    assert isinstance(site.world.try_acquire(run, "A", "ann"), Leased), "another agent has no account that is closed"
    assert site.world.doc(run, "A").tries == 1


def test_a_claim_finds_the_lost_attempt_uncounted(site: Site) -> None:
    run = site.world.create(chain("A"), agents={"A": [site.me, "ann"]}, max_attempts=1)
    site.world.acquire(run, "A", site.me, ttl_s=LEASE_S)
    site.close()
    let_pass(site.world, LEASE_S + 1)
    assert isinstance(site.world.claim(run, "ann"), Leased)
    assert site.world.doc(run, "A").tries == 1


def test_forty_hosts_killed_in_windows_end_no_run_by_its_attempts(site: Site) -> None:
    run = site.run(max_attempts=1)
    for _ in range(40):
        site.world.acquire(run, "A", site.me, ttl_s=LEASE_S)
        site.close(LEASE_S)
        site.accounts.reopen(site.account, "operator")
        let_pass(site.world, LEASE_S + 1)
        site.look(run)
    site.world.do(run, "A", site.me)
    assert site.world.doc(run, "A").attempts == 41


def test_a_heartbeat_that_is_missed_while_the_account_is_closed_uses_no_retry(site: Site) -> None:
    retry = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 1}]
    states = {"A": {**task(), "HeartbeatSeconds": 5, "TimeoutSeconds": 60, "Retry": retry}}
    run = site.world.create(workflow(states), agents={"A": site.me})
    site.world.acquire(run, "A", site.me, ttl_s=LEASE_S)
    until = site.close()
    before = site.world.doc(run, "A").deadline or 0
    let_pass(site.world, 10)
    site.look(run)
    doc = site.world.doc(run, "A")
    assert (doc.status, doc.retries, doc.tries, doc.not_before) == (Status.PENDING, 0, 0, until)
    assert doc.deadline is not None
    assert doc.deadline > before + (HOUR - 60) * SECOND, "its timeout does not run from the missed heartbeat"


def test_a_state_whose_account_stays_closed_for_too_long_fails_by_name(site: Site) -> None:
    run = site.run()
    site.world.acquire(run, "A", site.me, ttl_s=LEASE_S)
    site.close(LONGEST_S + HOUR)
    let_pass(site.world, LEASE_S + 1)
    site.look(run)
    doc = site.world.doc(run, "A")
    assert doc.status is Status.FAILED
    assert (doc.last_error or "").startswith("DCF.AccountLimit: ")


def test_no_agent_of_a_closed_account_gets_a_lease_and_its_state_is_parked(site: Site) -> None:
    run, until = site.run(), site.close()
    for _ in range(2):
        refused = site.world.try_acquire(run, "A", site.me)
        assert isinstance(refused, Refusal)
        assert refused.code == "account_closed"
        assert f"Account {site.account} is closed until {to_text(until)[:19]}Z" in refused.message
        assert f"reported by {site.other}" in refused.message
        assert "No work is lost. Wait with `await_workflow_event`" in (refused.hint or "")
        assert refused.retry_after_s == pytest.approx(HOUR, abs=60)
    doc = site.world.doc(run, "A")
    assert (doc.attempts, doc.not_before, doc.reminders) == (0, until, 0)
    let_pass(site.world, HOUR)
    site.world.do(run, "A", site.me)


def test_an_account_that_opens_early_resumes_states_parked_without_a_holder(site: Site) -> None:
    run, lost = site.run(), site.run()
    site.world.acquire(lost, "A", site.me, ttl_s=LEASE_S)
    site.close()
    site.world.try_acquire(run, "A", site.me)
    let_pass(site.world, LEASE_S + 1)
    site.look(lost)
    assert site.accounts.reopen(site.account, "operator") == 2
    for ready in (run, lost):
        site.world.do(ready, "A", site.me)


def test_another_agent_of_a_pool_still_gets_the_state(site: Site) -> None:
    run = site.world.create(chain("A"), agents={"A": [site.me, "ann"]})
    site.close()
    refused = site.world.try_acquire(run, "A", site.me)
    assert isinstance(refused, Refusal)
    assert refused.code == "account_closed"
    site.world.do(run, "A", "ann")


def test_a_claim_of_an_agent_of_a_closed_account_is_refused(site: Site) -> None:
    run = site.run()
    site.close()
    refused = site.world.claim(run, site.me)
    assert isinstance(refused, Refusal)
    assert refused.code == "account_closed"
    site.accounts.reopen(site.account, "operator")
    assert isinstance(site.world.claim(run, site.me), Leased)


def test_a_claim_granted_before_the_account_closed_may_be_repeated(site: Site) -> None:
    run, token = site.run(), new_token()
    granted = site.world.claim(run, site.me, token)
    site.close()
    repeated = site.world.claim(run, site.me, token)
    assert isinstance(granted, Leased)
    assert isinstance(repeated, Leased)
    assert (repeated.state, repeated.doc.lease.token) == (granted.state, token)


@rows("names_owner", [True, False])
def test_a_completion_of_an_agent_of_a_closed_account_leases_nothing_next(site: Site, names_owner: bool) -> None:
    run = site.run("A", "B")
    token = site.world.acquire(run, "A", site.me)
    site.close()
    owner = site.me if names_owner else None
    done = site.world.complete(run, "A", token, owner=owner, claim_ttl_s=LEASE_S)
    assert (done.claims, site.world.doc(run, "B").attempts) == ((), 0)
    site.accounts.reopen(site.account, "operator")


def test_a_lease_that_was_granted_before_is_found_again_while_the_account_is_closed(site: Site) -> None:
    run, token = site.run(), new_token()
    site.world.acquire(run, "A", site.me, token)
    site.close()
    assert isinstance(site.world.try_acquire(run, "A", site.me, token), Leased)


def test_a_state_that_was_parked_thrice_before_a_lease_is_not_stuck(site: Site) -> None:
    run = site.run()
    site.world.release(run, "A", site.world.acquire(run, "A", site.me))
    for _ in range(4):
        site.close(60)
        site.world.try_acquire(run, "A", site.me)
        let_pass(site.world, 61)
        site.look(run)
    assert site.world.doc(run, "A").reminders == 4
    site.close()
    site.world.try_acquire(run, "A", site.me)
    assert not is_stuck_state(site.world.doc(run, "A"), is_started=True)
