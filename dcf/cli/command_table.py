"""The table of the commands of `dcf`: the function and the first words of the help of each, and the nouns.

The commands of every day are words alone. Each of the others is a noun and what is done with it: `dcf runs pause`. The
same word does the same with every noun: `ls` lists, `show` reads what is named, `add` makes it, `delete` ends it.

`dcf --help` prints this table, and a command imports its own module only (`command_group`). A new command needs an
entry here, or a description of its verb; `make verbs` then reads what help says of it.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple, cast

import typer
from typer.core import TyperCommand
from typer.main import get_command

from dcf.verbs.description.table import COMMANDS, SUMMARIES

DAILY: Final[Mapping[str, str]] = {
    "run": "Run a workflow here, with a server and a worker for all Tasks",
    "start": "Start a run and return: its agents do the work",
    "ls": "List runs, newest first; those that are stuck stand before",
    "show": "Show where a run stands, state by state",
    "why": "Explain why a run, or a state of it, does not move, and what helps",
    "watch": "Watch a run until it ends",
    "cancel": "End a run at once",
    "retry": "Continue a run that failed, timed out or was cancelled",
    "approve": "Answer a task of a run with approve",
    "inbox": "List what waits for people: tasks, questions, gates",
    "init": "Make a directory with a new workflow and its tests",
    "validate": "Check a workflow without running it",
    "compile": "Print the workflow document that a flow becomes",
    "graph": "Draw a workflow, or a run with how its states stand",
    "simulate": "Run a workflow with mocked Tasks and virtual time",
    "serve": "Serve the MCP tools, on standard input and output or over HTTP",
    "worker": "Serve Python functions for states",
    "host": "Run agents that have no server of their own",
    "web": "Serve the web page: runs, agents, what waits for people",
    "doctor": "Check how dcf is: Redis, clock, agents, lists",
}
"""The commands of one word, in the order in which help lists them, with what it says of each on a line."""


class Noun(NamedTuple):
    """The subject of several commands: a line of help, further help, and the fields of an answer that are its ids."""

    line: str
    more: str = ""
    ids: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The help of the noun."""
        return f"{self.line}.{self.more and ' '}{self.more}"


NOUNS: Final[Mapping[str, Noun]] = {
    "runs": Noun(
        "Operate runs and read them: events, usage, export, search",
        "The daily commands on runs have no noun: dcf run, start, ls, show, why, watch, cancel, retry.",
        ids=("workflow_id",),
    ),
    "states": Noun(
        "Work on runs: resolve, release, correct, add units",
        "A state is one step of a run; a unit is one of a run that grows.",
        ids=("workflow_id", "state"),
    ),
    "tasks": Noun(
        "Questions to people and planners: reject, answer, ask, reply",
        "`dcf inbox` lists them, `dcf approve` approves a task.",
        ids=("workflow_id", "state"),
    ),
    "gates": Noun("Outputs that wait for a verdict before they count", ids=("workflow_id", "state")),
    "journal": Noun("Notes of agents and people about a run", ids=("entry",)),
    "artifacts": Noun(
        "Files that a run keeps: immutable, with type, size and SHA-256",
        "Each says where it came from.",
        ids=("artifact_id",),
    ),
    "schedules": Noun(
        "Start runs of a workflow by the time",
        "By a cron expression, or every so often. Each tick starts one run, however many servers and clocks there are;"
        " some `dcf serve` or `dcf store pulse` must run.",
        ids=("name",),
    ),
    "findings": Noun(
        "Lessons of runs that outlive them",
        "Each is kept once, found by words, superseded by a better one.",
        ids=("finding_id",),
    ),
    "catalogue": Noun(
        "Definitions for agents: workflows, jobs, personas, rules, templates",
        "In versions with hashes.",
        ids=("kind", "name"),
    ),
    "projects": Noun(
        "Projects of runs: a name, directories, git facts",
        "`dcf ls --project ID` lists the runs of one.",
        ids=("project",),
    ),
    "accounts": Noun(
        "Usage limits, budgets and prices that agents share",
        "An account is a subscription, an API key or an organisation at a provider (docs/agents/accounts.md).",
        ids=("account",),
    ),
    "workflows": Noun(
        "Write workflows: the language, stub tools",
        "`dcf init` makes a directory with a new one, `dcf run` runs it here.",
    ),
    "skills": Noun("Write and look at skills", ids=("manifestId",)),
    "agents": Noun(
        "Register and connect agents; list their tools",
        "Agents that are made elsewhere get their work by signed POST (docs/agents/webhooks.md).",
        ids=("agent_id",),
    ),
    "keys": Noun(
        "API keys for agents and people elsewhere", "They call `dcf serve --transport http` with them.", ids=("key_id",)
    ),
    "store": Noun("Look after the Redis of dcf: its audit trail, its clock, its form"),
    "context": Noun("Which place commands work on: this machine, or a server", ids=("name",)),
}
"""The first words of the commands of two words, in the order in which help lists them."""

FUNCTIONS: Final[Mapping[str, str]] = {
    "run": "dcf.cli.running.run:run",
    "show": "dcf.cli.reading.show:show",
    "doctor": "dcf.cli.reading.show:doctor",
    "runs export": "dcf.cli.reading.export:export",
    "runs timeline": "dcf.cli.reading.timelines:show_timeline",
    "runs top": "dcf.cli.reading.top:top",
    "watch": "dcf.cli.reading.watch:watch",
    "projects index": "dcf.cli.features.project_files:index",
    "runs trace": "dcf.cli.reading.traces:trace",
    "store audit": "dcf.cli.commands.audit:audit",
    "runs prune": "dcf.cli.features.retention:prune",
    "workflows language": "dcf.cli.reading.language:language",
    "validate": "dcf.cli.reading.language:validate",
    "simulate": "dcf.cli.reading.language:simulate",
    "compile": "dcf.cli.commands.compiling:compile_file",
    "graph": "dcf.cli.reading.graphs:graph",
    "init": "dcf.cli.commands.init:init",
    "catalogue load": "dcf.cli.features.catalogue:load",
    "agents tools": "dcf.cli.commands.reference:tools",
    "host": "dcf.cli.processes.host:host",
    "serve": "dcf.cli.processes.servers:serve",
    "worker": "dcf.cli.processes.servers:worker",
    "store pulse": "dcf.cli.processes.servers:pulse",
    "workflows stub": "dcf.cli.processes.stub:stub",
    "agents local": "dcf.cli.processes.local:local",
    "web": "dcf.cli.processes.web:web",
    "keys add": "dcf.cli.commands.keys:add",
    "keys show": "dcf.cli.commands.keys:show",
    "keys ls": "dcf.cli.commands.keys:list_keys",
    "keys revoke": "dcf.cli.commands.keys:revoke",
    "skills generate": "dcf.cli.commands.skills:generate",
    "skills validate": "dcf.cli.commands.skills:validate",
    "skills ls": "dcf.cli.commands.skills:list_skills",
    "context show": "dcf.cli.commands.contexts:show",
    "context add": "dcf.cli.commands.contexts:add",
    "context use": "dcf.cli.commands.contexts:use",
    "context ls": "dcf.cli.commands.contexts:list_contexts",
    "context rm": "dcf.cli.commands.contexts:remove",
    "store move": "dcf.cli.commands.store:move",
}
"""The function of each command that is none of a verb."""


_WATCHED: Final = frozenset(
    {
        *("ls", "show", "why", "inbox", "runs brief", "runs usage", "runs timeline", "states ls", "gates ls"),
        *("journal ls", "artifacts ls", "schedules ls", "schedules show", "findings ls", "projects ls"),
        *("projects show", "agents ls", "keys ls", "keys show"),
    }
)
"""The commands whose answer changes without a command of this user."""

_IDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("inbox", "approve"), NOUNS["tasks"].ids),
    "runs events": ("id",),
    "runs search": ("id",),
}
"""The ids in the answer of a command, if they are not those of its noun; daily commands have ids of runs."""


class ListedCommand(NamedTuple):
    """A command as help lists it: a `function`, written `module:function`, or derived from the description of a `verb`.

    `name` is its last word. The command of a verb may be a function of its own.
    """

    full_name: str
    summary: str
    function: str | None = None
    verb: str | None = None
    is_noun: bool = False

    @property
    def name(self) -> str:
        """What is written for it, after its noun."""
        return self.full_name.rpartition(" ")[2]

    @property
    def noun(self) -> str:
        """Its first word, where it has two."""
        return self.full_name.rpartition(" ")[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """The fields of its answer that name what it is about."""
        return _IDS.get(self.full_name) or NOUNS[self.noun or "runs"].ids

    @property
    def is_watched(self) -> bool:
        """True if its answer changes over time."""
        return self.full_name in _WATCHED

    @property
    def serves(self) -> bool:
        """True if it is a process that serves, and has no answer."""
        return self.function is not None and self.function.startswith("dcf.cli.processes.")


def rows() -> Iterator[ListedCommand]:
    """Return all commands, in no order."""
    for name, function in FUNCTIONS.items():
        yield ListedCommand(name, SUMMARIES[name], function)
    for name, command in COMMANDS.items():
        yield ListedCommand(name, command.summary, command.function, command.verb)


def rows_of(noun: str) -> list[ListedCommand]:
    """Return the commands of a noun by name; without one those of every day, and the nouns, in the order of help."""
    commands = {row.name: row for row in rows() if row.noun == noun}
    if noun:
        return [commands[name] for name in sorted(commands)]
    nouns = (ListedCommand(name, about.summary, is_noun=True) for name, about in NOUNS.items())
    return [*(commands[name] for name in DAILY), *nouns]


def named(place: str) -> Callable[..., Any]:
    """Return a function of the command line that a description names as `module:function`."""
    module, _, function = place.partition(":")
    # nosemgrep: nothing-of-a-caller-is-executed - named by the description of a verb
    return cast("Callable[..., Any]", getattr(import_module(module), function))


def declared(name: str, function: Callable[..., Any], help_text: str | None = None) -> TyperCommand:
    """Return the command that a function is; without a text its docstring is the help."""
    declaring = typer.Typer(rich_markup_mode="rich", add_completion=False)
    declaring.command(name.rpartition(" ")[2], help=help_text or inspect.getdoc(function) or "")(function)
    command = get_command(declaring)
    assert isinstance(command, TyperCommand)
    return command
