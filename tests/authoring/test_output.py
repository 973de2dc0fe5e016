"""Writing what was generated: whole files, all or none, nothing of other people."""

import json
from pathlib import Path

import pytest

from dcf.authoring.generation import generate, manifest_outputs, stale_manifests
from dcf.authoring.output import Output, write_all
from dcf.errors import InvalidArgument

YAML = "apiVersion: skill/v1\nkind: Skill\nmetadata: {{name: {0}, version: 1.0.0}}\nspec: {{directives: Do it.}}\n"


def test_files_are_written_whole_and_nothing_is_left_beside_them(tmp_path: Path) -> None:
    outputs = [Output(tmp_path / "new" / "a.json", "1\n"), Output(tmp_path / "b.json", "2\n")]
    write_all(outputs)
    assert all(output.is_current for output in outputs)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["a.json", "b.json"]
    assert (tmp_path / "b.json").stat().st_mode & 0o777 == 0o644


def test_when_one_file_cannot_be_written_none_is(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InvalidArgument, match="cannot be written") as refused:
        write_all([Output(tmp_path / "a.json", "new"), Output(tmp_path / "file" / "b.json", "new")])
    assert str(tmp_path) not in refused.value.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "file"]
    assert (tmp_path / "a.json").read_text() == "old"


def test_d_97j_manifests_that_are_no_longer_generated_go_and_other_files_stay(tmp_path: Path) -> None:
    source, out, catalog = tmp_path / "source", tmp_path / "out", tmp_path / "catalog" / "catalog.json"
    source.mkdir()

    def regenerate() -> list[str]:
        outputs = manifest_outputs(generate(source), out, catalog)
        write_all(outputs, stale_manifests(outputs, out, catalog))
        return sorted(path.name for path in out.iterdir())

    for name in ("a", "b"):
        (source / f"{name}.skill.yaml").write_text(YAML.format(name))
    assert regenerate() == ["skill.a-1.0.0.json", "skill.b-1.0.0.json"]
    (out / "by-hand.json").write_text("{}")
    (source / "b.skill.yaml").unlink()
    assert regenerate() == ["by-hand.json", "skill.a-1.0.0.json"]
    assert [skill["path"] for skill in json.loads(catalog.read_text())["skills"]] == ["../out/skill.a-1.0.0.json"]


@pytest.mark.parametrize("catalog", ["", "{", "[]", '{"skills": 3}', '{"skills": [{"path": "../../keep.json"}]}'])
def test_a_strange_catalogue_makes_nothing_go_that_is_not_there(tmp_path: Path, catalog: str) -> None:
    (tmp_path / "keep.json").write_text("{}")
    out = tmp_path / "a" / "b"
    out.mkdir(parents=True)
    (tmp_path / "catalog.json").write_text(catalog)
    assert stale_manifests([], out, tmp_path / "catalog.json") == []
