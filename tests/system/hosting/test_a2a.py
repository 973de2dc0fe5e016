"""A remote A2A agent works on states of a run: its SDK is in an environment of its own, installed with DCF_AGENTS=1."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dcf.errors import RunFailed
from tests.support.waiting import wait_until
from tests.system.hosting.conftest import Hosting
from tests.system.hosting.environments import A2A, WANTED, WHY_NOT

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not WANTED, reason=WHY_NOT),
]

Agents = Callable[..., str]


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Agents]:
    """Starts a remote agent and returns the agents file for it; `notes` has its notes."""
    (tmp_path / "notes").mkdir()
    started: list[subprocess.Popen[str]] = []

    def start(card_url: str | None = None) -> str:
        program = Path(__file__).with_name("remote_agent.py")
        command = [str(A2A.python()), str(program), str(tmp_path / "notes"), *([card_url] if card_url else [])]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        lines = ["[agents.me]", 'recipe = "a2a"', f'python = "{A2A.python()}"', f'base_url = "{url}"', "tries = 2"]
        return "\n".join([*lines, 'options = {headers = {X-Key = "secret-of-remote"}}'])

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_remote_agent_does_the_work_and_its_artifact_is_the_output(
    hosting: Hosting, remote: Agents, tmp_path: Path
) -> None:
    with hosting(remote()) as hosted:
        run = hosted.start({}, given={"do": "double", "amount": 21})
        assert hosted.client.result(run) == {"total": 42}
        used = hosted.client.read_usage(run).total
        assert (used.tokens_in, used.cost) == (7, {"EUR": "0.5"})
    assert set((tmp_path / "notes" / "keys").read_text().split()) == {"secret-of-remote"}


def test_text_of_a_remote_agent_is_read_as_that_of_a_model(hosting: Hosting, remote: Agents) -> None:
    with hosting(remote()) as hosted:
        assert hosted.result({}, given={"do": "say", "text": '```json\n{"a": 1}\n```'}) == {"a": 1}
        assert hosted.result({}, given={"do": "say", "text": "plain words"}) == "plain words"


def test_an_output_that_is_not_accepted_is_asked_for_again_in_the_same_conversation(
    hosting: Hosting, remote: Agents
) -> None:
    expected = {"OutputSchema": {"type": "object", "required": ["total"]}}
    with hosting(remote()) as hosted:
        assert hosted.result(expected, given={"do": "say", "text": '{"sum": 1}'}) == {"total": 42}


@pytest.mark.parametrize(
    ("given", "error", "cause"),
    [
        ({"do": "fail"}, "DCF.AgentFailed", "there are none left"),
        ({"do": "fail", "told": {"error": "OutOfStock", "cause": "none"}}, "OutOfStock", "none"),
        ({"do": "ask"}, "DCF.InputRequired", "Which colour?"),
    ],
)
def test_a_task_that_fails_or_wants_to_be_asked_back_fails_the_state(
    hosting: Hosting, remote: Agents, given: dict[str, object], error: str, cause: str
) -> None:
    with hosting(remote()) as hosted, pytest.raises(RunFailed) as failed:
        hosted.result({}, given=given)
    assert (failed.value.error, failed.value.cause) == (error, cause)


def test_the_remote_task_is_cancelled_when_the_run_is(hosting: Hosting, remote: Agents, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with hosting(remote()) as hosted:
        run = hosted.start({}, given={"do": "hang"})
        wait_until((notes / "began-hang").exists, 30)
        hosted.client.cancel(run)
        wait_until((notes / "cancelled").exists, 30)


def test_a_card_that_names_another_host_is_not_followed(hosting: Hosting, remote: Agents) -> None:
    with hosting(remote("http://169.254.169.254")) as hosted, pytest.raises(RunFailed) as failed:
        hosted.result({}, given={"do": "double", "amount": 1})
    assert failed.value.error == "DCF.AgentElsewhere"
