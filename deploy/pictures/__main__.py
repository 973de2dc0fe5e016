"""Writes the pictures: `python -m deploy.pictures docs/concepts/pictures`, or `make pictures`."""

import sys
from pathlib import Path

from deploy.pictures.concepts import PICTURES
from deploy.pictures.drawing import draw

FOLDER = Path(sys.argv[1])
FOLDER.mkdir(parents=True, exist_ok=True)
for name, picture in PICTURES.items():
    (FOLDER / f"{name}.svg").write_text(draw(picture), "utf-8")
