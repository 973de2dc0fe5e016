"""`dcf skills` and `dcf workflows stub` on the command line, and the workflows that ship with dcf."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.command_line import call
from tests.support.paths import ROOT
from tests.support.tables import rows

BROKEN = """apiVersion: skill/v1
kind: Skill
metadata: {name: a, version: one}
spec: {directives: Do it., tools: [{ref: x}]}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return shutil.copytree(ROOT / "skills_src", tmp_path / "source")


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.skill.yaml").write_text(BROKEN)
    return tmp_path / "broken"


def generated(out: Path) -> dict[str, str]:
    return {path.relative_to(out).as_posix(): path.read_text("utf-8") for path in out.rglob("*.json")}


def test_generate_writes_what_is_committed(source: Path, tmp_path: Path) -> None:
    result = call("skills", "generate", source, "--out", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (0, "✔ 6 skills, 13 tools, 37 cases; 8 files written\n")
    assert generated(tmp_path / "out") == generated(ROOT / "generated")


def test_generate_goes_where_the_settings_say(source: Path, tmp_path: Path) -> None:
    places = {
        "DCF_SKILLS_SRC_DIR": source,
        "DCF_MANIFESTS_DIR": tmp_path / "m",
        "DCF_SKILLS_CATALOG": tmp_path / "c.json",
        "STUB_CONFIG": tmp_path / "s.json",
    }
    document = json.loads(call("skills", "generate", "--json", **{k: str(v) for k, v in places.items()}).stdout)
    assert (document["ok"], len(document["written_files"]), document["removed_files"]) == (True, 8, [])
    assert {
        len(list((tmp_path / "m").iterdir())),
        (tmp_path / "c.json").is_file(),
        (tmp_path / "s.json").is_file(),
    } == {6, True}


def test_check_writes_nothing_and_tells_whether_files_would_change(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = call("skills", "generate", source, "--out", out, "--check")
    assert (result.exit_code, out.exists()) == (1, False)
    assert "would change: " in result.stdout
    call("skills", "generate", source, "--out", out)
    assert call("skills", "generate", source, "--out", out, "--check").exit_code == 0
    (source / "skills.csv").write_text(
        (source / "skills.csv").read_text("utf-8").replace("Checks an order", "Tests an order")
    )
    document = json.loads(call("skills", "generate", source, "--out", out, "--check", "--json").stdout)
    assert (document["ok"], document["written_files"]) == (False, [])
    assert [Path(path).name for path in document["changed_files"]] == [
        "skill.validate.order-0.1.0.json",
        "skills_catalog.json",
    ]


@rows("command", ["generate", "validate"])
def test_every_problem_is_a_line_with_its_place(broken: Path, tmp_path: Path, command: str) -> None:
    more = ("--out", tmp_path / "out") if command == "generate" else ()
    result = call("skills", command, broken, *more)
    assert result.exit_code == 1
    first, second, last = result.stdout.splitlines()
    assert first.startswith("a.skill.yaml:4 (spec.tools[0].ref): invalid_ref: ")
    assert second.startswith("a.skill.yaml:1 (skillVersion): invalid_value: ")
    assert last == "✘ 2 problems; nothing was written"
    assert not (tmp_path / "out").exists()


def test_problems_as_json_have_file_line_column_code_message_and_hint(broken: Path) -> None:
    document = json.loads(call("skills", "validate", broken, "--json").stdout)
    assert document["ok"] is False
    assert all(
        set(problem) == {"file", "line", "column", "code", "message", "hint"} for problem in document["problems"]
    )


def test_validate_judges_a_manifest_too(tmp_path: Path) -> None:
    good = ROOT / "generated" / "manifests" / "skill.validate.order-0.1.0.json"
    assert call("skills", "validate", good).exit_code == 0
    bad = tmp_path / "bad.json"
    bad.write_text(good.read_text("utf-8").replace('"none"', '"far"').replace("v2.0.0", "v9"))
    result = call("skills", "validate", bad)
    assert result.exit_code == 1
    assert "/manifestApiVersion: invalid_value" in result.stdout
    bad.write_text("{")
    assert json.loads(call("skills", "validate", bad, "--json").stdout)["problems"][0]["code"] == "invalid_json"
    bad.write_bytes(b"\xff")
    assert call("skills", "validate", bad).exit_code == 2


def test_list_shows_what_planners_can_choose_from_wherever_dcf_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("skills", "ls")
    assert result.exit_code == 0
    assert "skill.calculate.pricing@0.1.0" in result.stdout
    assert "calculate_subtotal, apply_discount" in result.stdout
    document = json.loads(
        call("skills", "ls", "--json", DCF_MANIFESTS_DIR=str(ROOT / "generated" / "manifests")).stdout
    )
    assert len(document) == 6
    assert all(item["valid_schema"] and item["errors"] == [] for item in document)


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    for command in (("skills", "generate", tmp_path / "no"), ("skills", "validate", tmp_path / "no")):
        result = call(*command)
        assert result.exit_code == 2
        assert "There is no directory" in result.stderr


@rows("name", ["order_processing", "customer_support"])
def test_the_shipped_workflows_are_valid_wherever_dcf_is_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (ROOT, tmp_path):
        monkeypatch.chdir(place)
        result = call("validate", f"workflows/{name}.json", "--json")
        document = json.loads(result.stdout)
        assert (result.exit_code, document["problems"], document["warnings"]) == (0, [], [])
        skills = document["resolution"]["state_skill_map"].values()
        assert [item["manifestId"] for (item,) in skills] == [item["skill"].replace("://", ".") for (item,) in skills]


def test_the_support_session_can_be_tried_without_agents() -> None:
    folder = ROOT / "workflows" / "customer_support"
    files = ("--input", folder / "request.json", "--mocks", folder / "mocks.json")
    result = json.loads(call("simulate", ROOT / "workflows" / "customer_support.json", *files, "--json").stdout)
    mocks = json.loads((folder / "mocks.json").read_text("utf-8"))
    assert (result["status"], result["output"]) == ("SUCCEEDED", mocks["ComposeResponse"]["output"])
    composed = [event["input"] for event in result["trace"] if event["path"] == "ComposeResponse" and "input" in event]
    assert composed[0]["found"] == [mocks["LookupCustomer"]["output"], mocks["DiagnoseIssue"]["output"]]


# dcf workflows stub


def test_stub_says_what_is_wrong_with_its_configuration(tmp_path: Path) -> None:
    missing = call("workflows", "stub", "--config", tmp_path / "nothing.json")
    assert missing.exit_code == 2
    assert "There is no file" in missing.stderr
    (tmp_path / "bad.json").write_text('{"servers": {"s": {"tools": {"t": {"surprise": 1}}}}}')
    bad = call("workflows", "stub", "--config", tmp_path / "bad.json")
    assert bad.exit_code == 2
    assert "unknown_field" in bad.stderr
    assert "dcf skills generate" in bad.stderr
