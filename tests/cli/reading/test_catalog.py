"""`dcf ls`: filters, pages, what is stuck, and how wide it is."""

import io
import json
import shlex
import uuid
from typing import Any

import pytest
from rich.console import Console

from dcf.cli.reading import runs as catalog
from dcf.core.documents.model import RunStatus
from dcf.core.leasing.stuck import STUCK_REMINDERS
from dcf.core.listing.runs import RunRow
from tests.cli.conftest import Dcf, Seed
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World


@pytest.fixture
def mine() -> str:
    """A workflow's name that no other test uses."""
    return f"list-{uuid.uuid4().hex[:8]}"


def rows_of(dcf: Dcf, *arguments: object) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(dcf("ls", "--json", *arguments).stdout)
    return document


def stuck_run(world: World, workflow: str) -> str:
    run = world.create(chain("A") | {"workflow_name": workflow}, agents={"A": "a"})
    world.plane.kick_off(run, "go")
    for _ in range(STUCK_REMINDERS):
        world.make_due(run, "A")
        world.notifications.pulse()
    return run


def test_runs_are_filtered(dcf: Dcf, seed: Seed, mine: str) -> None:
    over, waiting = seed(name=mine), seed(name=mine, agent=f"{mine}-a")
    assert [row["workflow_id"] for row in rows_of(dcf, "--workflow", mine)] == [waiting, over]
    (row,) = rows_of(dcf, "--workflow", mine, "--status", "succeeded")
    assert row["workflow_id"] == over
    for options in (["--agent", f"{mine}-a"], ["--workflow", mine, "--version", rows_of(dcf)[0]["definition"]]):
        assert [row["workflow_id"] for row in rows_of(dcf, *options)] == [waiting]
    assert len(rows_of(dcf, "--workflow", mine, "--since", "1h")) == 2
    assert rows_of(dcf, "--workflow", mine, "--until", "1h") == rows_of(dcf, "--workflow", mine, "--tag", "x") == []
    assert "No run is like that." in dcf("ls", "--workflow", mine, "--stuck").stdout


def test_a_list_says_how_many_of_how_many_and_how_to_go_on(dcf: Dcf, seed: Seed, mine: str) -> None:
    made = [seed(name=mine) for _ in range(5)]
    first = dcf("ls", "--workflow", mine, "--limit", 2)
    assert "2 of 5 runs; in all " in first.stderr
    words = first.stderr.split("Older ones: dcf ")[1].split()
    assert words[:3] == ["ls", "--workflow", mine]
    second = dcf(*words, "--limit", 3)
    assert [line.split()[0] for line in second.stdout.splitlines()[1:]] == made[2::-1]
    assert "Older" not in second.stderr


def test_runs_of_an_earlier_version_are_told_of_until_a_sweep_lists_them(
    dcf: Dcf, seed: Seed, world: World, mine: str
) -> None:
    for _ in range(3):
        seed(name=mine)
    for key in world.ask("KEYS", "cp:idx:runs:status:*"):
        world.ask("DEL", key)
    assert "made by an earlier version; `dcf doctor --repair`" in dcf("ls").stderr
    dcf("doctor", "--repair")
    assert "earlier version" not in dcf("ls").stderr
    assert len(rows_of(dcf, "--workflow", mine, "--status", "succeeded")) == 3


def test_the_next_page_is_told_with_the_filters_of_this_one(dcf: Dcf, seed: Seed, mine: str) -> None:
    name = f"{mine} of two words"
    made = [seed(name=name) for _ in range(2)]
    first = dcf("ls", "--workflow", name, "--since", "1h", "--status", "succeeded", "--limit", 1)
    command = shlex.split(first.stderr.split("Older ones: dcf ")[1])
    assert {"--since", "--status", "--cursor"} <= set(command)
    (line,) = dcf(*command).stdout.splitlines()[1:]
    assert line.split()[0] == made[0]


def test_programs_page_with_a_cursor(dcf: Dcf, seed: Seed, mine: str) -> None:
    made = [seed(name=mine) for _ in range(5)]
    result, cursor = list[str](), "0"
    while cursor is not None:
        page = json.loads(dcf("ls", "--json", "--workflow", mine, "--limit", 2, "--cursor", cursor).stdout)
        result += (row["workflow_id"] for row in page["runs"])
        assert page["matching"] == 5
        cursor = page["next_cursor"]
    assert result == made[::-1]


def test_what_is_stuck_comes_first_and_once(dcf: Dcf, seed: Seed, world: World, mine: str) -> None:
    run = stuck_run(world, mine)
    later = seed()
    shown = dcf("ls", "--limit", 200).stdout.splitlines()[1:]
    names = [line.split()[0] for line in shown]
    assert names.index(run) < names.index(later)
    assert len(names) == len(set(names))
    assert "! stuck" in shown[names.index(run)]
    (row,) = rows_of(dcf, "--stuck", "--workflow", mine)
    assert row["workflow_id"] == run
    assert row["why"]
    listed = " ".join(dcf("ls", "--stuck", "--workflow", mine).stdout.split())
    assert f"{run}: {row['why']}" in listed, "the first finding of dcf why"
    assert [row["workflow_id"] for row in rows_of(dcf, "--limit", 1)] == [later], "programs get the newest first"


def test_two_versions_of_a_workflow_are_told_apart(dcf: Dcf, seed: Seed, world: World, mine: str) -> None:
    first, other = seed(name=mine), seed(name=mine, state="Other")
    lines = dcf("ls", "--workflow", mine).stdout.splitlines()[1:]
    names = {line.split()[0]: line.split()[-1] for line in lines}
    assert names[first] != names[other]
    assert all(name.startswith(f"{mine}@") for name in names.values())
    numbered = [world.create(chain(*states) | {"workflow_name": mine, "version": "2.0"}) for states in ("A", "AB")]
    lines = dcf("ls", "--workflow", mine, "--version", "2.0").stdout.splitlines()[1:]
    assert {line.split()[0] for line in lines} == set(numbered)
    assert len({line.split()[-1] for line in lines}) == 2, "the same number was given to two documents"


@rows(
    "options",
    [
        ["--status", "paused"],
        ["--since", "yesterday"],
        ["--until", "0d"],
        ["--since", "2026-11-22T09:00:00"],
        ["--cursor", "x"],
        ["--cursor", ""],
        ["--limit", "1001"],
    ],
)
def test_a_wrong_option_is_refused_in_words(dcf: Dcf, options: list[str]) -> None:
    assert dcf("ls", *options).exit_code == 2


LONG = RunRow(
    workflow_id="order-processing-pipeline-20261121-234842-f944",
    status=RunStatus.RUNNING,
    workflow_name="Order Processing Pipeline",
    workflow_version="1.10.2",
    definition_sha256="0a1b2c3d" * 8,
    names=("A", "B", "C"),
    states_done=3,
    created_at="2026-11-21T23:48:42Z",
)
SHORT = RunRow(workflow_id="order-42", status=RunStatus.SUCCEEDED, workflow_name="invoice", stuck=True, names=None)


@rows(("width", "last"), [(80, "states"), (120, "workflow"), (60, "status")])
def test_columns_fit_the_screen(monkeypatch: pytest.MonkeyPatch, width: int, last: str) -> None:
    screen = io.StringIO()
    narrow = Console(file=screen, force_terminal=True, color_system=None, width=width)
    monkeypatch.setattr(catalog, "console", lambda: narrow)
    catalog.print_runs([LONG.as_json(), SHORT.as_json()])
    lines = screen.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].split()[-1] == last
    assert all(len(line) <= width for line in lines)


def test_a_short_id_leaves_room_for_the_workflow_on_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    narrow = Console(file=screen, force_terminal=True, color_system=None, width=80)
    monkeypatch.setattr(catalog, "console", lambda: narrow)
    rows = [LONG.as_json() | {"workflow_id": "order-20261121-f944", "version": version} for version in ("1.9", None)]
    catalog.print_runs(rows)
    first, second = screen.getvalue().splitlines()[1:]
    assert first.rstrip().endswith("2026-11-21 23:48:42  Order Processi…@1.9")
    assert second.rstrip().endswith("2026-11-21 23:48:42  Order Pro…@0a1b2c3d"), "the version is not what is cut"
