"""The table of the commands of `dcf`: the panel, the module and the first words of the help of each.

`dcf --help` prints this table, and a command imports its own module only (`command_group`). A test compares the table
with the modules. A new command needs an entry here.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

RUNS: Final = "Runs"
OPERATE: Final = "Operate"
WORKFLOWS: Final = "Workflows"
PEOPLE: Final = "People"
AGENTS: Final = "Agents and keys"
SERVERS: Final = "Servers"

_TABLE: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    RUNS: {
        "running.run": {
            "run": (
                "Run a workflow here: starts Redis (unless REDIS_URL is set), an MCP server and a worker process for"
                " all Tasks."
            ),
        },
        "reading.runs": {
            "ls": "List runs, newest first; one line for each. Without filters those that are stuck come before.",
        },
        "reading.show": {
            "show": "Show where a run stands: its states, who holds what until when, output or error.",
        },
        "commands.starting": {
            "start": "Start a run and return: its agents do the work, such as `dcf worker` with their agent id.",
            "rerun": (
                "Repeat a run as a new one: from its beginning, or with --from STATE from there, with the input it had."
            ),
            "retry": (
                "Continue a run that failed, timed out, was cancelled or is on hold. All that succeeded is kept, also"
                " in a Map."
            ),
        },
        "commands.work": {
            "work": "List what there is to do across all runs: what is held, what is ready, what stands still.",
        },
        "commands.contexts": {
            "context": "Say where an agent (or a session, or a run) is, and what is next for it, as get_context does.",
        },
        "features.search": {
            "search": "Search what is known and what runs have written, the best first.",
        },
        "reading.why": {
            "why": "Explain why a run, or one state of it, does not move, and what helps.",
        },
        "reading.events": {
            "events": (
                "Print what happened in a run, in order; with --follow also what happens next, until the run is over."
            ),
        },
        "reading.export": {
            "export": (
                "Export a run: its workflow, documents, history, journal and artifacts as JSON, or what people look at."
            ),
        },
        "reading.timelines": {
            "timeline": (
                "Show when each state of a run was ready, worked on, backing off, had lost its agent, or waited."
            ),
        },
        "reading.top": {
            "top": (
                "Show the live runs, those that are stuck first, and the agents with what they hold; on a terminal"
                " until Ctrl-C."
            ),
        },
        "reading.watch": {
            "watch": "Watch a run until it is over: a live table on a terminal, elsewhere a line for each change.",
        },
        "features.schedules": {
            "schedule": (
                "Start runs of a workflow by the time: by a cron expression, or every so often. Each tick starts one"
                " run, however many servers and clocks there are; some `dcf serve` or `dcf pulse` must run."
            ),
        },
        "features.journal": {
            "journal": "What agents and people wrote down about a run: `dcf journal RUN` shows it.",
        },
        "features.projects": {
            "projects": (
                "What runs belong to: a name, directories, git facts. `dcf ls --project ID` lists the runs of one."
            ),
        },
        "features.artifacts": {
            "artifacts": "Files that a run keeps: immutable, with type, size, SHA-256 and where they came from.",
        },
        "reading.traces": {
            "trace": (
                "Show a run in a tracing tool: the run, its states and every attempt at them as one tree of spans."
            ),
        },
    },
    OPERATE: {
        "reading.show": {
            "doctor": (
                "Check how dcf is: whether Redis takes writes, memory, durability, replicas, clock, agents, platform,"
                " lists."
            ),
        },
        "commands.audit": {
            "audit": (
                "List who changed agents, skills, files, documents and API keys, and what was refused, newest first."
            ),
        },
        "commands.store": {
            "store": "Look after the Redis that dcf keeps everything in.",
        },
        "commands.lifecycle": {
            "cancel": (
                "End a run at once: open states are cancelled, holders are told to stop, late results are refused."
            ),
            "pause": "Hold a run: nobody gets new work in it until `dcf resume`; what agents work on they may finish.",
            "resume": "Let a paused run go on, and tell the agents of all states that can be taken.",
            "resolve": "End one state of a run by hand, or give it to other agents: where its agent cannot finish it.",
            "release": (
                "End the lease on a state, whoever holds it, so that another agent can take it; its late result is"
                " refused."
            ),
            "notify": (
                "Tell agents of work: without STATE start the run and tell who comes first; with it tell its agents"
                " again."
            ),
            "finalize": (
                "Close a run for good: write its audit record, cancel what is open, delete the agents that were made"
                " for it."
            ),
        },
        "features.growing": {
            "open": "Open a run without a workflow: units of work are added to it while it is open.",
            "add": "Add units of work, and groups of them, to a run that grows: all of them, or none.",
            "seal": (
                "Let nothing be added to a group, or to a run, any more: it ends once all that is in it has ended well."
            ),
            "retry-unit": "Let a unit that failed be taken again, as a new attempt of the same unit.",
            "rewind": "Reopen a unit and all that followed it: holders are told to stop, and outputs are gone.",
            "close": (
                "End a run that grows, with a summary. It is refused while units have not ended well, unless forced."
            ),
        },
        "commands.work": {
            "usage": "Show what work used up, as far as it was reported: of a run, an agent or a project.",
            "budget": (
                "Say what a run may use up; limits that are not named stay. Once one is used up, nobody gets a lease"
                " in the run."
            ),
        },
        "features.retention": {
            "delete": "Delete a run that is over, with its documents, outputs and history, for good.",
            "hold": (
                "Keep a run: on hold it is not deleted, not pruned and does not expire, until `dcf hold RUN --release`."
            ),
            "prune": (
                "Delete runs that ended long ago: counts them, asks, and deletes them one by one. Runs on hold are"
                " kept."
            ),
        },
        "features.signals": {
            "signal": (
                "Send a signal into a run: the Task that waits for it (Resource dcf:signal) ends with the payload as"
                " its output."
            ),
        },
        "features.callbacks": {
            "task": "Answer a Task that waits for a callback, with the task token that was handed out for it.",
        },
    },
    PEOPLE: {
        "features.people": {
            "inbox": (
                "List what waits for people, oldest first; with RUN what waits in it, with STATE one task and how to"
                " answer it."
            ),
            "approve": (
                "Answer a task of a run with approve. The first answer counts; who answered stands in the run's"
                " history."
            ),
            "reject": "Answer a task of a run with reject, and say why with --comment.",
            "answer": "Answer a task of a run with one of its choices.",
        },
        "features.questions": {
            "note": "Leave a note for the planner of a run: in the run's history, and in the planner's inbox.",
            "ask": (
                "Ask the planner or people, as the holder of a state; the state is given back until the answer is"
                " there."
            ),
            "reply": (
                "Answer a question of a worker; the first answer counts. `dcf inbox` lists what waits for an answer."
            ),
            "correct": (
                "Correct the result of a state, until what follows has used it: leased, joined, or ended with it."
            ),
        },
        "features.gates": {
            "gates": "Show the outputs of a run that wait for a verdict before they count, with their criteria.",
            "decide": "Judge the output that waits at a gate. Its author cannot review it.",
            "override": "Let the output of a state pass its gates, whatever they say, for this visit of the state.",
        },
    },
    WORKFLOWS: {
        "reading.language": {
            "language": "Show how a workflow is written, on one page: examples that are valid, data, agents, limits.",
            "validate": (
                "Check a workflow without running it: its form, its imports, the agents and skills it names, every"
                " ASL rule."
            ),
            "simulate": (
                "Run a workflow here with mocked Tasks and virtual time, and show every state that was entered and"
                " left."
            ),
        },
        "commands.compiling": {
            "compile": (
                "Print the workflow document that a flow becomes: Amazon States Language with JSONata, complete without"
                " the file."
            ),
        },
        "reading.graphs": {
            "graph": "Draw a workflow, or a run with how its states stand: as text, as a Mermaid flowchart or as SVG.",
        },
        "commands.init": {
            "init": (
                "Make a directory with a new workflow, Python functions for its Tasks, an input, tests and a README."
            ),
        },
        "commands.skills": {
            "skills": "Write and look at skills.",
        },
        "features.findings": {
            "findings": (
                "What was learned in runs and outlives them: kept once, found by words, superseded by what is better."
            ),
        },
        "features.catalogue": {
            "catalogue": (
                "What agents work by, in versions with hashes: workflows, jobs, personas, rules, contracts, templates."
            ),
        },
    },
    AGENTS: {
        "reading.reference": {
            "tools": "List the tools with the scope each needs, or print their reference.",
        },
        "processes.host": {
            "host": (
                "Run agents that have no server of their own: Python handlers, Claude Code, or an SDK with its model."
            ),
        },
        "commands.keys": {
            "keys": (
                "Make, list, show and revoke API keys, which agents elsewhere call `dcf serve --transport http` with."
            ),
        },
        "commands.agents": {
            "agents": (
                "Register agents that are made elsewhere: webhooks, which get their work by signed POST"
                " (docs/webhooks.md)."
            ),
        },
    },
    SERVERS: {
        "processes.servers": {
            "serve": "Serve the MCP tools. Any number of servers may run on one Redis, behind any balancer.",
            "worker": (
                "Serve Python functions for states: waits for events of one agent id, leases, works, writes, notifies."
            ),
            "pulse": (
                "Be the clock: fires due timers and delivers owed notifications. Any number may run; servers do it as"
                " well."
            ),
        },
        "processes.stub": {
            "stub": (
                "Serve the stub tools over MCP (Streamable HTTP), so that workflows with tools need no outside service."
            ),
        },
        "processes.local": {
            "local": "Serve an agent on this machine: the tools of a dcf server, and what needs the disk.",
        },
        "processes.web": {
            "web": (
                "Serve the web page: runs, and each run's picture, states and events. It changes nothing without"
                " --allow-actions."
            ),
        },
    },
}
"""The summary of each command by panel, module of `dcf.cli` and name, in the order in which help lists them."""


class ListedCommand(NamedTuple):
    """A command as help lists it, and the module whose `mount` declares it."""

    panel: str
    module: str
    name: str
    summary: str


def rows() -> Iterator[ListedCommand]:
    """Return all commands, in the order in which help lists them."""
    for panel, modules in _TABLE.items():
        for module, commands in modules.items():
            for name, summary in commands.items():
                yield ListedCommand(panel, module, name, summary)
