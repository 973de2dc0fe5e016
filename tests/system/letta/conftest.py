"""A real Letta server for the session, and agents on it, with a model whose answers each test decides."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from letta_client import Letta

from dcf.adapters.letta import LettaOptions, LettaPlatform
from dcf.ports import AgentWish
from tests.system.letta.installed import packages
from tests.system.letta.installed.server import LettaServer, running_letta
from tests.system.letta.model import HANDLE, ScriptedModel, scripted_model

Hire = Callable[..., str]


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


@pytest.fixture
def model(shared_model: ScriptedModel) -> Iterator[ScriptedModel]:
    yield shared_model
    shared_model.minds.clear()
    shared_model.log.clear()


@pytest.fixture
def options(letta_server: LettaServer) -> LettaOptions:
    return LettaOptions(base_url=letta_server.url, model=HANDLE, allow_python_source=True)


@pytest.fixture
def letta(options: LettaOptions) -> Iterator[LettaPlatform]:
    with LettaPlatform(options) as platform:
        yield platform


@pytest.fixture
def raw(letta_server: LettaServer) -> Iterator[Letta]:
    """Letta as an onlooker sees it."""
    with Letta(base_url=letta_server.url, api_key="none") as client:
        yield client


@pytest.fixture
def hired(letta: LettaPlatform) -> Iterator[Hire]:
    """Makes agents that do nothing but what the model says; they go with the test."""
    made: list[str] = []

    def hire(name: str = "somebody", **wish: Any) -> str:
        made.append(letta.create_agent(AgentWish(name=name, **wish)))
        return made[-1]

    yield hire
    for agent_id in made:
        letta.delete_agent(agent_id)


@pytest.fixture
def mark() -> str:
    """Return a tag, or part of a name, that no other test uses."""
    return f"t{secrets.token_hex(4)}"
