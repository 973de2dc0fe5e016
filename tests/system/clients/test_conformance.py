"""The official MCP conformance suite: what every server must do, in both revisions of the protocol that we speak."""

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
        "sep-2640-skills-enumeration",
        "sep-2640-skills-manifest",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
    ),
}
"""Scenarios that need nothing but a server."""


def _check(programs: Programs, server: Server, revision: str, results: Path, *options: str) -> Finished:
    """Run the suite; with a baseline it counts warnings as failures."""
    asked = ("server", "--url", server.url, "--spec-version", revision, "-o", results)
    return programs.run("conformance", *asked, "--expected-failures", HERE / "baseline.yml", *options)


@pytest.mark.parametrize("revision", SCENARIOS)
def test_our_app_conforms_but_for_what_needs_a_session(
    programs: Programs, extended_server: Server, revision: str, tmp_path: Path
) -> None:
    done = _check(programs, extended_server, revision, tmp_path, "--suite", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.iterdir())) == SCENARIOS[revision], "every scenario of the revision ran"


@pytest.mark.parametrize(("revision", "scenario"), [(one, name) for one, names in PLAIN.items() for name in names])
def test_the_server_as_it_is_conforms(
    programs: Programs, open_server: Server, revision: str, scenario: str, tmp_path: Path
) -> None:
    done = _check(programs, open_server, revision, tmp_path, "--scenario", scenario)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.iterdir())) == 1, "the scenario ran"
