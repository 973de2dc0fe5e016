"""Templates of commands that may run on an agent's machine."""

from pathlib import Path

import pytest

from dcf.errors import InvalidArgument
from dcf.local.command_templates import allowed_by, words_of
from tests.support.tables import rows


@rows(
    "template, command, may",
    [
        ("pytest", "pytest", True),
        ("pytest", "pytest -q", False),
        ("pytest -q {path}", "pytest -q tests/x.py", True),
        ("pytest -q {path}", "pytest -q .", True),
        ("pytest -q {path}", "pytest -q", False),
        ("pytest -q {path}", "pytest -q --junitxml=out", False),
        ("pytest -q {path}", "pytest -q tests/x.py --rootdir=/tmp", False),
        ("pytest -q {path}", "pytest -q /etc", False),
        ("pytest -q {path}", "pytest -q ..", False),
        ("pytest -q {path}", "pytest -q tests/../../other", False),
        ("pytest -q {path}", "pytest -q link-out/x.py", False),
        ("pytest -q {path}", "pytest -q missing.py", False),
        ("pytest -q {path}", "pytest -q -p", False),
        ("pytest -q {path}", "pytest -q @options", False),
        ("npm run test:{name}", "npm run test:unit", True),
        ("npm run test:{name}", "npm run test:-x", False),
        ("npm run test:{name}", "npm run deploy", False),
        ("npm run test:{name}", "npm run test:../x", False),
        ("make {name}", "make --eval=x", False),
        ("make {name}", "make all\n", True),
        ("make {name}", "make 'all\n'", False),
        ("echo 'a b'", "echo a\\ b", True),
        ("echo 'a b'", "echo a b", False),
    ],
)
def test_a_template_has_each_word_of_a_command(project: Path, template: str, command: str, *, may: bool) -> None:
    if not (project / "tests").exists():
        other = project.parent / "other"
        for folder in (project / "tests", other):
            folder.mkdir()
            (folder / "x.py").touch()
        for name in ("-p", "--junitxml=out", "@options"):
            (project / name).touch()
        (project / "link-out").symlink_to(other)
    assert allowed_by([template], None).covers(words_of(command), project) is may


@rows(
    "template", ["pytest *", "*", "pytest --x?", "pytest {paths}", "pytest {path}/x", "{name} -q", "{path}", "./{name}"]
)
def test_a_template_with_a_wildcard_or_without_a_program_is_refused(template: str) -> None:
    with pytest.raises(InvalidArgument):
        allowed_by([template], None)


def test_a_file_has_a_template_on_each_line(tmp_path: Path) -> None:
    (tmp_path / "allowed").write_text("# what may run\npytest {path}\n\n./check.sh\n")
    assert allowed_by(["true"], tmp_path / "allowed").templates == (("true",), ("pytest", "{path}"), ("./check.sh",))
    with pytest.raises(InvalidArgument, match="cannot be read"):
        allowed_by([], tmp_path / "missing")
