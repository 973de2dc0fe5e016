"""The commands on the catalogue, for people and for programs."""

import secrets
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Dcf
from tests.features.findings.test_commands import told


@pytest.fixture
def project() -> str:
    return f"p-{secrets.token_hex(4)}"


def test_a_directory_is_loaded_and_every_problem_told(dcf: Dcf, project: str, tmp_path: Path) -> None:
    for name, text in (("good", "---\nglobs: ['*.py']\n---\nType it.\n"), ("bad", "no front matter")):
        (tmp_path / "rules").mkdir(exist_ok=True)
        (tmp_path / "rules" / f"{name}.md").write_text(text)
    first = told(dcf, "catalogue", "load", tmp_path, "--project", project, code=1)
    assert [item["name"] for item in first["loaded"]] == ["good"]
    (problem,) = first["problems"]
    assert (problem["file"], problem["code"]) == ("rules/bad.md", "no_frontmatter")
    (tmp_path / "rules" / "bad.md").unlink()
    again = told(dcf, "catalogue", "load", tmp_path, "--project", project)
    assert ([item["name"] for item in again["unchanged"]], again["loaded"]) == (["good"], [])
    (tmp_path / "rules" / "good.md").write_text("---\nglobs: ['*.py']\n---\nType all of it.\n")
    changed = dcf("catalogue", "load", tmp_path, "--project", project)
    assert (changed.exit_code, "1 new versions" in changed.stdout) == (0, True)
    assert dcf("catalogue", "load", tmp_path / "none").exit_code == 2
    shown = dcf("catalogue", "show", "rule", "good", "--project", project).stdout
    assert all(word in shown for word in ("good", "versions 1, 2", "Type all of it."))
    listed = told(dcf, "catalogue", "ls", "--file", "src/a.py", "--kind", "rule", "--project", project)
    assert "good" in [definition["name"] for definition in listed["definitions"]]


def test_a_definition_from_a_file_is_shown_found_and_deleted(dcf: Dcf, tmp_path: Path) -> None:
    name = f"n-{secrets.token_hex(4)}"
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object"}')
    made = told(dcf, "catalogue", "add", "schema", name, file, "--tag", "json", "--description", "An object.")
    assert (made["changed"], made["definition"]["version"]) == (True, "1")
    assert told(dcf, "catalogue", "show", "schema", name)["definition"]["content"] == {"type": "object"}
    put = ("catalogue", "add", "schema", name, file)
    more = ("--complexity", "high", "--attributes", '{"phases": 2}', "--session", name, "--expiry", 120)
    definition = told(dcf, *put, *more)["definition"]
    assert (definition["complexity"], definition["attributes"]) == ("high", {"phases": 2})
    lives = datetime.fromisoformat(definition["expires_at"]) - datetime.fromisoformat(definition["updated_at"])
    assert lives.total_seconds() == 120
    look = ("catalogue", "ls", name, "--session", name)
    assert [
        told(dcf, *look, *expected)["total"]
        for expected in (("--complexity", "high"), ("--complexity", "simple"), ("--always",))
    ] == [1, 0, 0]
    assert told(dcf, *look, "--not-always", "--complexity", "high", "--offset", 1)["definitions"] == []
    assert "'odd' is not one of 'simple'" in dcf(*look, "--complexity", "odd").stderr
    assert "'odd' is not one of 'simple'" in dcf(*put, "--complexity", "odd").stderr
    assert "--attributes is no JSON object" in dcf(*put, "--attributes", "7").stderr
    assert dcf(*put, "--session", name, "--expiry", 59).exit_code == 2
    assert name in dcf("catalogue", "ls", name, "--tag", "json").stdout
    assert dcf("catalogue", "add", "odd", name, file).exit_code == 2
    assert dcf("catalogue", "add", "schema", name, tmp_path / "none").exit_code == 2
    refused = dcf("catalogue", "add", "skill", name, file)
    assert (refused.exit_code, "kept_elsewhere" in refused.stderr) == (1, True)
    assert dcf("catalogue", "delete", "schema", name).exit_code == 2
    assert told(dcf, "catalogue", "delete", "schema", name, "--yes")["existed"]
    assert dcf("catalogue", "show", "schema", name).exit_code == 3


def test_secrets_are_shown_to_who_asks_for_them(dcf: Dcf, tmp_path: Path) -> None:
    name, secret, file = f"n-{secrets.token_hex(4)}", "ghp_" + "a1B2" * 9, tmp_path / "rule.md"
    file.write_text(f"Call it with {secret}.")
    told(dcf, "catalogue", "add", "rule", name, file)
    shown = dcf("catalogue", "show", "rule", name)
    assert (secret in shown.output, "--with-secrets" in shown.output) == (False, True)
    assert secret in dcf("catalogue", "show", "rule", name, "--with-secrets").stdout
    assert set(told(dcf, "catalogue", "show", "rule", name, "--field", "tags")["definition"]) == {"sha256", "tags"}
