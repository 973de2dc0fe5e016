"""The tests of a changed file are found by its name."""

from tests.support.paths import ROOT
from tests.support.selection import find_tests
from tests.support.tables import rows


def chosen(*files: str) -> set[str]:
    return {str(path.relative_to(ROOT / "tests")) for path in find_tests(ROOT / file for file in files)}


@rows(
    "file, test",
    [
        ("dcf/features/gates/verdicts.py", "features/gates/test_commands.py"),  # is in the folder of its capability
        ("dcf/features/gates/verdicts.py", "features/work/test_limits.py"),  # imports the module
        ("dcf/features/gates/verdicts.py", "system/local/test_gate_runs.py"),  # has the name of its capability
        ("dcf/store/text_index/index.py", "store/text_index/test_text_index.py"),  # imports the module
        ("dcf/core/leasing/lease.py", "core/leasing/test_lease.py"),  # has its name
        ("tests/unit/test_selection.py", "unit/test_selection.py"),  # is a test itself
    ],
)
def test_a_file_leads_to_its_tests(file: str, test: str) -> None:
    assert test in chosen(file)


def test_files_that_many_capabilities_have_lead_to_no_tests_of_another_one() -> None:
    assert "features/schedules/test_operations.py" not in chosen("dcf/features/retention/operations.py")


def test_a_file_without_tests_leads_to_none() -> None:
    assert chosen("README.md", "dcf/web/static/page.css") == set()
