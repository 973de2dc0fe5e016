"""Findings and definitions below the tools: limits, races, lost replies, and what a killed process leaves."""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import pytest

from dcf.errors import UnknownOutcome
from dcf.features.catalogue import operations as catalogue
from dcf.features.catalogue.model import DefinitionKind, NewDefinition, Owner
from dcf.features.catalogue.operations import DefinitionCatalogue, DefinitionKept
from dcf.features.findings import operations as knowledge
from dcf.features.findings.changing import FindingWish, NewFinding
from dcf.features.findings.model import FindingStatus, Severity
from dcf.features.findings.operations import FindingKept, FindingsQuery, Knowledge
from dcf.skills.library import Library
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.lists.definitions import KeptDefinitions
from dcf.values.refusal import Refusal
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows

Answer = TypeVar("Answer")


@pytest.fixture(autouse=True)
def own_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else's findings and definitions are counted here."""
    own = uuid.uuid4().hex[:8]
    monkeypatch.setattr(knowledge, "INDEX", f"findings-{own}")
    monkeypatch.setattr(catalogue, "INDEX", f"catalogue-{own}")


def wish(title: str) -> NewFinding:
    return NewFinding(severity=Severity.LOW, category="c", title=title, text=title, author="ann")


def definition(content: str, name: str = "n", owner: Owner | None = None) -> NewDefinition:
    return NewDefinition(
        kind=DefinitionKind.RULE, name=name, content=content, author="ann", owner=owner or Owner(project="p")
    )


@pytest.fixture
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., DefinitionCatalogue]:
    library = Library(directory=tmp_path_factory.mktemp("skills"))

    def made(connections: Connections, most: int = 1000) -> DefinitionCatalogue:
        return DefinitionCatalogue(connections, KeptDefinitions(connections), library, most=most)

    return made


def kept(answer: FindingKept | Refusal) -> FindingKept:
    assert isinstance(answer, FindingKept)
    return answer


def test_no_more_findings_are_kept_than_there_may_be(connections: Connections) -> None:
    found = Knowledge(connections, most=1)
    first = kept(found.add(wish("one")))
    refused = found.add(wish("two"))
    assert isinstance(refused, Refusal)
    assert (refused.code, "delete_finding" in refused.hint) == ("too_many_findings", True)
    assert kept(found.add(wish("one"))).existed
    assert kept(found.update(first.finding.finding_id, FindingWish(by="ann", title="other"))).changed
    found.delete(first.finding.finding_id)
    assert not kept(found.add(wish("two"))).existed


def test_no_more_definitions_are_kept_than_there_may_be(
    connections: Connections, make: Callable[..., DefinitionCatalogue]
) -> None:
    found = make(connections, most=2)
    for content in ("one", "two"):
        assert isinstance(found.put(definition(content)), DefinitionKept)
    refused = found.put(definition("three"))
    assert isinstance(refused, Refusal)
    assert (refused.code, "delete_definition" in refused.hint) == ("catalogue_full", True)
    assert found.get(DefinitionKind.RULE, "n", project="p").content == "two"
    found.delete(DefinitionKind.RULE, "n", Owner(project="p"))
    assert isinstance(found.put(definition("three")), DefinitionKept)


def test_of_many_who_add_one_finding_one_does(server: RestrictedRedis) -> None:
    pools = [open_pool(server.url) for _ in range(4)]
    found = [Knowledge(Connections(pool)) for pool in pools]
    for number in range(25):
        answers = together([partial(one.add, wish(f"finding {number}")) for one in found])
        assert sorted(kept(answer).existed for answer in answers) == [False, True, True, True]
        assert len({kept(answer).finding.finding_id for answer in answers}) == 1
    assert found[0].search(FindingsQuery(limit=100)).total == 25
    for pool in pools:
        pool.disconnect()


def test_no_change_of_a_finding_is_lost_when_several_make_one(server: RestrictedRedis) -> None:
    pools = [open_pool(server.url) for _ in range(4)]
    found = [Knowledge(Connections(pool)) for pool in pools]
    for number in range(25):
        finding_id = kept(found[0].add(wish(f"finding {number}"))).finding.finding_id
        changes = (
            FindingWish(by="a", title="new title"),
            FindingWish(by="b", category="new category"),
            FindingWish(by="c", text="new text"),
            FindingWish(by="d", status=FindingStatus.DEPRECATED),
        )
        together([partial(one.update, finding_id, change) for one, change in zip(found, changes, strict=True)])
        there = found[0].read(finding_id)
        assert (there.title, there.category, there.text) == ("new title", "new category", "new text")
        assert (there.status, sorted(change.by for change in there.changes)) == ("deprecated", ["a", "b", "c", "d"])
    for pool in pools:
        pool.disconnect()


def test_no_version_is_lost_when_several_put_one(
    server: RestrictedRedis, make: Callable[..., DefinitionCatalogue]
) -> None:
    pools = [open_pool(server.url) for _ in range(4)]
    found = [make(Connections(pool)) for pool in pools]
    for number in range(10):
        name = f"n{number}"
        together([partial(one.put, definition(f"content {at}", name)) for at, one in enumerate(found)])
        newest = found[0].get(DefinitionKind.RULE, name, project="p").definition
        contents = {
            found[0].get(DefinitionKind.RULE, name, version=version.version, project="p").content
            for version in newest.versions
        }
        assert contents == {f"content {at}" for at in range(4)}
    for pool in pools:
        pool.disconnect()


@rows("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
@rows("packet", range(3))
def test_a_lost_reply_changes_nothing_twice(proxy: Proxy, fault: Fault, packet: int) -> None:
    found = Knowledge(Connections(open_pool(proxy.url)))
    first = kept(found.add(wish("first")))
    proxy.plan(fault, None, before=packet)
    made = kept(found.add(wish("second")))
    changed = kept(found.update(first.finding.finding_id, FindingWish(by="ann", title="changed")))
    assert len(found.read(first.finding.finding_id).changes) == 1
    assert changed.finding.title == "changed"
    assert found.read(made.finding.finding_id).title == "second"
    assert found.search(FindingsQuery(limit=10)).total == 2


@pytest.mark.parametrize("packet", range(1, 4))
def test_whatever_moment_a_process_dies_at_a_definition_has_all_its_versions(
    proxy: Proxy, server: RestrictedRedis, make: Callable[..., DefinitionCatalogue], packet: int
) -> None:
    """As if the process ended at a packet: what another one finds then, and after the same call again."""
    dying, other = make(Connections(open_pool(proxy.url))), make(Connections(open_pool(server.url)))
    dying.put(definition("one"))
    proxy.plan(Fault.CUT_BEFORE, None, before=packet)
    with suppress(UnknownOutcome):
        dying.put(definition("two"))
    newest = other.get(DefinitionKind.RULE, "n", project="p")
    assert newest.content in {"one", "two"}
    assert isinstance(other.put(definition("two")), DefinitionKept)
    versions = other.get(DefinitionKind.RULE, "n", project="p").definition.versions
    contents = [other.get(DefinitionKind.RULE, "n", version=one.version, project="p").content for one in versions]
    assert contents == ["one", "two"]


def together(calls: list[Callable[[], Answer]]) -> list[Answer]:
    """Make the calls at the same time; the answers in their order."""
    answers: dict[int, Answer] = {}
    barrier = threading.Barrier(len(calls))

    def call(number: int, what: Callable[[], Answer]) -> None:
        barrier.wait()
        answers[number] = what()

    threads = [threading.Thread(target=call, args=(number, what)) for number, what in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answers[number] for number in range(len(calls))]
