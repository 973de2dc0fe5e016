"""`dcf runs timeline` on a terminal."""

import re
import sys

from tests.cli.conftest import Dcf
from tests.cli.reading.test_timeline import run
from tests.support.terminal import on_a_terminal

__all__ = ["run"]


def test_a_terminal_gets_a_bar_for_each_state(run: str, dcf: Dcf) -> None:
    with on_a_terminal(sys.executable, "-m", "dcf", "runs", "timeline", run) as terminal:
        assert terminal.end() == 0
        shown = terminal.text
    assert "█" in shown
    assert re.search(r"First .*█.*  [\d.]+ m?s +succeeded", shown)
    assert "lost lease" in shown
