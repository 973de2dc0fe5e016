"""Commands that read, at a server by URL and key: they print what they print on the control plane of this machine."""

import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import Result

from benchmarks.imports import imported
from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import ServerUnreachable
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry, EntryAdded
from dcf.tools.calling.client import ToolClient
from tests.cli.conftest import Dcf, Seed
from tests.cli.places.conftest import KeyWith
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

HEAVY = {"redis", "mcp", "mcp_types", "starlette", "uvicorn", "jsonschema", "letta_client"}


@pytest.fixture
def run(seed: Seed, world: World) -> str:
    """A run that waits for an agent, with two entries in its journal."""
    run = seed("given", agent="agent-1", name="Waiting")
    for kind, text in ((EntryKind.LOG, "I began."), (EntryKind.ISSUE, "Which currency?")):
        wish = AddEntry(kind=kind, text=text, agent="agent-1", key=text, state="Only")
        assert isinstance(world.journal.add_journal_entry(run, wish), EntryAdded)
    return run


_NOW = re.compile(r"\b\d\d:\d\d:\d\dZ|20\d\d-\d\d-\d\d[T ][0-9:.]+Z?|\b\d+(\.\d+)? m?s\b")


def both(dcf: Dcf, dcf_at_server: Dcf, *arguments: str) -> tuple[Result, Result]:
    """Return what a command says on this machine and at the server, where the place is chosen in the same way."""
    here = dcf(*arguments, DCF_CONTEXT="local")
    return here, dcf_at_server(*arguments, REDIS_URL="")


SAME = {
    "list": ("ls", "--limit", "3"),
    "list of one workflow": ("ls", "--workflow", "Waiting", "--since", "2026-01-01T00:00:00Z", "--limit", "1"),
    "list as JSON": ("ls", "--json", "--limit", "5"),
    "page as JSON": ("ls", "--json", "--cursor", "0", "--workflow", "Waiting"),
    "stuck ones": ("ls", "--stuck"),
    "no such status": ("ls", "--status", "lost"),
    "no cursor": ("ls", "--cursor", "?"),
    "events": ("runs", "events", "RUN"),
    "events as JSON": ("runs", "events", "RUN", "--json", "--limit", "2"),
    "some events": ("runs", "events", "RUN", "--newest", "--type", "StateEntered", "--state", "Only", "--since", "1h"),
    "events after one": ("runs", "events", "RUN", "--cursor", "1-0", "--until", "0m"),
    "events of no run": ("runs", "events", "no-such-run"),
    "journal": ("journal", "RUN"),
    "journal as JSON": ("journal", "ls", "RUN", "--json", "--newest", "--limit", "1", "--since", "2026-01-01T00:00Z"),
    "journal as a page": ("journal", "RUN", "--markdown", "--open", "--state", "Only", "--agent", "agent-1"),
    "issues": ("journal", "RUN", "--kind", "issue"),
    "journal of no run": ("journal", "no-such-run"),
    "journal of no state": ("journal", "RUN", "--state", "Nobody"),
    "graph": ("graph", "RUN"),
    "graph as JSON": ("graph", "RUN", "--json"),
    "graph of no run": ("graph", "no-such-run"),
    "timeline": ("timeline", "RUN", "--json"),
    "timeline of no run": ("timeline", "no-such-run"),
    "export of no run": ("export", "no-such-run"),
    "report": ("export", "RUN", "--markdown"),
    "picture": ("export", "RUN", "--as", "svg"),
    "page": ("export", "RUN", "--html"),
    "runs and agents": ("top", "--once"),
    "runs and agents as JSON": ("top", "--json"),
    "trace of no run": ("trace", "export", "no-such-run"),
    "events of no id": ("events", "no id"),
    "run": ("show", "RUN"),
    "run as JSON": ("show", "RUN", "--json"),
    "no run": ("show", "no-such-run"),
    "nothing to watch": ("watch", "no-such-run"),
    "skills": ("skills", "list", "--json"),
}


@rows("name", SAME)
def test_people_and_programs_read_the_same_here_and_at_a_server(
    dcf_at_server: Dcf, dcf: Dcf, run: str, name: str
) -> None:
    here, there = both(dcf, dcf_at_server, *(run if word == "RUN" else word for word in SAME[name]))
    assert there.exit_code == here.exit_code
    assert [steady(there.stdout), steady(there.stderr)] == [steady(here.stdout), steady(here.stderr)]
    assert here.output


def steady(text: str) -> str:
    """Return what is printed without the time of looking, and without the counts, which are near."""
    return re.sub(r"; in all [^.]*\.", ".", re.sub(" +", " ", _NOW.sub("NOW", text)))


LOADING = [
    "ls",
    "runs events RUN",
    "journal ls RUN",
    "graph RUN",
    "runs timeline RUN",
    "runs export RUN",
    "runs export RUN --html",
    "runs top --once",
    "show RUN",
    "watch ENDED",
    "skills ls",
]


@rows("command", LOADING)
def test_what_reads_at_a_server_loads_no_redis_client_and_no_store(
    tmp_path: Path, url: str, key_with: KeyWith, seed: Seed, run: str, command: str
) -> None:
    runs = {"RUN": run, "ENDED": seed()}
    words = [runs.get(word, word) for word in command.split()]
    modules = imported(tmp_path, *words, DCF_SERVER_URL=url, DCF_API_KEY=key_with(Scope.READ)).modules
    assert "dcf.tools.calling.client" in modules
    assert not {name for name in modules if name.split(".")[0] in HEAVY}
    assert not {name for name in modules if name.startswith(("dcf.store", "dcf.application", "dcf.settings"))}


def test_what_is_followed_at_a_server_ends_with_the_run(dcf_at_server: Dcf, seed: Seed, world: World) -> None:
    run = seed("given", agent="agent-1")
    pauses: list[float] = []

    def pass_time(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            world.do(run, "Only", "agent-1")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcf.cli.reading.events.time", SimpleNamespace(sleep=pass_time, time_ns=time.time_ns))
        followed = dcf_at_server("runs", "events", run, "--follow", "--json", REDIS_URL="")
    types = [json.loads(line)["type"] for line in followed.stdout.splitlines()]
    assert types == world.event_types(run)
    assert "RunSucceeded" in types


def test_a_run_is_watched_at_a_server_until_it_is_over(dcf_at_server: Dcf, seed: Seed, world: World) -> None:
    run = seed("given", agent="agent-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcf.cli.reading.watch.time", SimpleNamespace(sleep=lambda _: world.do(run, "Only", "agent-1")))
        watched = dcf_at_server("watch", run, REDIS_URL="")
    assert watched.exit_code == 0, watched.stderr
    first, last = watched.stdout.splitlines()[0], watched.stdout.splitlines()[2]
    assert first == f"run {run}: 1 state"
    assert last.startswith("run succeeded, 1 of 1 state")


def test_watching_says_that_the_server_does_not_answer_and_goes_on(
    dcf_at_server: Dcf, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, calls, call = seed("given"), [0], ToolClient.call

    def fails_at_first(self: ToolClient, tool: str, **arguments: object) -> dict[str, Any]:
        calls[0] += 1
        if calls[0] < 3:
            raise ServerUnreachable("Nobody listens.")
        return call(self, tool, **arguments)

    monkeypatch.setattr(ToolClient, "call", fails_at_first)
    watched = dcf_at_server("watch", run, REDIS_URL="")
    assert watched.exit_code == 0
    assert watched.stdout.count("waiting: The server") + watched.stderr.count("waiting: The server") == 1
    assert "continuing: the server answers again." in watched.output


def test_the_health_of_a_server_is_shown_to_a_key_that_may_see_it(dcf_away: Dcf, url: str, key_with: KeyWith) -> None:
    site = {"DCF_SERVER_URL": url, "REDIS_URL": ""}
    report = json.loads(dcf_away("doctor", "--json", **site, DCF_API_KEY=key_with(Scope.OPERATE)).stdout)
    assert {check["topic"] for check in report["checks"]} > {"redis", "memory", "clock", "lists"}
    refused = dcf_away("doctor", **site, DCF_API_KEY=key_with())
    assert (refused.exit_code, "needs the scope 'operate'" in refused.stderr) == (4, True)


def test_a_key_of_a_project_lists_its_runs_and_is_told_no_counts(
    dcf_away: Dcf, site: Application, url: str, run: str, world: World
) -> None:
    world.create(chain("A"), project="shop")
    key = site.keys.create((Scope.READ,), agent_id=None, label=None, life_s=None, project="shop").text
    listed = dcf_away("ls", DCF_SERVER_URL=url, DCF_API_KEY=key)
    assert len(listed.stdout.splitlines()) == 2
    assert run not in listed.stdout
    assert listed.stderr == "dcf: 1 of 1 run.\n"


@pytest.mark.usefixtures("run")
def test_the_project_of_a_context_is_the_one_that_is_listed(dcf_at_server: Dcf, url: str, key_with: KeyWith) -> None:
    dcf_at_server("context", "add", "shop", "--url", url, "--project", "no-runs", stdin=key_with(Scope.READ))
    assert dcf_at_server("ls", "--context", "shop", REDIS_URL="").stdout == "No run is like that.\n"


def test_a_page_of_the_list_goes_on_at_the_server(dcf_at_server: Dcf, seed: Seed) -> None:
    made = [seed(name="Paged") for _ in range(3)]
    first = dcf_at_server("ls", "--workflow", "Paged", "--limit", 2, "--context", "prod", REDIS_URL="")
    words = first.stderr.split("Older ones: dcf ")[1].split()
    assert words[:5] == ["--context", "prod", "ls", "--workflow", "Paged"]
    assert json.loads(dcf_at_server(*words, "--json", REDIS_URL="").stdout)["runs"][0]["workflow_id"] in made
