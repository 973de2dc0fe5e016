"""The real Letta server and its model, one of each for a session, for every directory of tests that wants them."""

from collections.abc import Iterator

import pytest

from tests.letta import packages
from tests.letta.model import ScriptedModel, scripted_model
from tests.letta.server import LettaServer, running_letta


@pytest.fixture(scope="session")
def shared_model() -> Iterator[ScriptedModel]:
    with scripted_model() as model:
        yield model


@pytest.fixture(scope="session")
def letta_server(shared_model: ScriptedModel) -> Iterator[LettaServer]:
    reason = packages.why_not()
    if reason is not None:
        pytest.skip(reason)
    with running_letta(shared_model.url) as server:
        yield server
