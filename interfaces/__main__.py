"""Writes the derived source; with `--check` it only says which files differ, and returns 1 if there are any."""

import argparse
import sys

from interfaces.sources import derived_sources


def main() -> int:
    """Write the files that differ from what the descriptions say."""
    parser = argparse.ArgumentParser(prog="python -m interfaces", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    differing = [path for path, text in derived_sources() if not path.exists() or path.read_text() != text]
    for path, text in derived_sources():
        if path in differing and not is_check:
            path.write_text(text)
    print(*(("differs: " if is_check else "written: ") + path.name for path in differing), sep="\n")
    return int(is_check and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
