"""Prints hard places, or their figures: `python -m deploy.wording [--figures] PATH...`."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from deploy.wording.counting import files_of, places_in


def main(arguments: list[str]) -> None:
    """Print the places in the files below the paths, or with --figures how many there are of each kind."""
    parser = argparse.ArgumentParser(prog="python -m deploy.wording", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--figures", action="store_true", help="Print counts by kind instead of the places.")
    options = parser.parse_args(arguments)
    files = [path for top in options.paths for path in files_of(top)]
    places = [place for path in files for place in places_in(path)]
    lines = sum(path.read_text("utf-8").count("\n") for path in files)
    if options.figures:
        for (kind, problem), count in Counter((place.kind, place.reason.kind) for place in places).most_common():
            print(f"{count:6} {problem} ({kind})")
    else:
        for place in places:
            reason = place.reason
            print(f"{place.path}:{place.line}: {reason.kind}: {reason.advice}: {reason.text[:120]}")
    print(f"{len(places)} places in {lines} lines: {1000 * len(places) / max(1, lines):.1f} per 1,000")


if __name__ == "__main__":
    main(sys.argv[1:])
