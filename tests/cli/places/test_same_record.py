"""A verb answers with the same record in every interface: the tool, the command with --json, and the client's method.

Each interface does the same to things of its own, made alike. Differences between things, such as ids and times,
is put aside before the records are compared. Names, units, statuses and all other values must be the same.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

import dcf
from dcf.application.application import Application
from dcf.cli.places.here import ToolsHere
from dcf.client import Client
from dcf.client.reading import read
from dcf.core.access.model import Scope
from dcf.errors import DcfError
from dcf.features.artifacts.records import KeptArtifact
from dcf.features.work.records import ListedWork
from dcf.tools.calling.client import ToolClient
from dcf.verbs.derived_tools import as_json
from dcf.verbs.description.table import TABLE
from dcf.verbs.description.verb import Verb
from tests.cli.conftest import Dcf
from tests.cli.places.conftest import KeyWith
from tests.support.scenario.calls import CALLS, UNCALLED
from tests.support.scenario.interfaces import answer_of_client, record_of_tool, verbs, words_of
from tests.support.scenario.records import differences, lost, steady
from tests.support.scenario.things import Things
from tests.support.tables import rows

VERBS: Final = verbs()

COMMANDS: Final = {
    command.name: (verb, command)
    for verb in VERBS.values()
    for command in verb.commands
    if command.function is None or command is verb.command
}
"""The commands, but for further ones that are a function of their own."""

RETURNED: Final[Mapping[str, tuple[Any, str]]] = {
    "put_artifact": (KeptArtifact, "artifact"),
    "describe_workflow_language": (str, "language"),
    "find_work": (ListedWork, "items"),
}
"""The members of answers that methods of the client return, and their types."""

RETURNED_OTHERWISE: Final = {
    "get_artifact": "In Python its content is bytes.",
    "notify_if_ready": "Its method is that of notify_next_worker_agent too, and returns that record.",
    "read_run_events": "In Python `data` has the fields that depend on the type of an event.",
}

PRINTED: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "list_runs": lambda record: record["runs"],
    "put_artifact": lambda record: {**record["artifact"], "existed": record["existed"]},
    "read_journal": lambda record: record["entries"],
    "read_run_events": lambda record: record["events"],
}
"""The part of a record that a command prints with a function of its own."""

PRINTED_OTHERWISE: Final = {
    "get_artifact": "Its content is Base64 always, so that JSON can have any file.",
    "notify_next_worker_agent": "Its command is that of notify_if_ready too, and prints a row for each agent.",
}

LINES: Final = ("read_journal", "read_run_events")
"""Verbs whose commands print an item to a line."""


def _names_a_run(verb: Verb) -> bool:
    return any(item.name == "workflow_id" and item.is_required for item in verb.parameters)


@pytest.fixture
def key(key_with: KeyWith) -> str:
    """A key that may do everything."""
    return key_with(*Scope)


@pytest.fixture
def tools(url: str, key: str) -> Iterator[ToolClient]:
    client = ToolClient(url, 0.0, api_key=key)
    yield client
    client.close()


@pytest.fixture
def client(url: str, key: str) -> Iterator[Client]:
    with dcf.connect(url, api_key=key) as connected:
        yield connected


@pytest.fixture
def things(site: Application, tmp_path: Path) -> Callable[[], Things]:
    """Make things for one interface."""
    return lambda: Things(ToolsHere(site).call, tmp_path)


def test_every_verb_is_called_but_a_few() -> None:
    assert CALLS.keys() | UNCALLED.keys() == TABLE.keys()
    assert not CALLS.keys() & UNCALLED.keys()
    assert len(UNCALLED) <= 4
    assert len(RETURNED_OTHERWISE) + len(PRINTED_OTHERWISE) <= 5


@rows("name", [name for name in VERBS if name not in RETURNED_OTHERWISE])
def test_the_client_returns_the_record_of_the_tool(
    tools: ToolClient, client: Client, things: Callable[[], Things], name: str
) -> None:
    verb = VERBS[name]
    kind, member = RETURNED.get(name) or ((verb.record, None) if verb.pages is None else (verb.item, verb.pages))
    at, other = things(), things()
    record = record_of_tool(tools.call, verb, at)
    answer = record if member is None else record[member]
    returned = steady(as_json(answer_of_client(client, verb, other)), other)
    result = [*lost(steady(answer, at), returned), *differences(returned, steady(in_python(kind, answer), at))]
    assert not result, "\n".join(result)


@rows("name", [name for name, (verb, _) in COMMANDS.items() if verb.name not in PRINTED_OTHERWISE])
def test_the_command_prints_the_record_of_the_tool(
    dcf_away: Dcf, url: str, key: str, tools: ToolClient, things: Callable[[], Things], name: str
) -> None:
    verb, command = COMMANDS[name]
    at, other = things(), things()
    record = steady(record_of_tool(tools.call, verb, at, command), at)
    site = {"DCF_SERVER_URL": url, "DCF_API_KEY": key, "REDIS_URL": ""}
    done = dcf_away(*name.split(), "--json", *words_of(verb, command, other), **site)
    assert done.exit_code == 0, done.output
    printed = list(map(json.loads, done.stdout.splitlines())) if verb.name in LINES else json.loads(done.stdout)
    part = PRINTED.get(verb.name, lambda record: dict.fromkeys(verb.record.__dataclass_fields__) | record)
    result = list(differences(steady(printed, other), part(record)))
    assert not result, "\n".join(result)


@rows("name", [name for name, verb in VERBS.items() if _names_a_run(verb)])
def test_a_refusal_has_the_same_code_in_every_interface(
    dcf_away: Dcf, url: str, key: str, tools: ToolClient, client: Client, things: Callable[[], Things], name: str
) -> None:
    verb, at = VERBS[name], things()
    forget(at, str(CALLS[name](at)["workflow_id"]))
    code = code_of(lambda: tools.call(name, **CALLS[name](at))["code"])
    assert code == ("ok" if name == "delete_run" else "unknown_run"), "what is gone need not be deleted"
    assert code_of(lambda: answer_of_client(client, verb, at)) == code
    site = {"DCF_SERVER_URL": url, "DCF_API_KEY": key, "REDIS_URL": ""}
    for command in verb.commands:
        done = dcf_away(*command.name.split(), *words_of(verb, command, at), **site)
        match = re.match(r"dcf: (\w+):", done.stderr)
        assert ("ok" if match is None else match[1], command.name) == (code, command.name)


def forget(at: Things, run: str) -> None:
    """Have things name a run that is not there in place of this one."""
    vars(at).update({name: "no-such-run" for name, made in vars(at).items() if made == run})


def code_of(call: Callable[[], Any]) -> str:
    """Return the code with which a call is refused, or of its answer."""
    try:
        answer = call()
    except DcfError as refused:
        return refused.code
    return answer if isinstance(answer, str) else "ok"


def in_python(kind: Any, answer: Any) -> Any:
    """Return an answer with what the records of the client have where the answer has nothing."""
    if kind is str:
        return answer
    return [in_python(kind, item) for item in answer] if isinstance(answer, list) else as_json(read(kind, answer))
