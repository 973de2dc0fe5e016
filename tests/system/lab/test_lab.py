"""A few runs of every kind of fault, on seeds that are always the same: no rule is broken, a broken dcf is found out.

lab/records has the trials of hours.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from dcf.core.documents import refusals
from lab import worker
from lab.deployments import Deployment, Host
from lab.kind import Kind
from lab.kinds import KINDS
from lab.serving import answers
from lab.session import Batch, Outcome
from lab.telling import story_of

RUNS = 8
OVER_HTTP = 6
FEWER = {
    "servers": 5,
    "region": 5,
    "cluster": 5,
    "disks": 6,
    "sentinel": 6,
    "frozen-polls": 3,
    "outages": 3,
    "quotas": 3,
    "artifacts": 4,
    "lost-definitions": 3,
    "torn-logs": 3,
    "webhooks": 3,
    "host-clocks": 3,
    "versions": 3,
    "bombs": 3,
    "limit": 4,
}
"""Runs of the kinds whose servers take long to start; `make lab` tries every kind for a minute."""
BY_HAND = {"region-unconfirmed", "cluster-partition"}
"""Kinds that are tried by hand: they take long."""

TOO_LITTLE = 32 * 1024**2
"""Bytes of address space in which no server starts."""

pytestmark = pytest.mark.processes


@pytest.fixture
def home(short_directory: Path, request: pytest.FixtureRequest) -> Path:
    return short_directory / f"lab-{abs(hash(request.node.name))}"


def tried(kind: Kind, runs: int = RUNS) -> Outcome:
    """The outcome of a batch with a strike; a short one may have ended before."""
    with kind:
        for first in (0, runs, 2 * runs):
            outcome = Batch(kind, range(first, first + runs)).run()
            if outcome.strikes or outcome.violations or outcome.complaints:
                break
        return outcome


def told(name: str, outcome: Outcome) -> Iterator[str]:
    """The broken rules, with the story of each run that broke one."""
    yield from outcome.complaints
    for violation in outcome.violations:
        yield story_of(name, [violation])


@pytest.mark.parametrize("name", [name for name in KINDS if name not in BY_HAND])
def test_no_rule_is_broken_whatever_strikes(home: Path, name: str) -> None:
    if (why := KINDS[name].why_not()) is not None:
        pytest.skip(why)
    outcome = tried(KINDS[name](home), FEWER.get(name, RUNS))
    assert "\n".join(told(name, outcome)) == ""
    assert outcome.strikes
    assert outcome.calls > outcome.runs


def test_nor_as_the_redis_user_of_a_deployment_with_workers_that_call_over_http(home: Path) -> None:
    outcome = tried(KINDS["redis"](home, acl=True, http=True), OVER_HTTP)
    assert "\n".join(told("redis acl http", outcome)) == ""


def unfenced(duty: worker.Duty) -> None:
    """A worker whose dcf does not ask who holds a state."""
    vars(refusals)["unless_holder"] = accept_everybody
    worker.main(duty)


def accept_everybody(*_: Any) -> None:
    return None


def test_a_dcf_without_fencing_breaks_rules(home: Path) -> None:
    with KINDS["workers"](home) as kind:
        outcome = Batch(kind, range(24), work=unfenced).run()
    assert "no_stale_write" in {violation.rule for violation in outcome.violations}


def test_no_server_is_left_of_a_deployment_that_does_not_start(home: Path) -> None:
    deployment = Deployment(home, (Host(), Host(memory=TOO_LITTLE)))
    with pytest.raises(AssertionError), deployment:
        pass
    assert not any(answers(urlsplit(url).port or 0) for url in deployment.urls)
    with pytest.raises(redis.ConnectionError):
        deployment.client().ping()
