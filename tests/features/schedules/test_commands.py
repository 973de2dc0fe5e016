"""The commands on schedules, for people and for programs."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Dcf
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
    found = f"s-{uuid.uuid4().hex[:8]}"
    yield found
    world.schedules.delete(found)


def told(dcf: Dcf, *arguments: object) -> dict[str, Any]:
    shown = dcf("schedule", *arguments, "--json")
    assert shown.exit_code == 0, shown.output
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def test_a_schedule_from_its_creation_to_its_deletion(dcf: Dcf, world: World, document: Path, name: str) -> None:
    timing: tuple[str, ...] = ("--cron", "0 7 * * 1-5", "--timezone", "Europe/Vienna", "--assign", "w")
    timing += ("--input", '{"n": 1}', "--project", f"of-{name}")
    created = dcf("schedule", "create", name, "--workflow", document, *timing, "--tag", "nightly", "--expiry", 60)
    assert (created.exit_code, f"{name} is created; the next tick is at" in created.stdout) == (0, True)
    again = told(dcf, "create", name, "--workflow", document, *timing, "--tag", "nightly", "--expiry", 60)
    assert again["expiry_secs"] == 60
    assert again["agents"] == {"A": ["w"], "B": ["w"]}
    assert name in dcf("schedule", "list").stdout
    listed = dcf("schedule", "list", "--project", f"of-{name}", "--json").stdout
    assert [(one["name"], one["project"]) for one in json.loads(listed)] == [(name, f"of-{name}")]
    paused = told(dcf, "pause", name, "--reason", "holidays")
    assert (paused["status"], paused["next_at"]) == ("paused", None)
    run = told(dcf, "trigger", name, "--request-id", "r")["workflow_id"]
    world.runs.append(run)
    assert told(dcf, "trigger", name, "--request-id", "r") == {"name": name, "workflow_id": run, "existed": True}
    assert world.meta(run)["tags"] == ["nightly", f"schedule:{name}"]
    assert run in dcf("ls", "--tag", f"schedule:{name}", "--project", f"of-{name}").stdout
    shown = dcf("schedule", "show", name).stdout
    assert all(
        word in shown for word in ("paused", "holidays", "triggered", run, "0 7 * * 1-5 Europe/Vienna", f"of-{name}")
    )
    assert told(dcf, "resume", name)["status"] == "active"
    assert dcf("schedule", "delete", name).exit_code == 2
    assert told(dcf, "delete", name, "--yes") == {"name": name, "existed": True}
    assert dcf("schedule", "show", name).exit_code != 0
    assert world.meta(run)["status"] == "running"
    audited = dcf("audit", "--type", "operate_schedule", "--limit", "4").stdout
    assert f"name {name}, action pause, reason holidays" in audited


def test_another_schedule_of_the_same_name_is_refused(dcf: Dcf, document: Path, name: str) -> None:
    told(dcf, "create", name, "--workflow", document, "--every", "15m")
    other = dcf("schedule", "create", name, "--workflow", document, "--every", "16m")
    assert (other.exit_code, "schedule_exists" in other.stderr) == (1, True)


@rows(
    ("options", "why"),
    [
        (("--cron", "0 7 * *"), "has not five fields"),
        (("--cron", "0 25 * * *"), "not valid: bad hour"),
        (("--cron", "0 0 31 2 *"), "not valid: bad day-of-month"),
        (("--cron", "0 7 * * *", "--timezone", "Mars/Olympus"), "no such time zone"),
        (("--every", "5s"), "every 10 seconds at most"),
        (("--every", "often"), "no length of time"),
        ((), "give one of both"),
        (("--cron", "0 7 * * *", "--every", "15m"), "give one of both"),
        (("--every", "15m", "--timezone", "UTC"), "belongs to a cron expression"),
        (("--every", "15m", "--jitter", "15m"), "must be shorter"),
        (("--every", "15m", "--overlap", "maybe"), "none of skip, queue, allow"),
        (("--every", "15m", "--assign", "C=w"), "no Task state"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said(
    dcf: Dcf, document: Path, name: str, options: tuple[str, ...], why: str
) -> None:
    wrong = dcf("schedule", "create", name, "--workflow", document, *options)
    assert (wrong.exit_code, why in " ".join(wrong.stderr.split())) == (2, True), wrong.stderr
    assert name not in dcf("schedule", "list").stdout
