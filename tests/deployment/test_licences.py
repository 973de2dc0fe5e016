"""NOTICE: it states the licence of each server that the extra `embedded` installs."""

import tomllib

from packaging.requirements import Requirement

from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EMBEDDED = sorted({Requirement(text).name for text in PROJECT["optional-dependencies"]["embedded"]})
LICENCES = ("RSALv2", "SSPLv1", "AGPLv3", "BSD-3-Clause")


def test_each_server_of_the_extra_has_its_licence_wherever_it_is_installed_from() -> None:
    for name in ("NOTICE", "docs/agents/mcp-clients.md"):
        lines = (ROOT / name).read_text("utf-8").replace("`", "").replace("|", " ").splitlines()
        stated = {
            words[0]: line for line in lines if (words := line.split()) and any(licence in line for licence in LICENCES)
        }
        assert [package for package in EMBEDDED if package not in stated] == [], f"{name} must state their licences"


def test_the_page_that_an_index_shows_leads_to_the_licences() -> None:
    assert "[NOTICE](NOTICE)" in (ROOT / PROJECT["readme"]).read_text("utf-8")
    assert "NOTICE" in PROJECT["license-files"], "the wheel brings it along"


def test_the_licence_of_dcf_is_not_changed_by_them() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "It contains no server." in " ".join((ROOT / "NOTICE").read_text("utf-8").split())
