"""Commands on a server over HTTP, by URL and key: they do and say what they do on the control plane of this machine."""

import getpass
import json
from pathlib import Path

import pytest

from benchmarks.imports import imported
from dcf.core.access.model import Scope
from dcf.core.documents.model import RunStatus, Status
from dcf.verbs.description.table import TABLE
from tests.cli.conftest import Dcf, Seed
from tests.cli.places.conftest import NOWHERE, KeyWith
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.world import World

CHANGES = {
    "pause": ("runs", "pause", "RUN", "--reason", "lunch"),
    "resume": ("runs", "resume", "RUN"),
    "cancel": ("cancel", "RUN", "--yes"),
    "resolve": ("states", "resolve", "RUN", "Only", "--output", '{"by": "hand"}', "--yes"),
    "notify": ("runs", "notify", "RUN"),
    "notify again": ("runs", "notify", "RUN", "Only"),
    "assign": ("states", "resolve", "RUN", "Only", "--assign", "a", "--assign", "b"),
}
REFUSALS = {
    "no run": ("cancel", "no-such-run", "--yes"),
    "no state": ("states", "resolve", "RUN", "Nobody", "--skip", "--yes"),
    "contradiction": ("states", "resolve", "RUN", "Only", "--skip", "--error", "E", "--yes"),
    "no id": ("runs", "pause", "no id"),
    "nobody to ask": ("cancel", "RUN"),
}


def on(run: str, arguments: tuple[str, ...]) -> list[str]:
    return [run if argument == "RUN" else argument for argument in arguments]


@rows("name", CHANGES)
def test_the_same_command_has_the_same_answer_here_and_at_a_server(
    dcf_at_server: Dcf, dcf: Dcf, seed: Seed, name: str
) -> None:
    here, there = seed("given", agent="agent-1"), seed("given", agent="agent-1")
    answers = [
        dcf(*on(here, CHANGES[name]), "--json", "--context", "local"),
        dcf_at_server(*on(there, CHANGES[name]), "--json", "--context", "prod", REDIS_URL=NOWHERE),
    ]
    assert [answer.exit_code for answer in answers] == [0, 0], answers[1].stderr
    ours, theirs = (json.loads(answer.stdout) for answer in answers)
    for varies in ("workflow_id", "paused_at") if isinstance(ours, dict) else ():
        assert (ours.pop(varies, None) is None) == (theirs.pop(varies, None) is None)
    assert ours == theirs


@rows("name", CHANGES)
def test_people_read_the_same_sentences_here_and_at_a_server(
    dcf_at_server: Dcf, dcf: Dcf, seed: Seed, name: str
) -> None:
    here, there = seed("given", agent="agent-1"), seed("given", agent="agent-1")
    ours = dcf(*on(here, CHANGES[name]), "--context", "local").stdout.replace(here, "RUN")
    theirs = dcf_at_server(*on(there, CHANGES[name]), REDIS_URL="").stdout.replace(there, "RUN")
    assert theirs
    assert theirs == ours.replace("dcf --context local ", "dcf ")


@rows("name", REFUSALS)
def test_the_same_command_is_refused_in_the_same_way_here_and_at_a_server(
    dcf_at_server: Dcf, dcf: Dcf, seed: Seed, name: str
) -> None:
    run = seed("given", agent="agent-1")
    ours = dcf(*on(run, REFUSALS[name]), "--context", "local")
    theirs = dcf_at_server(*on(run, REFUSALS[name]), REDIS_URL="")
    assert (theirs.exit_code, theirs.stdout) == (ours.exit_code, "")
    assert theirs.exit_code in {2, 3}
    assert theirs.stderr == ours.stderr.replace("dcf --context local ", "dcf ")


def test_an_operator_with_a_url_and_a_key_in_the_environment_needs_no_context(
    dcf_away: Dcf, url: str, key_with: KeyWith, seed: Seed, world: World
) -> None:
    run, site = seed(agent="agent-1"), {"DCF_SERVER_URL": url, "DCF_API_KEY": key_with(Scope.PLAN)}
    assert dcf_away("runs", "pause", run, **site).exit_code == 0
    assert dcf_away("runs", "resume", run, **site).exit_code == 0
    assert dcf_away("states", "resolve", run, "Only", "--skip", "--yes", **site).exit_code == 0
    assert world.doc(run, "Only").status is Status.SUCCEEDED


def test_the_history_names_the_key_that_did_it(dcf_at_server: Dcf, dcf: Dcf, seed: Seed, world: World) -> None:
    run = seed(agent="agent-1")
    dcf_at_server("cancel", run, "--yes", REDIS_URL="")
    assert world.run_status(run) is RunStatus.CANCELLED
    assert [event.by for event in world.events(run)][-1] not in {None, "local"}


@rows("name", ["REDIS_URL", "DCF_DATA_DIR"])
def test_a_redis_within_reach_is_not_touched_by_a_command_at_a_server(
    dcf_at_server: Dcf, seed: Seed, tmp_path: Path, name: str
) -> None:
    wrong = {"REDIS_URL": NOWHERE, "DCF_DATA_DIR": "/dev/null/nowhere"}[name]
    assert dcf_at_server("runs", "pause", seed(agent="agent-1"), "--context", "prod", **{name: wrong}).exit_code == 0


def test_a_command_at_a_server_loads_no_redis_client_no_store_and_no_application(
    tmp_path: Path, url: str, key_with: KeyWith, seed: Seed
) -> None:
    site = {"DCF_SERVER_URL": url, "DCF_API_KEY": key_with(Scope.PLAN)}
    modules = imported(tmp_path, "cancel", seed(agent="agent-1"), "--yes", **site).modules
    assert "dcf.tools.calling.client" in modules
    heavy = ("redis", "mcp", "mcp_types", "starlette", "uvicorn", "jsonschema", "letta_client")
    assert not {name for name in modules if name.split(".")[0] in heavy}
    rooms = tuple(f"dcf.{room}" for room in ("store", "application", "settings", "runs.", "adapters"))
    assert not {name for name in modules if name.startswith(rooms)} - {"dcf.runs.views", "dcf.runs.views.inner_states"}


def test_a_command_here_imports_no_verb_but_its_own(tmp_path: Path, server: RestrictedRedis, seed: Seed) -> None:
    modules = imported(tmp_path, "cancel", seed(agent="agent-1"), "--yes", REDIS_URL=server.url).modules
    described = {row.module for row in TABLE.values()}
    assert modules & described == {"dcf.tools.verbs.lifecycle"}
    assert "dcf.tools.mcp.selection" not in modules


def test_a_server_that_is_not_there_is_said_in_one_sentence(dcf_away: Dcf, seed: Seed) -> None:
    dcf_away("context", "add", "prod", "--url", "http://127.0.0.1:1")
    refused = dcf_away("runs", "pause", "some-run", "--context", "prod")
    assert refused.exit_code == 4
    expected = "server_unreachable: The server of context prod (http://127.0.0.1:1/mcp) does not answer."
    assert expected in " ".join(refused.stderr.split())


@rows(
    ("key", "sentence"),
    [
        ("", "wants an API key: none was sent."),
        ("dcf_000000000000_" + "x" * 43, "wants an API key: the key that was sent is wrong, expired or revoked."),
    ],
    ids=["missing", "wrong"],
)
def test_a_caller_without_a_good_key_is_refused_and_told_where_it_belongs(
    dcf_away: Dcf, url: str, key: str, sentence: str
) -> None:
    dcf_away("context", "add", "prod", "--url", url, "--replace", stdin=key)
    refused = dcf_away("runs", "pause", "some-run", "--context", "prod")
    assert refused.exit_code == 4
    text = " ".join(refused.stderr.split())
    assert f"unauthorized: The server of context prod ({url}) {sentence}" in text
    assert ("prod.key" if key else "dcf context add prod --replace") in text
    assert not key or key not in refused.output
    missing = dcf_away("runs", "pause", "some-run", DCF_SERVER_URL=url, DCF_API_KEY=key)
    assert missing.exit_code == 4
    assert f"The server {url} {sentence} Set DCF_API_KEY" in " ".join(missing.stderr.split())


def test_a_key_without_the_scope_is_refused_and_the_scope_is_named(
    dcf_away: Dcf, url: str, key_with: KeyWith, seed: Seed, world: World
) -> None:
    run = seed(agent="agent-1")
    refused = dcf_away("cancel", run, "--yes", DCF_SERVER_URL=url, DCF_API_KEY=key_with(Scope.WORK))
    assert refused.exit_code == 4
    assert "forbidden: `dcf cancel RUN` needs the scope 'plan'." in refused.stderr
    assert world.run_status(run) is RunStatus.RUNNING


def test_a_page_that_is_no_server_of_dcf_is_refused(dcf_away: Dcf, url: str) -> None:
    refused = dcf_away("runs", "pause", "some-run", DCF_SERVER_URL=url.replace("/mcp", "/nowhere"))
    assert refused.exit_code == 1
    assert "404 Not Found" in refused.stderr
    assert "Check that the server is dcf's" in " ".join(refused.stderr.split())


def test_a_question_before_something_is_destroyed_names_the_context(
    dcf_at_server: Dcf, dcf: Dcf, seed: Seed, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.cli.asking.can_ask", lambda: True)
    run = seed(agent="agent-1")
    finished = dcf_at_server("cancel", run, REDIS_URL="", stdin="n\n")
    assert "What its agents work on is lost. (context prod) [y/N]" in finished.stderr
    assert world.run_status(run) is RunStatus.RUNNING
    here = dcf("cancel", run, stdin="n\n")
    assert "What its agents work on is lost. [y/N]" in here.stderr


def test_what_is_to_be_pasted_next_works_on_the_same_place(dcf_at_server: Dcf, seed: Seed) -> None:
    run = seed(agent="agent-1")
    assert f"`dcf --context prod runs resume {run}`" in dcf_at_server("runs", "pause", run, "--context", "prod").stdout
    assert f"`dcf runs resume {run}`" in dcf_at_server("runs", "pause", run, REDIS_URL="").stdout


def test_an_artifact_is_put_and_read_at_a_server_as_here(
    dcf_at_server: Dcf, dcf: Dcf, seed: Seed, tmp_path: Path
) -> None:
    file, data = tmp_path / "report.bin", bytes(range(256)) * 200
    file.write_bytes(data)
    run = seed(agent="agent-1")
    put = dcf_at_server("artifacts", "add", run, file, REDIS_URL="")
    assert put.exit_code == 0, put.stderr
    key_with = put.stdout.strip()
    assert dcf("artifacts", "add", run, file, "--context", "local").stdout.strip() == key_with
    read = dcf_at_server("artifacts", "show", run, key_with, REDIS_URL="")
    assert read.exit_code == 0, read.stderr
    assert read.stdout_bytes == data
    assert dcf_at_server("artifacts", "show", run, "nothing", REDIS_URL="").exit_code == 3


def test_nobody_is_named_at_a_server_who_was_not(dcf_at_server: Dcf, dcf: Dcf, seed: Seed) -> None:
    """Here the user of the machine is meant, and there the caller that the key stands for."""
    user = getpass.getuser()
    assert _resolver(dcf, dcf, seed) == user
    assert _resolver(dcf_at_server, dcf, seed, REDIS_URL="") not in {None, user}


def _resolver(place: Dcf, here: Dcf, seed: Seed, **at: str) -> str:
    """Return whom the journal names for an issue that was resolved without --as."""
    run = seed(agent="agent-1")
    added = here("journal", "add", run, "issue", "It hangs.", "--json")
    assert added.exit_code == 0, added.stderr
    done = place("journal", "resolve", run, json.loads(added.stdout)["entry"], "--how", "It is mended.", **at)
    assert done.exit_code == 0, done.stderr
    (issue,) = [json.loads(line) for line in here("journal", "ls", run, "--json").stdout.splitlines()]
    return str(issue["resolved"]["by"])


@rows("state", [(), ("Only",)])
def test_a_state_without_an_agent_is_said_alike_here_and_at_a_server(
    dcf_at_server: Dcf, dcf: Dcf, world: World, state: tuple[str, ...]
) -> None:
    document = {"workflow_name": "S", "asl": {"StartAt": "Only", "States": {"Only": {"Type": "Task", "End": True}}}}
    for place, at in ((dcf, {}), (dcf_at_server, {"REDIS_URL": ""})):
        wish = world.wish(document, agents={})
        world.plane.create(wish)
        place("runs", "notify", wish.workflow_id, **at)
        expected = "Only: no agent is notified: no agent is assigned to it.\n"
        assert place("runs", "notify", wish.workflow_id, *state, **at).stdout == expected


def test_the_project_of_a_context_is_meant_where_none_is_given(
    dcf_at_server: Dcf, url: str, key_with: KeyWith, world: World, tmp_path: Path
) -> None:
    (tmp_path / "w.json").write_text('{"StartAt": "A", "States": {"A": {"Type": "Task", "End": true}}}')
    key = key_with(Scope.WORK, Scope.PLAN)
    dcf_at_server("context", "add", "mart", "--url", url, "--project", "mart", stdin=key)
    at: dict[str, str] = {"DCF_CONTEXT": "mart", "REDIS_URL": ""}
    run = dcf_at_server("start", tmp_path / "w.json", **at).stdout.split()[0]
    assert world.meta(run)["project"] == "mart"
    other = dcf_at_server("start", tmp_path / "w.json", "--project", "shop", **at).stdout.split()[0]
    assert world.meta(other)["project"] == "shop"
    add = ("findings", "add", "Slow", "It is slow.", "--json")
    scopes = [dcf_at_server(*add, *more, **at) for more in ((), ("--scope", "global"))]
    assert [json.loads(done.stdout)["finding"]["project"] for done in scopes] == ["mart", None]
    assert dcf_at_server("runs", "usage", run, **at).exit_code == 0
