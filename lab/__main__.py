"""`python -m lab KIND...`: random workflows under faults of a kind, judged by rules. See lab/README.md."""

import argparse
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from lab.kind import Kind
from lab.kinds import KINDS
from lab.record import RECORDS, Total, record, table, versions_of
from lab.redis_servers import LabRedis
from lab.session import BATCH, Batch, Outcome
from lab.telling import story_of, write_story

_STORIES = Path(tempfile.gettempdir()) / "dcf-lab-stories"
_NEVER = 1e9
_REPEATS = 5


@dataclass(frozen=True, slots=True)
class Way:
    """A kind, and how dcf comes to its servers."""

    kind: str
    acl: bool = False
    http: bool = False

    @property
    def name(self) -> str:
        """Return the kind and the ways that are not the plain one."""
        return " ".join([self.kind, *(["acl"] if self.acl else []), *(["http"] if self.http else [])])


_MORE = (Way("redis", acl=True, http=True), Way("failover", acl=True), Way("packets", http=True))


def main() -> int:
    """Try kinds of faults; 1 if a rule was broken."""
    arguments = _arguments()
    home = Path(tempfile.mkdtemp(prefix="dcf-lab-"))
    try:
        with ThreadPoolExecutor(arguments.jobs) as jobs:
            tries = [jobs.submit(_try, way, home / way.name.replace(" ", "-"), arguments) for way in _ways(arguments)]
            totals = [item.result() for item in tries]
        with LabRedis(home / "asked") as server:
            redis_version = server.client().info("server")["redis_version"]
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print(table(totals))
    if arguments.record is not None:
        arguments.record.write_text(record(totals, versions_of(redis_version)))
    return 0 if all(total.is_clean for total in totals) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"what is struck: {', '.join(KINDS)}")
    parser.add_argument("--all", action="store_true", help="every kind, and a few with --acl and --http as well")
    parser.add_argument("--jobs", type=int, default=2, help="how many kinds are tried at the same time (default: 2)")
    parser.add_argument("--runs", type=int, help=f"runs of each kind, in batches of {BATCH} (default: one batch)")
    parser.add_argument("--seconds", type=float, help="begin no batch of a kind after this many seconds")
    parser.add_argument("--seed", type=int, help="begin with the batch that has this seed (default: 0)")
    parser.add_argument("--alone", action="store_true", help="only the run of --seed, with the strikes of its batch")
    parser.add_argument("--acl", action="store_true", help="dcf is the Redis user of deploy/redis/users.acl")
    parser.add_argument("--http", action="store_true", help="workers call over HTTP, with API keys")
    parser.add_argument("--stories", type=Path, default=_STORIES, help="where the stories of broken rules are written")
    today = RECORDS / f"{datetime.now(UTC):%Y-%m-%d}.md"
    parser.add_argument("--record", type=Path, nargs="?", const=today, help="write the figures to a file")
    args = parser.parse_args()
    if bool(args.kinds) is args.all:
        parser.error("name kinds, or --all")
    if unknown := sorted({*args.kinds} - {*KINDS}):
        parser.error(f"no such kinds: {', '.join(unknown)}")
    if args.alone and args.seed is None:
        parser.error("--alone needs --seed")
    if args.runs is None:
        args.runs = BATCH if args.seconds is None else _NEVER
    return args


def _ways(arguments: argparse.Namespace) -> list[Way]:
    """Return what to try: kinds as they were asked for, or all of them, and a few in the other ways as well."""
    if not arguments.all:
        return [Way(kind, acl=arguments.acl, http=arguments.http) for kind in arguments.kinds]
    left_out = {name: why for name, kind in KINDS.items() if (why := kind.why_not()) is not None}
    for name, why in left_out.items():
        print(f"{name}: left out, {why}")
    possible = [name for name in KINDS if name not in left_out]
    plain = [Way(name, acl=arguments.acl, http=arguments.http) for name in possible]
    return plain if arguments.acl or arguments.http else [*plain, *_MORE]


def _try(way: Way, home: Path, arguments: argparse.Namespace) -> Total:
    with KINDS[way.kind](home, acl=way.acl, http=way.http) as kind:
        return _tried(kind, Total(name=way.name), arguments)


def _tried(kind: Kind, total: Total, arguments: argparse.Namespace) -> Total:
    """Run batches of a kind until there are enough."""
    until = time.monotonic() + (arguments.seconds or _NEVER)
    start = (arguments.seed or 0) // BATCH * BATCH
    if arguments.alone:
        for _ in range(_REPEATS):
            _add(total, Batch(kind, range(start, start + BATCH), only=arguments.seed).run(), arguments)
        return total
    while total.runs < arguments.runs and time.monotonic() < until:
        _add(total, Batch(kind, range(start, start + BATCH)).run(), arguments)
        start += BATCH
    return total


def _add(total: Total, outcome: Outcome, arguments: argparse.Namespace) -> None:
    """Add a batch, say how it went, and tell the stories of the runs that broke rules."""
    total.add(outcome)
    went = f"{outcome.runs} runs, {outcome.strikes} strikes, {outcome.calls} calls, {outcome.seconds:.1f} s"
    print(f"{total.name}: {went}, {len(outcome.violations)} violations", flush=True)
    for complaint in outcome.complaints:
        print(f"  {complaint}")
    for _, group in groupby(
        sorted(outcome.violations, key=lambda violation: violation.seed), key=lambda violation: violation.seed
    ):
        violations = list(group)
        path = write_story(arguments.stories, total.name.replace(" ", "-"), violations)
        print(story_of(total.name, violations, brief=True), f"  the whole story: {path}", sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
