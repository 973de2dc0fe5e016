"""Prints an answer again and again: whenever it has changed, until somebody presses Ctrl-C."""

import io
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from time import sleep
from typing import Any, Final

_EVERY_S: Final = 2.0
_CLEAR: Final = "\x1b[H\x1b[2J\x1b[3J"
_AGES: Final = re.compile(r"\d+(?:\.\d+)? (?:ms|s|min|h|d)\b")
"""Ages, which always grow: a change of an age alone is shown only on a terminal."""


class _Screen(io.StringIO):
    """Takes what is printed for standard output, and is a terminal where that is one."""

    def isatty(self) -> bool:
        """Return True if the text will be shown on a terminal."""
        return sys.__stdout__ is not None and sys.__stdout__.isatty()


def print_changes(show: Callable[[], Any]) -> None:
    """Call what prints an answer every two seconds, and show the answer where it is another one than before."""
    is_screen, before = sys.stdout.isatty(), None
    with suppress(KeyboardInterrupt):
        while True:
            with redirect_stdout(_Screen()) as printed:
                show()
            text = printed.getvalue()
            compared = text if is_screen else _AGES.sub("", text)
            if compared != before:
                sys.stdout.write(f"{_CLEAR}{text}" if is_screen else text)
                sys.stdout.flush()
                before = compared
            sleep(_EVERY_S)
