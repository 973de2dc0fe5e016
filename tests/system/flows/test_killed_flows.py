"""The flows of the proof as real runs: program, workers, server and Redis are killed half way; each ends as simulated.

All runs are half way at the same time, so that each process is killed once for all of them.
"""

import pytest

from tests.system.flows.place import FlowPlace
from tests.system.flows.runs import RUNS, steps_of
from tests.system.processes.site import Site, effective

pytestmark = pytest.mark.processes


def test_runs_whose_program_workers_server_and_redis_were_killed_end_as_simulated(site: Site) -> None:
    place = FlowPlace(site)
    place.wait_half_way()
    ended_before = place.calls("ended")

    place.kill_program()
    place.kill_workers()
    place.kill_server()
    place.kill_redis()

    place.release()
    ends = place.ends()
    for run in RUNS:
        story, end = run.simulated(), ends[run.run_id]
        assert (end["status"], end["output"]) == (story.status, story.output)
        assert (end["error"], end["cause"]) == (story.error, story.cause)
        steps, succeeded = steps_of(story), effective(site.events(run.run_id))
        assert {state: succeeded.get(state) for state in steps} == steps, "each step took effect as often as simulated"
    before = {(call["task"], call["arguments"]) for call in ended_before}
    again = {(call["task"], call["arguments"]) for call in place.calls("ended")[len(ended_before) :]}
    assert before.isdisjoint(again), "what had ended is not done again"
