"""The cost of agents: making the workers of a run while many others exist, and loading a skill that is loaded."""

import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.measuring import Probe
from dcf.application.application import Application
from dcf.ports import AgentWish
from dcf.workforce.crew.records import CrewWish
from dcf.workforce.crew.templates import read_staffing

_AGENTS = Path(__file__).parents[1] / "agents"
_FEW, _MANY = 10, 500
_SKILL = "skill://validate.order@0.1.0"


def measure_workforce(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """Make crews of three on the mailbox platform, with few and with many agents there."""
    few = _make_crews(app, probe, _FEW, rounds)
    many = _make_crews(app, probe, _MANY, rounds)
    return [
        Row(what=f"create 3 workers, {_FEW} agents exist", figure=round(few[0]), unit="round trips"),
        Row(what=f"create 3 workers, {_MANY} agents exist", figure=round(many[0]), unit="round trips", bound=few[0]),
        Row(what=f"create 3 workers, {_MANY} : {_FEW} agents", figure=round(many[1] / few[1], 2), unit="ratio"),
        *_load_again(app, probe),
    ]


def _make_crews(app: Application, probe: Probe, existing: int, rounds: int) -> tuple[float, float]:
    """Round trips and seconds for one crew."""
    for number in range(len(app.platforms.maker(None)[1].find_agents(("bench",))), existing):
        app.platforms.maker(None)[1].create_agent(AgentWish(name=f"other-{number}", tags=("bench", "role:worker")))
    trips, times = [], []
    for _ in range(rounds):
        wish = _wish(app)
        before = time.perf_counter()
        spent = probe.spent(lambda wish=wish: app.workers.create(wish))  # type: ignore[misc]
        times.append(time.perf_counter() - before)
        trips.append(spent.reads)
    return statistics.median(trips), statistics.median(times)


def _wish(app: Application) -> CrewWish:
    document: dict[str, Any] = workloads.chain(3)
    for state in document["asl"]["States"].values():
        state["AgentBinding"] = {"agent_template_ref": {"name": "worker"}}
    run = workloads.create(app.control_plane, document)
    staffing = read_staffing(document, import_dirs=(_AGENTS,), agents_dir=_AGENTS)
    return CrewWish(workflow_id=run, staffing=staffing)


def _load_again(app: Application, probe: Probe) -> list[Row]:
    agent = app.platforms.maker(None)[1].create_agent(AgentWish(name="learner"))
    manifest = app.library.resolve(_SKILL)
    first = probe.spent(lambda: app.equipment.load(agent, manifest))
    again = probe.spent(lambda: app.equipment.load(agent, manifest))
    return [
        Row(what="load a skill of three tools", figure=first.reads, unit="round trips"),
        Row(what="load it again", figure=again.reads, unit="round trips"),
    ]
