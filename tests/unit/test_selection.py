"""The tests of a changed file are found by its name."""

from tests.support.paths import ROOT
from tests.support.selection import find_tests
from tests.support.tables import rows


def chosen(*files: str) -> set[str]:
    return {path.name for path in find_tests(ROOT / file for file in files)}


@rows(
    "file, test",
    [
        ("dcf/features/gates/submitting.py", "test_gates.py"),  # imports the module
        ("dcf/store/text_index/index.py", "test_text_index.py"),  # has its name
        ("tests/unit/test_selection.py", "test_selection.py"),  # is a test itself
    ],
)
def test_a_file_leads_to_its_tests(file: str, test: str) -> None:
    assert test in chosen(file)


def test_a_file_without_tests_leads_to_none() -> None:
    assert chosen("README.md", "dcf/web/static/page.css") == set()
