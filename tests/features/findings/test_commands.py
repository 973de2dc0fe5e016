"""The commands on findings, for people and for programs."""

import json
import secrets
from typing import Any

import pytest

from tests.cli.conftest import Dcf
from tests.support.workflows.machines import chain
from tests.support.world import World


@pytest.fixture
def project() -> str:
    return f"p-{secrets.token_hex(4)}"


def told(dcf: Dcf, *arguments: object, code: int = 0) -> dict[str, Any]:
    shown = dcf(*arguments, "--json")
    assert shown.exit_code == code, shown.output
    document: dict[str, Any] = json.loads(shown.stdout)
    return document


def test_a_finding_from_its_beginning_to_its_end(dcf: Dcf, project: str) -> None:
    value = (
        "Prices lack a currency",
        "7 is not 7 EUR. C++",
        "--severity",
        "high",
        "--tag",
        "api",
        "--project",
        project,
    )
    made = told(dcf, "findings", "add", *value)
    finding_id = made["finding"]["finding_id"]
    assert (made["existed"], told(dcf, "findings", "add", *value)["existed"]) == (False, True)
    finished = dcf("findings", "ls", "c++", "--project", project, "--only-own")
    assert all(word in finished.stdout for word in (finding_id, "Prices lack a currency", "high", "#api", "1 of 1"))
    better = told(dcf, "findings", "add", "Prices need one", "EUR.", "--project", project)["finding"]["finding_id"]
    done = dcf("findings", "update", finding_id, "--superseded-by", better, "--reason", "better", "--as", "ann")
    assert (done.exit_code, "is changed" in done.stdout) == (0, True)
    shown = dcf("findings", "show", finding_id).stdout
    assert all(word in shown for word in ("superseded", better, "7 is not 7 EUR", "ann", "better"))
    rows = told(dcf, "findings", "ls", "--project", project, "--only-own", "--status", "any")
    assert ([row["finding_id"] for row in rows["findings"]], rows["total"]) == ([better, finding_id], 2)
    assert dcf("findings", "delete", better).exit_code == 2
    assert told(dcf, "findings", "delete", better, "--yes") == {"finding_id": better, "existed": True}
    assert dcf("findings", "show", better).exit_code == 3
    assert "gone already" in dcf("findings", "delete", better, "--yes").stdout


def test_a_finding_says_which_state_it_came_from_and_what_else_is_known(dcf: Dcf, world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "ann", "B": "ben"})
    came = ("--run", run, "--state", "A", "--metadata", '{"seen": 2}')
    made = told(dcf, "findings", "add", f"Slow {run}", "It waits.", *came)["finding"]
    assert (made["run"], made["state"], made["metadata"]) == (run, "A", {"seen": 2})
    assert dcf("findings", "add", f"Odd {run}", "No.", "--run", run, "--state", "Nowhere").exit_code == 3


def test_what_is_refused_names_commands(dcf: Dcf, project: str) -> None:
    keyed = ("--project", project, "--key", "k")
    told(dcf, "findings", "add", "one", "one", *keyed)
    other = dcf("findings", "add", "two", "two", *keyed)
    assert (other.exit_code, "`dcf findings update FINDING_ID`" in other.stderr) == (1, True)
    assert dcf("findings", "add", "x", "y", "--severity", "odd").exit_code == 2
    assert dcf("findings", "ls", "--status", "odd").exit_code == 2
    assert dcf("findings", "add", "x", "y", "--location", "7").exit_code == 2
    assert "--metadata is no JSON object" in dcf("findings", "add", "x", "y", "--metadata", "7").stderr
    assert "Pass `--run` too" in dcf("findings", "add", "x", "y", "--state", "A").stderr
