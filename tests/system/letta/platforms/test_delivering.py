"""Deliveries to agents of a real Letta."""

from collections.abc import Iterator

import pytest

from tests.platforms.deliverers import DeliverySite
from tests.platforms.test_delivering import (
    test_a_repetition_is_no_failure_and_comes_once_or_can_be_told,
    test_an_agent_that_is_not_there_is_named,
    test_an_event_goes_to_one_agent_only,
    test_an_event_reaches_its_agent_as_it_is,
    test_whether_a_server_is_called_is_known_without_calling_it,
)
from tests.system.letta.installed.server import LettaServer
from tests.system.letta.model import ScriptedModel
from tests.system.letta.platforms.letta_site import letta_deliveries

__all__ = [
    "test_a_repetition_is_no_failure_and_comes_once_or_can_be_told",
    "test_an_agent_that_is_not_there_is_named",
    "test_an_event_goes_to_one_agent_only",
    "test_an_event_reaches_its_agent_as_it_is",
    "test_whether_a_server_is_called_is_known_without_calling_it",
]

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]


@pytest.fixture
def site(letta_server: LettaServer, shared_model: ScriptedModel) -> Iterator[DeliverySite]:
    with letta_deliveries(letta_server, shared_model) as delivery_site:
        yield delivery_site
