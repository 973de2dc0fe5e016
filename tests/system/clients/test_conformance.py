"""The official MCP conformance suite: what every server must do, in both revisions of the protocol that we speak."""

import json
from pathlib import Path

import pytest

from tests.system.clients.node import HERE, Finished, Programs
from tests.system.processes.site import Server

pytestmark = pytest.mark.processes

SCENARIOS = {"2025-11-25": 33, "2026-07-28": 40}
"""How many the pinned suite has for each revision."""

PLAIN = {
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
    ),
}
"""Scenarios of the suite that need nothing but a server."""

EXTENSIONS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest")
"""Scenarios of 2026-07-28 that need nothing but a server either, and are in no suite."""


def _run(programs: Programs, server: Server, revision: str, results: Path, *options: str | Path) -> Finished:
    return programs.run(
        "conformance", "server", "--url", server.url, "--spec-version", revision, "-o", results, *options
    )


def _check(programs: Programs, server: Server, revision: str, results: Path, *options: str) -> Finished:
    """Run the suite; with a baseline it counts warnings as failures."""
    return _run(programs, server, revision, results, "--expected-failures", HERE / "baseline.yml", *options)


def _statuses(results: Path, scenario: str) -> set[str]:
    """Return the statuses of the checks of a scenario. Its directory has the time behind its name."""
    (place,) = results.glob(f"server-{scenario}-20[0-9][0-9]-*")
    return {check["status"] for check in json.loads((place / "checks.json").read_text("utf-8"))}


@pytest.mark.parametrize("revision", SCENARIOS)
def test_our_app_conforms_but_for_what_needs_a_session(
    programs: Programs, extended_server: Server, revision: str, tmp_path: Path
) -> None:
    done = _check(programs, extended_server, revision, tmp_path, "--suite", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.iterdir())) == SCENARIOS[revision], "every scenario of the revision ran"


@pytest.mark.parametrize("revision", SCENARIOS)
def test_the_server_as_it_is_conforms(programs: Programs, open_server: Server, revision: str, tmp_path: Path) -> None:
    """The whole suite is run, since each start takes a second; what needs other tools than ours is not looked at."""
    _run(programs, open_server, revision, tmp_path, "--suite", "all")
    statuses = {scenario: _statuses(tmp_path, scenario) for scenario in PLAIN[revision]}
    wrong = {name: each for name, each in statuses.items() if not {"SUCCESS"} <= each <= {"SUCCESS", "INFO"}}
    assert wrong == {}


@pytest.mark.parametrize("scenario", EXTENSIONS)
def test_the_server_as_it_is_conforms_to_extensions(
    programs: Programs, open_server: Server, scenario: str, tmp_path: Path
) -> None:
    done = _check(programs, open_server, "2026-07-28", tmp_path, "--scenario", scenario)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.iterdir())) == 1, "the scenario ran"
