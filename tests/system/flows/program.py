"""A user's program: it starts a run of each flow, or finds those that it started before it was killed, and waits.

Arguments: the URL of the server, and a file with the runs: {ID: {"module", "flow", "input"}}. An id is the agent too.
"""

import importlib
import json
import sys
from pathlib import Path

import dcf


def main(url: str, runs_file: str) -> None:
    sys.path.insert(0, str(Path(runs_file).parent))
    runs = json.loads(Path(runs_file).read_text("utf-8"))
    with dcf.connect(url) as client:
        for run_id, run in runs.items():
            flow = getattr(importlib.import_module(run["module"]), run["flow"])
            client.start(flow, run["input"], agents=run_id, workflow_id=run_id)
        _tell("started")
        for run_id in runs:
            ended = client.wait(run_id)
            end = {"status": ended.status, "output": ended.output, "error": ended.error, "cause": ended.cause}
            _tell(json.dumps({"run": run_id, **end}))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
