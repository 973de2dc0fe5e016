"""Makes the calls of a scenario by each interface: as a command, as a call of a tool, and by a method of the client.

A command's words and a method's arguments follow from the description of the verb. Those that have a form of their own
are written out here.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dcf.client import Client
from dcf.verbs.description.verb import VERBS, Command, Parameter, Verb
from interfaces.client_methods import method_of
from tests.support.scenario.calls import CALLS, Arguments
from tests.support.scenario.things import TASK, WORKER, Things

_JSON: Final = ("json", "object", "array", "rows", "records")
_REPEATED: Final = ("texts", "names", "several")

OWN_WORDS: Final[Mapping[str, Callable[[Things], list[str]]]] = {
    "dcf.cli.commands.lifecycle:notify": lambda at: [at.run],
    "dcf.cli.commands.starting:start": lambda at: [at.file("w.json", json.dumps(TASK)), "--assign", WORKER],
    "dcf.cli.features.artifacts:get": lambda at: [at.run, at.artifact],
    "dcf.cli.features.artifacts:put": lambda at: [
        at.run, at.file("a.md", "# Own"), "--type", "text", "--name", "a.md",
    ],
    "dcf.cli.features.journal:show": lambda at: [at.with_issue],
    "dcf.cli.features.schedules:create": lambda at: [
        f"s-{at.mark}", "--workflow", at.file("w.json", json.dumps(TASK)), "--every", "1d",
    ],
    "dcf.cli.features.usage:budget": lambda at: [at.run, "--tokens", "900"],
    "dcf.cli.features.webhooks:rotate": lambda at: [at.hook],
    "dcf.cli.reading.events:events": lambda at: [at.run],
    "dcf.cli.reading.runs:list_runs": lambda at: ["--project", at.with_run],
    "dcf.cli.reading.why:why": lambda at: [at.paused],
}  # fmt: skip
"""What is written behind the words of commands that take other arguments than their verbs, by their functions."""


def words_of(verb: Verb, command: Command, at: Things) -> list[str]:
    """Return what is written behind the command for what the scenario has for its verb."""
    if command.function is not None:
        return OWN_WORDS[command.function](at)
    arguments = CALLS[verb.name](at)
    sent = [
        (item, arguments[item.tool_name])
        for item in verb.parameters
        if item.name not in command.fixed and arguments.get(item.tool_name) is not None
    ]
    positional = [word for item, value in sent if not _is_option(command, item) for word in _texts(item, value, at)]
    options = [word for item, value in sent if _is_option(command, item) for word in _option(item, value, at)]
    return [*options, *(["--yes"] if command.question else []), "--", *positional]


def _is_option(command: Command, item: Parameter) -> bool:
    return item.name in command.assumes or (item.is_option and item.name not in command.positional)


def _option(item: Parameter, value: Any, at: Things) -> Iterator[str]:
    if isinstance(value, bool):
        yield item.option.partition("/")[0]
        return
    for text in _texts(item, value, at):
        yield from (item.option, text)


def _texts(item: Parameter, value: Any, at: Things) -> Iterator[str]:
    form = item.argument.form
    if form in _JSON:
        yield json.dumps(value)
    elif form in _REPEATED:
        yield from map(str, value)
    elif form == "value":
        yield at.file("value.md", value)
    elif form == "span":
        yield f"{value}s"
    else:
        yield str(value)


def record_of_tool(
    call: Callable[..., Mapping[str, Any]], verb: Verb, at: Things, command: Command | None = None
) -> dict[str, Any]:
    """Return the record of the answer of a tool, called as the command calls it."""
    fixed = {} if command is None else command.fixed
    sent = {item.tool_name: fixed[item.name] for item in verb.parameters if item.name in fixed}
    values = {name: value for name, value in {**CALLS[verb.name](at), **sent}.items() if value is not None}
    answer = call(verb.name, **values)
    assert answer["code"] == "ok", answer
    return {name: answer[name] for name in verb.record.__dataclass_fields__ if name in answer}


OWN_METHODS: Final[Mapping[str, Callable[[Client, Things], Any]]] = {
    "create_schedule": lambda client, at: client.create_schedule(f"s-{at.mark}", TASK, every_s=86_400),
    "find_work": lambda client, at: list(client.find_work(WORKER, workflow_id=at.run)),
    "notify_if_ready": lambda client, at: client.notify(at.run, "Only", reason="notify"),
    "put_artifact": lambda client, at: client.put_artifact(at.run, "# Own", name="a.md"),
    "release_state_lease": lambda client, at: client.release(at.held, "Only"),
    "start_run": lambda client, _: client.start(TASK, agents=WORKER),
    "validate_workflow": lambda client, _: client.validate(TASK),
}
"""How the client is called for verbs of which one use may take several calls."""


def answer_of_client(client: Client, verb: Verb, at: Things) -> Any:
    """Return the record that the client's method returns, or the list of the items of all pages."""
    own = OWN_METHODS.get(verb.name)
    if own is not None:
        return own(client, at)
    answer = getattr(client, method_of(verb))(**_in_python(verb, CALLS[verb.name](at)))
    return answer if verb.pages is None else list(answer)


def _in_python(verb: Verb, arguments: Arguments) -> dict[str, Any]:
    return {item.name: arguments[item.tool_name] for item in verb.parameters if item.tool_name in arguments}


def verbs() -> Mapping[str, Verb]:
    """Return the verbs that have a call in the scenario, by name."""
    return {name: VERBS[name] for name in sorted(VERBS) if name in CALLS}
