"""The commands on schedules, for people and for programs."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Dcf
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World


@pytest.fixture
def document(tmp_path: Path) -> Path:
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(chain("A", "B") | {"workflow_name": f"flow-{uuid.uuid4().hex[:8]}", "version": "1"}))
    return file


@pytest.fixture
def name(world: World) -> Iterator[str]:
    text = f"s-{uuid.uuid4().hex[:8]}"
    yield text
    world.schedules.delete(text)


def told(dcf: Dcf, *arguments: object) -> dict[str, Any]:
    shown = dcf("schedules", *arguments, "--json")
    assert shown.exit_code == 0, shown.output
    document: dict[str, Any] = json.loads(shown.stdout)
    return document


def test_a_schedule_from_its_creation_to_its_deletion(dcf: Dcf, world: World, document: Path, name: str) -> None:
    timing: tuple[str, ...] = ("--cron", "0 7 * * 1-5", "--timezone", "Europe/Vienna", "--assign", "w")
    timing += ("--input", '{"n": 1}', "--project", f"of-{name}")
    created = dcf("schedules", "add", name, "--workflow", document, *timing, "--tag", "nightly", "--expiry", 60)
    assert (created.exit_code, f"{name} is created; the next tick is at" in created.stdout) == (0, True)
    again = told(dcf, "add", name, "--workflow", document, *timing, "--tag", "nightly", "--expiry", 60)
    assert again["existed"]
    assert again["schedule"]["expiry_secs"] == 60
    assert again["schedule"]["agents"] == {"A": ["w"], "B": ["w"]}
    assert name in dcf("schedules", "ls").stdout
    listed = dcf("schedules", "ls", "--project", f"of-{name}", "--json").stdout
    assert [(schedule["name"], schedule["project"]) for schedule in json.loads(listed)["schedules"]] == [
        (name, f"of-{name}")
    ]
    paused = told(dcf, "pause", name, "--reason", "holidays")["schedule"]
    assert (paused["status"], paused["next_at"]) == ("paused", None)
    run = told(dcf, "trigger", name, "--request-id", "r")["workflow_id"]
    world.runs.append(run)
    triggered = told(dcf, "trigger", name, "--request-id", "r")
    assert (triggered["workflow_id"], triggered["existed"]) == (run, True)
    assert dcf("schedules", "trigger", name, "--request-id", "r").stdout == f"{run}\n"
    assert world.meta(run)["tags"] == ["nightly", f"schedule:{name}"]
    assert run in dcf("ls", "--tag", f"schedule:{name}", "--project", f"of-{name}").stdout
    shown = dcf("schedules", "show", name).stdout
    assert all(
        word in shown for word in ("paused", "holidays", "triggered", run, "0 7 * * 1-5 Europe/Vienna", f"of-{name}")
    )
    assert told(dcf, "resume", name)["schedule"]["status"] == "active"
    assert dcf("schedules", "delete", name).exit_code == 2
    assert told(dcf, "delete", name, "--yes")["existed"]
    assert dcf("schedules", "delete", name, "--yes").stdout == f"Schedule {name} was gone already.\n"
    assert dcf("schedules", "show", name).exit_code != 0
    assert world.meta(run)["status"] == "running"
    audited = dcf("store", "audit", "--type", "operate_schedule", "--limit", "6").stdout
    assert f"name {name}, action pause, reason holidays" in audited


def test_a_schedule_of_a_flow_takes_the_input_that_the_flow_takes(dcf: Dcf, world: World, name: str) -> None:
    flow = ROOT / "tests" / "flow" / "flows" / "travel.py"
    wrong = dcf("schedules", "add", name, "--workflow", flow, "--every", "15m", "--input", "city=Rome")
    assert (wrong.exit_code, "The input does not fit trip" in wrong.output) == (2, True)
    told(dcf, "add", name, "--workflow", flow, "--every", "15m", "--input", '{"city": "Rome", "nights": 3}')
    run = told(dcf, "trigger", name)["workflow_id"]
    world.runs.append(run)
    assert world.meta(run)["input"] == {"city": "Rome", "nights": 3}


def test_another_schedule_of_the_same_name_is_refused(dcf: Dcf, document: Path, name: str) -> None:
    told(dcf, "add", name, "--workflow", document, "--every", "15m")
    other = dcf("schedules", "add", name, "--workflow", document, "--every", "16m")
    assert (other.exit_code, "schedule_exists" in other.stderr) == (1, True)


@rows(
    ("options", "why"),
    [
        (("--cron", "0 7 * *"), "has not five fields"),
        (("--cron", "0 25 * * *"), "not valid: bad hour"),
        (("--cron", "0 0 31 2 *"), "not valid: bad day-of-month"),
        (("--cron", "0 7 * * *", "--timezone", "Mars/Olympus"), "no such time zone"),
        (("--every", "5s"), "must be a whole number between 10 and"),
        (("--every", "often"), "no length of time"),
        ((), "give one of both"),
        (("--cron", "0 7 * * *", "--every", "15m"), "give one of both"),
        (("--every", "15m", "--timezone", "UTC"), "belongs to a cron expression"),
        (("--every", "15m", "--jitter", "15m"), "must be shorter"),
        (("--every", "15m", "--overlap", "maybe"), "'maybe' is not one of"),
        (("--every", "15m", "--assign", "C=w"), "no Task state"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said(
    dcf: Dcf, document: Path, name: str, options: tuple[str, ...], why: str
) -> None:
    wrong = dcf("schedules", "add", name, "--workflow", document, *options)
    assert (wrong.exit_code, why in " ".join(wrong.stderr.split())) == (2, True), wrong.stderr
    assert name not in dcf("schedules", "ls").stdout
