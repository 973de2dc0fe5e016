"""`dcf runs signal`, and signals and child runs in `dcf show`, `dcf ls` and `dcf why`."""

import json
import uuid
from pathlib import Path

from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Created
from dcf.core.lifecycle.starting import Start
from tests.cli.conftest import Dcf
from tests.support.workflows.machines import chain, workflow
from tests.support.world import World

WAITS = {"Type": "Task", "Resource": "dcf:signal", "Parameters": {"name": "paid"}, "End": True}
CHILD = "arn:aws:states:::states:startExecution.sync:2"


def test_a_signal_ends_the_state_that_waits_for_it(dcf: Dcf, world: World, tmp_path: Path) -> None:
    run = world.create(workflow({"Paid": WAITS}))
    world.plane.kick_off(run, "go")
    assert "waits for a signal" in dcf("show", run).stdout
    assert "waits for a signal 'paid' since" in " ".join(dcf("why", run).stdout.split())
    payload = tmp_path / "payload.json"
    payload.write_text('{"amount": 7}')
    stdout = dcf("runs", "signal", run, "paid", "--payload", payload, "--reason", "bank", "--request-id", "b-1").stdout
    assert stdout == f"paid ended Paid of {run}.\n"
    assert world.meta(run)["output"] == {"amount": 7}
    again = json.loads(dcf("runs", "signal", run, "paid", "--payload", payload, "--request-id", "b-1", "--json").stdout)
    assert (again["repeated"], again["state"], again["number"]) == (True, "Paid", 1)
    assert "reason=bank" in dcf("runs", "events", run).stdout


def test_a_signal_that_comes_early_is_kept_and_shown(dcf: Dcf, world: World) -> None:
    run = world.create(workflow({"Work": {"Type": "Task", "Next": "Paid"}, "Paid": WAITS}))
    assert dcf("runs", "signal", run, "paid").stdout.startswith("paid is kept. No state waits for it yet;")
    assert "signals kept: paid (1)" in dcf("show", run).stdout
    assert json.loads(dcf("show", run, "--json").stdout)["meta"]["signals"][0]["name"] == "paid"
    world.do(run, "Work")
    assert "signals kept" not in dcf("show", run).stdout


def test_what_cannot_be_sent_is_refused_in_words(dcf: Dcf, world: World) -> None:
    run = world.create(workflow({"Paid": WAITS}))
    refused = dcf("runs", "signal", run, "payed")
    assert refused.exit_code == 1
    assert "it waits for paid" in refused.stderr
    assert dcf("runs", "signal", run, "two words").exit_code == 2
    assert dcf("runs", "signal", "nowhere", "paid").exit_code == 3


def test_children_are_listed_below_their_parent_and_name_it(dcf: Dcf, world: World) -> None:
    name = f"inner-{uuid.uuid4().hex[:12]}"
    world.starting.keep(read_definition({**chain("Do"), "workflow_name": name}))
    inner = {"Type": "Task", "Resource": CHILD, "Parameters": {"StateMachineArn": name}, "End": True}
    wish = world.wish(workflow({"Inner": inner}))
    assert isinstance(world.starting.start(Start(wish=wish)), Created)
    run = wish.workflow_id
    world.notifications.deliver_all(run)
    (child,) = json.loads(dcf("ls", "--parent", run, "--json").stdout)
    world.runs.append(child["workflow_id"])
    assert child["parent"] == run
    assert f"child of: {run}, state Inner" in dcf("show", child["workflow_id"]).stdout
    world.notifications.deliver_all(child["workflow_id"])
    details = " ".join(dcf("why", run).stdout.split())
    assert f"waits for a child run '{child['workflow_id']}' since" in details
    assert "State 'Do' is ready" in details
    assert dcf("cancel", run, "--yes").exit_code == 0
