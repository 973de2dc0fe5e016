"""A shell completes contexts, runs, states and agents of the place in use. Errors are not shown."""

import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.cli.places import completion
from tests.cli.conftest import Seed
from tests.cli.places.conftest import NOWHERE, Dcf
from tests.support.command_line import call
from tests.support.tables import rows


def completed(words: str, **environment: str) -> list[str]:
    """The words that bash offers for the last of these words."""
    request = {"_DCF_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = call(**request, **environment)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def silent() -> Iterator[str]:
    """URL of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


@rows("command", ["cancel", "runs pause", "runs resume", "states resolve", "show", "watch"])
def test_runs_of_the_place_in_use_are_completed(dcf_at_server: Dcf, seed: Seed, command: str) -> None:
    first, second = seed(), seed(agent="agent-1")
    for words in (f"dcf {command} ", f"dcf --context prod {command} "):
        assert {first, second} <= set(completed(words))
    assert completed(f"dcf {command} {second[:-1]}") == [second]
    assert completed(f"dcf --context local {command} {second[:-1]}") == []
    assert completed(f"dcf {command} --context local {second[:-1]}") == []
    assert completed(f"dcf {command} {second[:-1]}", REDIS_URL=NOWHERE) == []


def test_runs_here_are_completed(dcf: Dcf, seed: Seed) -> None:
    run = seed(agent="agent-1")
    assert completed(f"dcf cancel {run[:-1]}") == [run]


def test_states_of_the_run_are_completed(dcf_at_server: Dcf, seed: Seed) -> None:
    run = seed(agent="agent-1")
    assert completed(f"dcf states resolve {run} ") == ["Only"]
    assert completed(f"dcf states resolve {run} Ot") == []
    assert completed("dcf states resolve no-such-run ") == []


def test_agents_of_the_place_in_use_are_completed(dcf_at_server: Dcf, seed: Seed) -> None:
    agent = f"agent-{uuid.uuid4().hex[:8]}"
    seed(agent=agent)
    for words in ("dcf states ls --agent ", "dcf ls --agent ", "dcf runs usage --agent ", "dcf agents delete "):
        assert completed(f"{words}{agent[:-1]}") == [agent]
        assert completed(f"{words}{agent[:-1]}", DCF_CONTEXT="local", REDIS_URL=NOWHERE) == []


def test_names_of_contexts_are_completed(dcf_at_server: Dcf, contexts_file: Path) -> None:
    for words in ("dcf --context ", "dcf ls --context ", "dcf keys ls --context ", "dcf context use "):
        assert completed(words) == ["local", "prod"]
    assert completed("dcf --context p") == ["prod"]
    contexts_file.chmod(0o644)
    assert completed("dcf --context ") == []


@rows("key", ["", "dcf_000000000000_" + "x" * 43, "two words"], ids=["no key", "wrong key", "no key at all"])
def test_where_nothing_may_be_asked_nothing_is_completed(dcf_away: Dcf, url: str, key: str) -> None:
    assert completed("dcf cancel ", DCF_SERVER_URL=url, DCF_API_KEY=key) == []


@rows("wrong", ["nonsense", "http://127.0.0.1:1/mcp"])
def test_where_there_is_no_server_nothing_is_completed(dcf_away: Dcf, wrong: str) -> None:
    assert completed("dcf cancel ", DCF_SERVER_URL=wrong) == []
    assert completed("dcf cancel ", DCF_CONTEXT="nobody") == []


def test_a_server_that_says_nothing_is_not_waited_for(
    dcf_away: Dcf, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command would wait for a minute."""
    monkeypatch.setattr(completion, "_LONGEST_S", 0.1)
    assert completed("dcf cancel ", DCF_SERVER_URL=silent) == []


def test_no_redis_is_started_for_a_key_that_was_pressed(dcf_away: Dcf, tmp_path: Path) -> None:
    assert completed("dcf cancel x") == []
    assert not (tmp_path / "data").exists()
