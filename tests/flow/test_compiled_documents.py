"""The document of a flow: names that a person would choose, places next to it, functions by module and name."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from dcf import testing
from dcf.asl.machine import Task
from dcf.core.definitions.model import read_given
from dcf.core.definitions.sources import line_of, place_of, position_of
from dcf.flow.compiling import CompiledFlow, compile_flow
from dcf.worker.flow_functions import functions_of_all
from dcf.worker.state_functions import plans_of
from tests.flow.agreement import load
from tests.flow.flows.release import release
from tests.flow.flows.travel import trip
from tests.support.paths import ROOT

SAME_NAMES = """
from dcf import flow, task

@task(name="work")
def double(n: int) -> int:
    return n * 2

@task(name="work")
def half(n: int) -> int:
    return n // 2

@flow
def doubled(n: int) -> int:
    return double(n)

@flow
def halved(n: int) -> int:
    return half(n)
"""


def states_of(machine: dict[str, Any]) -> dict[str, Any]:
    states: dict[str, Any] = {}
    for name, state in machine["States"].items():
        states[name] = state
        for inner in [*state.get("Branches", []), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            states |= states_of(inner)
    return states


def test_states_have_names_that_a_person_would_choose() -> None:
    assert list(states_of(compile_flow(trip).document)) == [
        *("booked", "book", "book 2", "book 3", "for booking", "next booking", "cancel", "raise TripFailed"),
    ]
    assert "while build.status == 'running' and polls < 20" in states_of(compile_flow(release).document)


def test_every_state_has_its_place_which_is_no_part_of_the_hash(tmp_path: Path) -> None:
    compiled = compile_flow(release)
    assert set(states_of(compiled.document)) == set(compiled.document["source"]["states"])
    assert line_of(compiled.document, "sleep 30") == f"{place_of(compiled.document, 'sleep 30')}: sleep(30)"
    place = position_of(compiled.document, "/States/sleep 30/Seconds")
    assert place is not None
    lower = tmp_path / "lower.py"
    lower.write_text("\n\n" + Path(release.function.__code__.co_filename).read_text("utf-8"))
    moved = compile_flow(load(lower).release).document
    there = position_of(moved, "/States/sleep 30/Seconds")
    assert there is not None
    assert there[1:] == (place[1] + 2, place[2])
    with_source, without = dict(compiled.document), {**compiled.document, "source": {}}
    assert read_given(with_source).sha256 == read_given(without).sha256


def both(path: Path) -> tuple[CompiledFlow, CompiledFlow]:
    path.write_text(SAME_NAMES)
    module = load(path)
    return compile_flow(module.doubled), compile_flow(module.halved)


def test_states_of_one_name_are_done_by_the_functions_that_their_resources_name(tmp_path: Path) -> None:
    doubled, halved = both(tmp_path / "shared_names.py")
    functions = functions_of_all([doubled, halved])
    assert list(functions) == ["work"]
    plans = plans_of(functions["work"], "work")
    outputs = []
    for compiled in (doubled, halved):
        state = read_given(compiled.document).machine.states["work"]
        assert isinstance(state, Task)
        plan = plans.plan_for(state.served_by.function)
        assert plan is not None
        outputs.append(plan.call({"n": 8}, testing.context("work")))
    assert outputs == [16, 4]
    assert list(functions["work"].by_place) == ["shared_names.double", "shared_names.half"]
    assert plans_of(functions_of_all([doubled])["work"], "work").plan_for("shared_names.half") is None


def test_a_program_and_a_worker_of_its_file_have_the_same_functions(tmp_path: Path) -> None:
    """The module of a program has another name; the Resource that it starts runs with must not."""
    (tmp_path / "shop.py").write_text(f"{SAME_NAMES}\nprint(double.place, half.place)\n")
    program = subprocess.run(
        [sys.executable, "shop.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert program.stdout.split() == ["shop.double", "shop.half"]


def test_the_compiler_stays_small() -> None:
    files = list((ROOT / "dcf" / "flow").rglob("*.py"))
    assert sum(len(file.read_text("utf-8").splitlines()) for file in files) <= 3500
