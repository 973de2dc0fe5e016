"""Definitions below the tools: limits, races, and what a killed process leaves."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from dcf.errors import UnknownOutcome
from dcf.features.catalogue import operations as catalogue
from dcf.features.catalogue.model import DefinitionKind, NewDefinition, Owner
from dcf.features.catalogue.operations import DefinitionCatalogue, DefinitionKept
from dcf.skills.library import Library
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.lists.definitions import KeptDefinitions
from dcf.values.refusal import Refusal
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.restricted import RestrictedRedis
from tests.support.simultaneous import together


@pytest.fixture(autouse=True)
def own_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Definitions of other tests are not counted here."""
    monkeypatch.setattr(catalogue, "INDEX", f"catalogue-{uuid.uuid4().hex[:8]}")


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


def test_no_more_definitions_are_kept_than_there_may_be(
    connections: Connections, make: Callable[..., DefinitionCatalogue]
) -> None:
    result = make(connections, most=2)
    for content in ("one", "two"):
        assert isinstance(result.put(definition(content)), DefinitionKept)
    refused = result.put(definition("three"))
    assert isinstance(refused, Refusal)
    assert (refused.code, "delete_definition" in refused.hint) == ("catalogue_full", True)
    assert result.get(DefinitionKind.RULE, "n", project="p").content == "two"
    result.delete(DefinitionKind.RULE, "n", Owner(project="p"))
    assert isinstance(result.put(definition("three")), DefinitionKept)


def test_no_version_is_lost_when_several_put_one(
    server: RestrictedRedis, make: Callable[..., DefinitionCatalogue]
) -> None:
    pools = [open_pool(server.url) for _ in range(4)]
    makes = [make(Connections(pool)) for pool in pools]
    for number in range(10):
        name = f"n{number}"
        together([partial(make.put, definition(f"content {at}", name)) for at, make in enumerate(makes)])
        newest = makes[0].get(DefinitionKind.RULE, name, project="p").definition
        contents = {
            makes[0].get(DefinitionKind.RULE, name, version=version.version, project="p").content
            for version in newest.versions
        }
        assert contents == {f"content {at}" for at in range(4)}
    for pool in pools:
        pool.disconnect()


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
    contents = [
        other.get(DefinitionKind.RULE, "n", version=version.version, project="p").content for version in versions
    ]
    assert contents == ["one", "two"]
