"""The runs recorded on AWS, through the control plane on the real server, with mocked workers: they end as recorded.

They also end as the simulation says, word for word. All of one World's runs share its clock, which runs ahead whenever
a Wait or a retry would have to be waited for.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dcf.store.connection.connections import Connections
from dcf.workflows.simulation import simulate
from tests.conformance.comparison import agrees, errors_agree
from tests.conformance.recordings import cases, known_difference
from tests.support.agents.crew import Crew
from tests.support.agents.mocks import Files, Mocks
from tests.support.ahead import Ahead
from tests.support.tables import rows
from tests.support.world import World

KIND = "control_plane"
TIME = re.compile(r'"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"')
RUNS = cases("executions")


@pytest.fixture(scope="module")
def site(real_connections: Connections) -> Iterator[World]:
    """One control plane for all cases, as a server would have."""
    world = World(connections=real_connections, clock=Ahead(), items=Files())
    yield world
    world.close()


@pytest.fixture(scope="module")
def endings() -> dict[str, dict[str, Any]]:
    """How each case ended, so that it is run once for all that is said of it."""
    return {}


def ended(site: World, endings: dict[str, dict[str, Any]], case: Any) -> dict[str, Any]:
    if case["id"] not in endings:
        assert site.items is not None
        site.items.texts = files(case)
        wish = site.wish({"workflow_name": "recorded", "asl": case["definition"]}, run_input=case["input"])
        crew = Crew(world=site, run=wish.workflow_id, mocks=Mocks(case["task_mocks"]))
        crew.create(wish)
        endings[case["id"]] = {**crew.finish(), "context": site.plane.run(wish.workflow_id).context}
    return endings[case["id"]]


@rows("case", RUNS, ids=lambda case: f"{case['id']} {case['name']}")
def test_a_run_ends_as_recorded(site: World, endings: dict[str, dict[str, Any]], case: Any) -> None:
    answer = ended(site, endings, case)
    agreed = ends_alike(case["expected"], answer)
    assert agreed is (known_difference(KIND, case["id"]) is None), (case["expected"], answer)


@rows("case", [case for case in RUNS if "task_calls" in case], ids=lambda case: case["id"])
def test_the_workers_are_given_what_the_tasks_were(site: World, endings: dict[str, dict[str, Any]], case: Any) -> None:
    calls = [[call["state"], call["input"]] for call in ended(site, endings, case)["task_calls"]]
    recorded = [[call["state"], call["parameters"]] for call in case["task_calls"]]
    agreed = agrees(recorded, calls)
    assert agreed is (known_difference(f"{KIND}_calls", case["id"]) is None), (recorded, calls)


@rows("case", [case for case in RUNS if "trace" in case], ids=lambda case: case["id"])
def test_the_history_tells_the_states_entered_and_left_as_recorded(
    site: World, endings: dict[str, dict[str, Any]], case: Any
) -> None:
    # AWS keeps the history of a distributed Map's iterations apart.
    own = {event["state"] for event in case["trace"]} if "DISTRIBUTED" in json.dumps(case) else None
    events = [event for event in ended(site, endings, case)["trace"] if event["event"] in ("entered", "exited")]
    assert moments(event for event in events if own is None or event["state"] in own) == moments(case["trace"])


@rows("case", RUNS, ids=lambda case: f"{case['id']} {case['name']}")
def test_a_run_and_its_simulation_agree_word_for_word(
    site: World, endings: dict[str, dict[str, Any]], case: Any
) -> None:
    run = ended(site, endings, case)
    details = simulate(case["definition"], case["input"], case["task_mocks"], context=run["context"], files=files(case))
    words = ("output", "error", "cause", "task_calls")
    assert [timeless(run.get(word)) for word in words] == [timeless(details.get(word)) for word in words]
    assert run["status"] == {"TIMED_OUT": "FAILED"}.get(details["status"], details["status"])
    assert happenings(run["trace"]) == happenings(details["trace"])


def files(case: Any) -> dict[str, str]:
    return {f"{file['Bucket']}/{file['Key']}": file["Body"] for file in case.get("fixtures", {}).get("s3", [])}


def happenings(trace: Any) -> Counter[tuple[str, str]]:
    """Events by place; a state that a Catcher leads on from is `exited` in both."""
    return Counter((event["event"], event["path"]) for event in trace if event["event"] != "caught")


def timeless(value: Any) -> Any:
    """With one time in place of all: a simulation begins at a time of its own."""
    return json.loads(TIME.sub('"now"', json.dumps(value)))


@rows("kind", ["Task", "Map", "Pass", "Wait", "Choice", "Succeed", "Fail"])
def test_the_cases_go_through_every_kind_of_state(kind: str) -> None:
    """None of them has a Parallel; its own tests are in test_orders_of_workers and tests/runs/scopes."""
    assert any(f'"Type": "{kind}"' in json.dumps(case["definition"]) for case in RUNS)


def test_few_cases_differ() -> None:
    assert len(RUNS) >= 100
    assert sum(known_difference(KIND, case["id"]) is not None for case in RUNS) <= 5


def moments(trace: Any) -> Counter[tuple[str, str]]:
    return Counter((event["event"], event["state"]) for event in trace)


def ends_alike(expected: Any, answer: Any) -> bool:
    """A run that is over because its time is over is `failed` here, with the error that says so."""
    if expected["status"] == "TIMED_OUT":
        return bool(answer["status"] == "FAILED" and answer["error"] == "States.Timeout")
    if expected["status"] != answer["status"]:
        return False
    if expected["status"] == "SUCCEEDED":
        return agrees(expected["output"], answer["output"])
    return errors_agree(expected.get("error"), answer["error"])
