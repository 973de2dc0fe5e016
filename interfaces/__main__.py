"""Writes the derived source; with `--check` it only says which files differ, and returns 1 if there are any.

The table of verbs comes first, since the others are derived with it. After a change of it they are derived by another
process, which reads the new one.
"""

import argparse
import subprocess
import sys

from interfaces.sources import derived_sources


def main() -> int:
    """Write the files that differ from what the descriptions say, until none does."""
    parser = argparse.ArgumentParser(prog="python -m interfaces", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    differing = 0
    for path, text in derived_sources():
        if path.exists() and path.read_text() == text:
            continue
        differing += 1
        print(("differs: " if is_check else "written: ") + path.name, flush=True)
        if not is_check:
            path.write_text(text)
        if path.name == "table.json":
            break
    if not differing or is_check:
        return int(is_check and differing > 0)
    return subprocess.call([sys.executable, "-m", "interfaces"])


if __name__ == "__main__":
    sys.exit(main())
