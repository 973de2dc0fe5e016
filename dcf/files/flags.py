"""Flags for opening a file without following a link or waiting for a pipe.

Windows has none of them. There the tools of files refuse every call: a directory cannot be opened.
"""

import os
import sys
from typing import Final

CLOEXEC: Final = 0 if sys.platform == "win32" else os.O_CLOEXEC
DIRECTORY: Final = 0 if sys.platform == "win32" else os.O_DIRECTORY
NOFOLLOW: Final = 0 if sys.platform == "win32" else os.O_NOFOLLOW
NONBLOCK: Final = 0 if sys.platform == "win32" else os.O_NONBLOCK
