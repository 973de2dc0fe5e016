"""Step Functions' language as its JSON Schemas have it: the validator takes the machines of the proven flows."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dcf.flow.compiling import compile_flow
from dcf.steps.vocabulary import Flow
from dcf.workflows.step_functions import for_step_functions
from tests.flow.exports import issue
from tests.flow.flows.branches import branches
from tests.flow.flows.checks import checks
from tests.flow.flows.refunds import refunds
from tests.flow.flows.release import release
from tests.flow.flows.support import support
from tests.flow.flows.travel import trip
from tests.support.tables import rows
from tests.system.clients.node import NODE, installed
from tests.system.processes.site import LONG

pytestmark = pytest.mark.processes

HERE = Path(__file__).parent
FLOWS = [trip, release, branches, support, refunds, checks, issue]


def judged(config: pytest.Config, machine: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    validator = installed(config, "step_functions", HERE) / "asl-validator" / "dist" / "bin" / "asl-validator.js"
    file = folder / "machine.json"
    file.write_text(json.dumps(machine), "utf-8")
    command = [str(NODE), str(validator), "--json-path", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)


@rows("flow", FLOWS)
def test_the_validator_takes_the_machine_of_a_flow(
    pytestconfig: pytest.Config, tmp_path: Path, flow: Flow[..., Any]
) -> None:
    done = judged(pytestconfig, for_step_functions(compile_flow(flow).document), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_validator_refuses_what_only_dcf_knows(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    machine = for_step_functions(compile_flow(trip).document)
    machine["States"]["book"]["OutputSchema"] = {"type": "object"}
    done = judged(pytestconfig, machine, tmp_path)
    assert done.returncode == 1
    assert "/States/book" in done.stdout + done.stderr
