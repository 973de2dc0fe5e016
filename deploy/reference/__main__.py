"""Writes the reference pages: `python -m deploy.reference docs/reference`, or `make reference`."""

import sys
from pathlib import Path

from deploy.reference.pages import render_pages

FOLDER = Path(sys.argv[1])
FOLDER.mkdir(parents=True, exist_ok=True)
for name, text in render_pages().items():
    (FOLDER / name).write_text(text, "utf-8")
