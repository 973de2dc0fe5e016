"""Records what an earlier version writes: `python -m tests.system.upgrades.record COMMIT` checks it out and runs it.

The file has a line about the recording, then one for each key. It is recorded once, for each release, and never again:
what a released version wrote does not change.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import redis

from lab.extras import Calls
from lab.two_versions import checked_out
from tests.support.redis.dumps import lines_of, text_of
from tests.support.redis.servers import redis_server
from tests.system.upgrades.servers import command, environment, served
from tests.system.upgrades.team import Team
from tests.system.upgrades.waiting_stages import STAGES

RECORDED: Final = Path(__file__).parent / "recorded"
_LONGER_S: Final = 60
"""Seconds of every lease, question and wait: longer than the recording takes, and over before anybody restores it.

So a dump of last year and one of a minute ago are continued in the same way.
"""


def main() -> None:
    """Record one version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="what is recorded: a commit of this repository, or the tag of a release")
    commit = parser.parse_args().commit
    with tempfile.TemporaryDirectory() as home:
        lines = list(_recorded(commit, Path(home)))
    path = RECORDED / f"{commit}.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sys.stdout.write(f"{path.name}: {len(lines)} lines, {path.stat().st_size:,} bytes\n")


def _recorded(commit: str, home: Path) -> Iterator[str]:
    """Have a server of a version write, and yield the lines of the file."""
    program = home / "program"
    program.mkdir()
    checked_out(program, commit)
    with redis_server(home) as port, redis.Redis(port=port) as client:
        key = _asked(port, program, "keys", "create", "--any-agent", "--scope", "read", "--expires", "never")["key"]
        with served(port, home / "server.log", program) as server:
            team = Team("", repeat(server.calls), patience_s=_LONGER_S, pause_s=_LONGER_S)
            facts = {name: stage.begin(team.of(name)) for name, stage in STAGES.items()}
            _describe_site(server.calls)
        shown = {run: _asked(port, program, "show", run) for run in facts}
        about = {"commit": commit, "api_key": key, "facts": facts, "shown": shown}
        yield json.dumps(about, separators=(",", ":"))
        yield from map(text_of, lines_of(client))


def _asked(port: int, program: Path, *arguments: str) -> Any:
    """Return what a command of that version prints as JSON."""
    ask, settings = command(*arguments, "--json"), environment(port, program)
    made = subprocess.run(ask, env=settings, cwd=program, check=True, capture_output=True, timeout=120)
    return json.loads(made.stdout)


def _describe_site(calls: Calls) -> None:
    """Write what is of no run: a schedule, a webhook, a project, what agents learned and work by."""
    workflow = {"workflow_name": "nightly", "asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}
    request: Mapping[str, Mapping[str, Any]] = {
        "create_schedule": {"name": "nightly", "cron": "0 3 1 1 *", "workflow_json": workflow},
        "register_agent": {"agent_id": "hook", "url": "http://127.0.0.1:9/"},
        "put_project": {"project": "shop", "name": "Shop", "paths_json": ["/srv/shop"]},
        "add_finding": {"severity": "medium", "category": "prices", "title": "No currency", "text": "7, not 7 EUR."},
        "put_definition": {"kind": "rule", "name": "review", "content": "# Review\nRead it twice."},
        "json_create": {"redis_key": "doc:notes", "initial_json": {"seen": [1, 2.5, None, "ü"]}},
    }
    for tool, arguments in request.items():
        answer = calls.surely(tool, **arguments)
        assert answer["code"] == "ok", f"{tool}: {answer}"


if __name__ == "__main__":
    main()
