"""`python -m lab KIND`: see lab/README.md."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from lab.kinds import KINDS
from lab.session import BATCH, Batch, Outcome, Violation
from lab.telling import write_story


def main() -> int:
    """Try kinds of faults; 1 if a rule was broken."""
    arguments = _arguments()
    home = Path(tempfile.mkdtemp(prefix="dcf-lab-"))
    total = 0
    try:
        for name in KINDS if arguments.all else [arguments.kind]:
            total += _try(name, home / name, arguments)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return 1 if total else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    parser.add_argument("kind", nargs="?", choices=list(KINDS))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--runs", type=int, default=BATCH)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--stories", type=Path, default=Path(tempfile.gettempdir()) / "dcf-lab-stories")
    found = parser.parse_args()
    if found.kind is None and not found.all:
        parser.error("name a kind, or --all")
    return found


def _try(name: str, home: Path, arguments: argparse.Namespace) -> int:
    until = time.monotonic() + (arguments.seconds or 1e9)
    total, start = Outcome(), (arguments.seed or 0) // BATCH * BATCH
    with KINDS[name](home) as kind:
        while total.runs < arguments.runs and time.monotonic() < until:
            found = Batch(kind, range(start, start + BATCH)).run()
            total.runs += found.runs
            total.calls += found.calls
            total.strikes += found.strikes
            total.seconds += found.seconds
            total.violations += found.violations
            start += BATCH
            print(name, found.runs, found.calls, found.strikes, f"{found.seconds:.1f}s")
            by_seed: dict[int, list[Violation]] = {}
            for violation in found.violations:
                by_seed.setdefault(violation.seed, []).append(violation)
                print("  ", violation.seed, violation.rule, violation.sentence)
            for violations in by_seed.values():
                print("  story:", write_story(arguments.stories, name, violations))
    return len(total.violations)


if __name__ == "__main__":
    sys.exit(main())
