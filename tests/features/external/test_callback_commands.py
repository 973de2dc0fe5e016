"""The commands of task tokens, for people and for programs."""

import json

import pytest

from dcf.core.documents.model import RunStatus
from tests.cli.conftest import Dcf
from tests.support.command_line import call
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import task
from tests.support.world import World

HANDED: Document = {"Resource": "dcf:callback.waitForTaskToken", "Parameters": {"token.$": "$$.Task.Token"}}


@pytest.fixture
def asking(world: World) -> str:
    """A run whose only state waits for a callback."""
    return world.create(workflow({"Ask": task(**HANDED, HeartbeatSeconds=3600)}))


def test_a_task_is_kept_alive_and_answered_and_every_face_says_so(dcf: Dcf, world: World, asking: str) -> None:
    world.plane.kick_off(asking, "go")
    assert "State 'Ask' waits for a callback since" in dcf("why", asking).stdout
    assert "Ask" in dcf("show", asking).stdout
    assert "Ask" in dcf("graph", asking).stdout
    token = world.given(asking, "Ask")["token"]
    alive = json.loads(dcf("states", "heartbeat", token, "--json").stdout)
    assert alive["heartbeat_due"] is not None
    wrong = dcf("states", "succeed", token, "--usage", '{"tokens": 1}')
    assert (wrong.exit_code, "--usage" in wrong.stderr) == (2, True)
    done = dcf("states", "succeed", token, "--output", '{"paid": true}', "--usage", '{"tokens_in": 900}').stdout
    assert done.startswith(f"Ask of {asking} is succeeded. ")
    assert world.meta(asking)["output"] == {"paid": True}
    assert json.loads(dcf("runs", "usage", asking, "--json").stdout)["total"]["tokens_in"] == 900
    again = json.loads(dcf("states", "succeed", token, "--output", '{"paid": true}', "--json").stdout)
    assert (again["workflow_id"], again["repeated"]) == (asking, True)
    refused = dcf("states", "fail", token, "--error", "Late")
    assert (refused.exit_code, "task_token_used" in refused.stderr) == (1, True)
    assert "by=local" in dcf("runs", "events", asking).stdout


@pytest.mark.usefixtures("dcf")
def test_a_token_on_standard_input_fails_the_task(world: World, asking: str) -> None:
    token = world.given(asking, "Ask")["token"]
    value = ("--error", "No", "--cause", "why", "--usage", '{"tokens_out": 7}')
    answer = call("states", "fail", "-", *value, stdin=f"{token}\n")
    assert answer.exit_code == 0
    assert world.run_status(asking) is RunStatus.FAILED
    used = call("runs", "usage", asking, "--json").stdout
    assert json.loads(used)["total"]["tokens_out"] == 7


def test_a_text_that_is_no_token_is_refused(dcf: Dcf) -> None:
    refused = dcf("states", "heartbeat", "nothing")
    assert (refused.exit_code, "task_token_unknown" in refused.stderr) == (1, True)
