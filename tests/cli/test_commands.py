"""The output of each command for people and for programs."""

import json
import re
import uuid
from pathlib import Path

from dcf.core.completing.updates import Update
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from dcf.features.health.findings import Topic
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.embedded import server as embedded
from dcf.store.keys import table as keys
from tests.cli.conftest import Dcf, Seed
from tests.support.redis.servers import free_port
from tests.support.workflows.machines import chain
from tests.support.world import World

# Help


def test_dcf_itself_says_what_it_is_and_what_to_try(dcf: Dcf) -> None:
    shown = dcf("--help")
    assert shown.exit_code == 0
    for taught in ("dcf run workflows/order_flow.py", "--context", "dcf NOUN --help", "Exit codes"):
        assert taught in shown.output


def test_the_help_of_worker_shows_how_to_register_a_function(dcf: Dcf) -> None:
    text = " ".join(dcf("worker", "--help", COLUMNS="200").output.split())
    assert 'from dcf.worker import task; @task("StateName") def work(given): ...' in text
    assert "TaskFailed" in text


def test_version(dcf: Dcf) -> None:
    assert dcf("--version").output == "dcf 0.1.0\n"


# ls


def test_an_empty_list_shows_the_command_to_try(dcf_alone: Dcf) -> None:
    shown = dcf_alone("ls")
    assert shown.exit_code == 0
    assert "dcf run workflows/order_flow.py --input workflows/order_processing/order.json" in shown.stdout
    assert json.loads(dcf_alone("ls", "--json").stdout) == []


def test_a_list_has_one_line_for_each_run_when_nobody_looks(dcf: Dcf, seed: Seed) -> None:
    made = [seed(name="A workflow with quite a long name") for _ in range(30)]
    lines = dcf("ls", "--limit", 30, "--workflow", "A workflow with quite a long name").stdout.splitlines()
    assert len(lines) == 31
    assert [line.split()[0] for line in lines[1:]] == made[::-1]
    for line in lines[1:]:
        assert "succeeded" in line
        assert "1/1" in line
        assert "A workflow with quite a long name" in line


def test_a_list_for_programs(dcf: Dcf, seed: Seed) -> None:
    run_id = seed(agent="agent-1")
    (row,) = json.loads(dcf("ls", "--json", "--limit", 1).stdout)
    created, definition = row.pop("created_at"), row.pop("definition")
    assert created.endswith("Z")
    assert re.fullmatch("[0-9a-f]{8}", definition)
    assert row == {
        "workflow_id": run_id,
        "workflow_name": "Sample",
        "parent": None,
        "project": None,
        "status": "running",
        "states_done": 0,
        "states": 1,
        "finished_at": None,
        "version": None,
        "paused": False,
        "blocked": False,
        "stuck": False,
        "tags": [],
        "finalized": False,
        "hold": False,
    }


def test_a_damaged_run_does_not_hide_the_others(dcf: Dcf, seed: Seed, world: World) -> None:
    good, damaged = seed(), seed()
    world.ask("SET", f"cp:wf:{damaged}:meta", "not JSON any more")
    rows = json.loads(dcf("ls", "--json", "--limit", 2).stdout)
    assert [(row["workflow_id"], row["status"]) for row in rows] == [(damaged, "unreadable"), (good, "succeeded")]
    assert dcf("ls").exit_code == 0


# show


def test_show_tells_that_a_run_was_never_started_and_who_could_take_it(dcf: Dcf, seed: Seed, world: World) -> None:
    run_id = seed(agent="agent-1")
    shown = dcf("show", run_id).stdout
    assert re.search(r"Only +· pending +0 +not started yet; for agent-1", shown)
    assert "· not_started: The run was created and not started: no agent was notified." in shown
    world.plane.kick_off(run_id, "initial")
    shown = dcf("show", run_id).stdout
    assert "ready for agent-1, " in shown
    assert "started yet" not in shown
    state = json.loads(dcf("show", run_id, "--json").stdout)["states"]["Only"]
    assert (state["agents"], state["awaits_start"]) == (["agent-1"], False)
    assert state["ready_since"] == world.meta(run_id)["created_at"]


def test_show_tells_who_holds_what_and_never_the_token(dcf: Dcf, seed: Seed, world: World) -> None:
    run_id = seed(agent="agent-1")
    world.plane.acquire(run_id, Acquire(state="Only", owner="agent-1", token="canary-token", ttl_s=60))
    shown = dcf("show", run_id).stdout
    assert re.search(r"Only +▶ running +1 +\d s +held by agent-1, lease ends in (60|59|58|57) s", shown)
    document = json.loads(dcf("show", run_id, "--json").stdout)
    assert document["states"]["Only"]["lease"]["owner_agent_id"] == "agent-1"
    assert document["states"]["Only"]["ready"] is False
    assert "canary" not in shown + json.dumps(document)


def test_show_prints_the_output_or_the_error(dcf: Dcf, seed: Seed, world: World) -> None:
    shown = dcf("show", seed({"total": "242.77"})).stdout
    assert '"total": "242.77"' in shown
    run_id = seed(agent="agent-1")
    world.plane.acquire(run_id, Acquire(state="Only", owner="agent-1", token="t", ttl_s=60))
    failure = Update(state="Only", token="t", status=Status.FAILED, error="OrderRejected", cause="no such customer")
    world.plane.update(run_id, failure)
    assert "OrderRejected: no such customer" in dcf("show", run_id).stdout


# events


def test_events_are_one_line_or_one_object_each(dcf: Dcf, seed: Seed) -> None:
    run_id = seed()
    types = [json.loads(line)["type"] for line in dcf("runs", "events", run_id, "--json").stdout.splitlines()]
    assert types[0] == "RunCreated"
    assert "RunSucceeded" in types
    lines = dcf("runs", "events", run_id).stdout.splitlines()
    assert len(lines) == len(types)
    assert all(re.match(r"\d\d:\d\d:\d\d\.\d{3}  [A-Z]\w+", line) for line in lines)


# pulse and doctor


def test_one_look_of_the_clock(dcf: Dcf) -> None:
    done = json.loads(dcf("store", "pulse", "--once", "--json").stdout)
    assert list(done) == ["done"]
    assert isinstance(done["done"], int)
    assert re.fullmatch(r"\d+ things? (was|were) due\n", dcf("store", "pulse", "--once").stdout)


def test_one_look_of_the_clock_ends_when_what_was_owed_to_a_platform_was_tried(
    dcf: Dcf, seed: Seed, world: World
) -> None:
    elsewhere = f"agent-{uuid.uuid4()}"  # an id of Letta's form
    run_id = seed(agent=elsewhere)
    world.plane.kick_off(run_id, "initial")
    dcf("store", "pulse", "--once", LETTA_BASE_URL=f"http://127.0.0.1:{free_port()}")
    (failure,) = (event for event in world.events(run_id) if event.type == "NotificationFailed")
    assert (failure.data["failure"], failure.data["agent"]) == ("platform_unavailable", elsewhere)


def test_doctor_says_in_words_what_it_found(dcf_alone: Dcf) -> None:
    finished = dcf_alone("doctor")
    lines = finished.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    marks = {line.split()[0]: line.split()[1:3] for line in lines[1:] if re.match(r"\w+ +[✔!✘] ", line)}
    assert list(marks) == [topic.value for topic in Topic]
    assert marks.pop("durability") == ["!", "warning"]
    assert all(mark == ["✔", "ok"] for mark in marks.values())
    text = " ".join(finished.stdout.split())
    assert "everysec: a killed redis-server or a power loss may take the last two seconds of work." in text
    assert "→ Set DCF_APPENDFSYNC=always to lose nothing." in text
    assert "✔ ok" in finished.stdout
    assert "!" not in dcf_alone("doctor", DCF_APPENDFSYNC="always").stdout
    assert "ReJSON" in json.loads(dcf_alone("doctor", "--json").stdout)["modules"]


def test_doctor_on_a_redis_of_ones_own_names_its_own_setting(dcf: Dcf) -> None:
    checks = json.loads(dcf("doctor", "--json").stdout)["checks"]
    durability, unchecked = (check for check in checks if check["topic"] == "durability")
    assert durability["remedy"] == "Set appendfsync always in its configuration to lose nothing."
    assert "redis-check-aof --fix" in unchecked["remedy"]


def test_doctor_tells_of_a_run_that_no_list_has_and_mends_it_when_told_to(dcf_alone: Dcf, tmp_path: Path) -> None:
    def listed() -> bool:
        return bool(json.loads(dcf_alone("ls", "--json").stdout))

    with embedded.start(tmp_path / "data") as server:
        world = World(connections=Connections(open_pool(server.url)))
        run = world.create(chain("A"))
        for key in (keys.RUNS, keys.LIVE):
            world.ask("ZREM", key, run)
        world.connections.close()
    assert not listed()
    report = json.loads(dcf_alone("doctor", "--json").stdout)
    (result,) = (check for check in report["checks"] if check["topic"] == "lists")
    assert (result["level"], result["remedy"]) == ("warning", "`dcf doctor --repair` corrects them.")
    assert "are wrong: missing on lists: runs 1, live runs 1; on lists, but not there: nothing." in result["sentence"]
    assert (report["lists"]["missing"], report["lists"]["repaired"]) == ({"runs": 1, "live_runs": 1}, False)
    assert not listed()
    mended = " ".join(dcf_alone("doctor", "--repair").stdout.split())
    assert "and this was mended: missing on lists: runs 1, live runs 1;" in mended
    assert listed()
    assert "they name every run, agent and API key, and nothing else." in " ".join(dcf_alone("doctor").stdout.split())
