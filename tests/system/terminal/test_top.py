"""`dcf runs top` on a terminal, until Ctrl-C."""

import sys

from tests.cli.conftest import Dcf
from tests.cli.reading.test_top import dcf, quiet_redis, run, world
from tests.support.terminal import on_a_terminal

__all__ = ["dcf", "quiet_redis", "run", "world"]


def test_a_terminal_is_drawn_until_ctrl_c(dcf: Dcf, run: str) -> None:
    with on_a_terminal(sys.executable, "-m", "dcf", "runs", "top") as terminal:
        terminal.until("top-ann")
        assert terminal.interrupt() == 0
