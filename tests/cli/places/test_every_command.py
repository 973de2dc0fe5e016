"""Every command, those of README and docs too, works at a server by URL and key, where no Redis is within reach.

`tests/pages/test_pages.py` has it that every command of a page exists. Here each command that exists is called, or
stands among those that need this machine.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from dcf.application.application import Application
from dcf.cli import command_table
from dcf.cli.places.here import ToolsHere
from dcf.core.access.model import Scope
from dcf.verbs.description.verb import VERBS
from tests.cli.conftest import Dcf
from tests.cli.places.conftest import KeyWith
from tests.cli.test_json_everywhere import COMMANDS
from tests.support.collector import collecting
from tests.support.paths import ROOT
from tests.support.scenario.interfaces import words_of
from tests.support.scenario.things import TASK, Things
from tests.support.tables import rows

HERE: Final = {
    "dcf.cli.commands.audit": "The trail is for the operator of the server: no key reads what keys did.",
    "dcf.cli.commands.keys": "A stolen key must not make other keys.",
    "dcf.cli.commands.store": "It moves the documents of a Redis that no process uses.",
    "dcf.cli.features.project_files": "It reads the files of this machine and writes their index into Redis.",
    "dcf.cli.processes": "It starts a process on this machine.",
    "dcf.cli.running": "It starts a server and workers on this machine.",
}
"""The modules of commands that need this machine, and why; `test_this_machine` has it that they refuse a server."""

CONTEXTS: Final = "dcf.cli.commands.contexts"
"""The commands on contexts call no server; `test_context_commands` tests them."""

FLOW: Final = """
from dcf import flow, task

@task
def double(n: int) -> int:
    return 2 * n

@flow
def twice(n: int) -> int:
    return double(n)
"""
SKILLS: Final = str(ROOT / "skills_src")
RULE: Final = "---\nglobs: ['*.py']\n---\nType it.\n"

OWN: Final[Mapping[str, Callable[[Things], list[str]]]] = {
    "dcf.cli.commands.compiling:compile_file": lambda at: [at.file("flow.py", FLOW)],
    "dcf.cli.commands.init:init": lambda at: [str(at.folder / "new")],
    "dcf.cli.commands.skills:generate": lambda at: [SKILLS, "--out", str(at.folder / "out")],
    "dcf.cli.commands.skills:list_skills": lambda _: [],
    "dcf.cli.commands.skills:validate": lambda _: [SKILLS],
    "dcf.cli.features.catalogue:load": lambda at: [str(Path(at.file("all/rules/good.md", RULE)).parents[1])],
    "dcf.cli.features.retention:prune": lambda at: ["--older-than", "30d", "--workflow", f"w-{at.mark}", "--yes"],
    "dcf.cli.reading.export:export": lambda at: [at.run],
    "dcf.cli.reading.graphs:graph": lambda at: [at.run],
    "dcf.cli.reading.language:language": lambda _: [],
    "dcf.cli.reading.language:simulate": lambda at: [at.file("w.json", json.dumps(TASK))],
    "dcf.cli.reading.language:validate": lambda at: [at.file("w.json", json.dumps(TASK))],
    "dcf.cli.commands.reference:tools": lambda _: [],
    "dcf.cli.reading.show:doctor": lambda _: [],
    "dcf.cli.reading.show:show": lambda at: [at.run],
    "dcf.cli.reading.timelines:show_timeline": lambda at: [at.run],
    "dcf.cli.reading.top:top": lambda _: ["--once"],
    "dcf.cli.reading.traces:trace": lambda at: [at.ended],
    "dcf.cli.reading.watch:watch": lambda at: [at.ended],
}
"""What is written behind the words of commands that are not derived from a verb, by their functions."""


def function_of(path: tuple[str, ...]) -> str:
    """The function that a command is."""
    callback: Any = COMMANDS[path]
    return f"{callback.callback.__module__}:{callback.callback.__name__}"


VERB_OF: Final = {tuple(row.full_name.split()): row.verb for row in command_table.rows() if row.verb is not None}
REMOTE: Final = [path for path in COMMANDS if path in VERB_OF or not function_of(path).startswith((*HERE, CONTEXTS))]

CODES: Final = {"dcf.cli.reading.show:doctor": {0, 1}}
"""Exit codes: no clock looks at the Redis of this server, which is a fault where runs are live."""


@pytest.fixture
def away(dcf_away: Dcf, url: str, key_with: KeyWith) -> Iterator[Dcf]:
    """Call `dcf` with a server and a key that may do everything in the environment."""
    with collecting() as collector:
        more = {"REDIS_URL": "", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        yield partial(dcf_away, DCF_SERVER_URL=url, DCF_API_KEY=key_with(*Scope), **more)


@rows("path", REMOTE, ids=" ".join)
def test_a_command_works_at_a_server_by_url_and_key(
    away: Dcf, site: Application, tmp_path: Path, path: tuple[str, ...]
) -> None:
    at = Things(ToolsHere(site).call, tmp_path)
    done = away(*path, *words(path, at))
    assert done.exit_code in CODES.get(function_of(path), {0}), done.output
    assert done.output
    assert not (tmp_path / "data").exists(), "it started a Redis of its own"


def words(path: tuple[str, ...], at: Things) -> list[str]:
    """The words behind those that name a command."""
    name = VERB_OF.get(path)
    if name is None:
        return OWN[function_of(path)](at)
    verb = VERBS[name]
    return words_of(verb, next(command for command in verb.commands if command.name == " ".join(path)), at)
