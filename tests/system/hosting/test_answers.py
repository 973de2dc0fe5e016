"""A model whose answer is not accepted, or whose server is not well, gets another turn."""

import shutil
from pathlib import Path

import pytest

from dcf.errors import RunFailed
from tests.system.hosting.conftest import Hosting
from tests.system.hosting.model_server import Heard, Said, model_server

TOTAL = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}


def agents(url: str, more: str = "") -> str:
    return f'[agents.me]\nhandler = "plain_agent.py:handle"\nprocess = true\nbase_url = "{url}/v1"\nmodel = "m"\n{more}'


@pytest.fixture
def plain(hosting: Hosting, tmp_path: Path) -> Hosting:
    shutil.copy(Path(__file__).with_name("plain_agent.py"), tmp_path)
    return hosting


def test_a_model_whose_answer_is_not_accepted_reads_why_in_the_same_conversation(plain: Hosting) -> None:
    heards: list[Heard] = []

    def mind(heard: Heard) -> Said:
        heards.append(heard)
        return Said(text='{"total": 3}' if len(heard.prompts) > 1 else "It comes to three.")

    with model_server(mind) as model, plain(agents(model.url)) as hosted:
        run = hosted.start({"OutputSchema": TOTAL})
        assert hosted.client.result(run) == {"total": 3}
        assert hosted.state(run).attempts == 1
    first, second = heards
    assert second.prompts[0] == first.prompts[0]
    assert "not accepted" in second.prompts[1]
    assert "not one JSON value" in second.prompts[1]


def test_a_model_that_never_gives_an_accepted_answer_fails_the_state(plain: Hosting) -> None:
    heards: list[Heard] = []

    def mind(heard: Heard) -> Said:
        heards.append(heard)
        return Said(text="{}")

    with model_server(mind) as model, plain(agents(model.url)) as hosted, pytest.raises(RunFailed) as failed:
        hosted.result({"OutputSchema": TOTAL})
    assert failed.value.error == "DCF.InvalidOutput"
    assert "total" in (failed.value.cause or "")
    assert len(heards) == 3


def test_a_model_server_that_is_not_well_is_asked_again(plain: Hosting) -> None:
    replies = [Said(status=500), Said(status=529), Said(text='"well"')]
    with model_server(lambda _: replies.pop(0)) as model, plain(agents(model.url)) as hosted:
        assert hosted.result() == "well"
