"""docs/reference is what the code generates, and its hand-written parts name every setting and command."""

from collections import Counter

from dcf.cli.command_table import rows as commands
from dcf.settings.process import VARIABLES
from deploy.reference.pages import PAGES, WRITTEN, render_pages
from deploy.reference.settings_groups import GROUPS
from tests.support.paths import ROOT
from tests.support.tables import rows

FOLDER = ROOT / "docs" / "reference"


@rows("name", [*PAGES, "README.md"])
def test_a_page_is_what_the_code_says(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == render_pages()[name], "run `make reference`"


def test_the_folder_has_no_other_page() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == {*PAGES, "README.md", *WRITTEN} - {"compatibility/README.md"}


def test_a_setting_is_in_one_group() -> None:
    assert Counter(name for group in GROUPS for name in group.names) == Counter(list(VARIABLES))


def test_the_page_of_commands_has_every_command() -> None:
    page = (FOLDER / "cli.md").read_text("utf-8")
    assert [name for name in commands() if f"## dcf {name.full_name}\n" not in page] == []


def test_a_cell_of_the_settings_and_limits_is_short() -> None:
    """A table cell is a value or a phrase."""
    for name in ("settings.md", "limits.md"):
        cells = [
            cell
            for line in (FOLDER / name).read_text("utf-8").splitlines()
            if line[:1] == "|"
            for cell in line.split("|")
        ]
        assert [cell for cell in cells if len(cell) > 200] == []
