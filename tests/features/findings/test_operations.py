"""Findings below the tools: limits, races and lost replies."""

import uuid
from functools import partial

import pytest

from dcf.features.findings import operations as knowledge
from dcf.features.findings.changing import FindingsQuery, FindingWish, NewFinding
from dcf.features.findings.model import FindingStatus, Severity
from dcf.features.findings.operations import FindingKept, Knowledge
from dcf.store.connection.connections import Connections, open_pool
from dcf.values.refusal import Refusal
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.restricted import RestrictedRedis
from tests.support.simultaneous import together
from tests.support.tables import rows


@pytest.fixture(autouse=True)
def own_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings of other tests are not counted here."""
    own = uuid.uuid4().hex[:8]
    monkeypatch.setattr(knowledge, "INDEX", f"findings-{own}")


def wish(title: str) -> NewFinding:
    return NewFinding(severity=Severity.LOW, category="c", title=title, text=title, author="ann")


def kept(answer: FindingKept | Refusal) -> FindingKept:
    assert isinstance(answer, FindingKept)
    return answer


def test_no_more_findings_are_kept_than_there_may_be(connections: Connections) -> None:
    knowledge = Knowledge(connections, most=1)
    first = kept(knowledge.add(wish("one")))
    refused = knowledge.add(wish("two"))
    assert isinstance(refused, Refusal)
    assert (refused.code, "delete_finding" in refused.hint) == ("too_many_findings", True)
    assert kept(knowledge.add(wish("one"))).existed
    assert kept(knowledge.update(first.finding.finding_id, FindingWish(by="ann", title="other"))).changed
    knowledge.delete(first.finding.finding_id)
    assert not kept(knowledge.add(wish("two"))).existed


def test_of_many_who_add_one_finding_one_does(server: RestrictedRedis) -> None:
    pools = [open_pool(server.url) for _ in range(4)]
    knowledges = [Knowledge(Connections(pool)) for pool in pools]
    for number in range(25):
        answers = together([partial(knowledge.add, wish(f"finding {number}")) for knowledge in knowledges])
        assert sorted(kept(answer).existed for answer in answers) == [False, True, True, True]
        assert len({kept(answer).finding.finding_id for answer in answers}) == 1
    assert knowledges[0].search(FindingsQuery(limit=100)).total == 25
    for pool in pools:
        pool.disconnect()


def test_no_change_of_a_finding_is_lost_when_several_make_one(server: RestrictedRedis) -> None:
    pools = [open_pool(server.url) for _ in range(4)]
    knowledges = [Knowledge(Connections(pool)) for pool in pools]
    for number in range(25):
        finding_id = kept(knowledges[0].add(wish(f"finding {number}"))).finding.finding_id
        changes = (
            FindingWish(by="a", title="new title"),
            FindingWish(by="b", category="new category"),
            FindingWish(by="c", text="new text"),
            FindingWish(by="d", status=FindingStatus.DEPRECATED),
        )
        together(
            [
                partial(knowledge.update, finding_id, change)
                for knowledge, change in zip(knowledges, changes, strict=True)
            ]
        )
        there = knowledges[0].read(finding_id)
        assert (there.title, there.category, there.text) == ("new title", "new category", "new text")
        assert (there.status, sorted(change.by for change in there.changes)) == ("deprecated", ["a", "b", "c", "d"])
    for pool in pools:
        pool.disconnect()


@rows("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
@rows("packet", range(3))
def test_a_lost_reply_changes_nothing_twice(proxy: Proxy, fault: Fault, packet: int) -> None:
    knowledge = Knowledge(Connections(open_pool(proxy.url)))
    first = kept(knowledge.add(wish("first")))
    proxy.plan(fault, None, before=packet)
    made = kept(knowledge.add(wish("second")))
    changed = kept(knowledge.update(first.finding.finding_id, FindingWish(by="ann", title="changed")))
    assert len(knowledge.read(first.finding.finding_id).changes) == 1
    assert changed.finding.title == "changed"
    assert knowledge.read(made.finding.finding_id).title == "second"
    assert knowledge.search(FindingsQuery(limit=10)).total == 2
