"""The pictures of docs/concepts, by the name of their page."""

from collections.abc import Mapping
from typing import Final

from deploy.pictures.drawing import Arrow, Box, Picture

PICTURES: Final[Mapping[str, Picture]] = {
    "overview": Picture(
        "A workflow has runs, a run has states, an agent has a lease on a state, and events notify agents.",
        (
            Box(0, 0, ("Workflow", "a definition"), "key"),
            Box(1.4, 0, ("Run", "input, status")),
            Box(2.8, 0, ("State", "input, output")),
            Box(2.8, 1.3, ("Lease", "until a time"), "good"),
            Box(1.4, 1.3, ("Agent", "an inbox")),
            Box(0, 1.3, ("Event", "one change")),
        ),
        (
            Arrow("Workflow", "Run", "starts"),
            Arrow("Run", "State", "has"),
            Arrow("State", "Lease", "is given by"),
            Arrow("Agent", "Lease", "acquires"),
            Arrow("Event", "Agent", "notifies"),
        ),
    ),
    "runs": Picture(
        "A run is running until it ends as succeeded, failed or cancelled. Pausing stops new leases.",
        (
            Box(0, 1, ("start", "definition, input")),
            Box(1.4, 1, ("running", "leases are granted"), "key"),
            Box(1.4, 2.3, ("paused", "no new leases")),
            Box(2.8, 0, ("succeeded", "has an output"), "good"),
            Box(2.8, 1, ("failed", "has an error"), "bad"),
            Box(2.8, 2, ("cancelled", "by somebody"), "bad"),
        ),
        (
            Arrow("start", "running"),
            Arrow("running", "succeeded"),
            Arrow("running", "failed"),
            Arrow("running", "cancelled"),
            Arrow("running", "paused", "pause, resume"),
        ),
    ),
    "states": Picture(
        "A Task is pending until it is ready, running while an agent has its lease, and ends as succeeded or failed.",
        (
            Box(0, 0, ("pending", "waits for others")),
            Box(1.4, 0, ("pending, ready", "agents are notified"), "key"),
            Box(2.8, 0, ("running", "an agent has a lease"), "key"),
            Box(4.2, 0, ("succeeded", "output is stored"), "good"),
            Box(2.8, 1.3, ("failed", "Catch, or run fails"), "bad"),
        ),
        (
            Arrow("pending", "pending, ready"),
            Arrow("pending, ready", "running", "acquire"),
            Arrow("running", "succeeded", "output"),
            Arrow("running", "failed", "error"),
        ),
    ),
    "leases": Picture(
        "Agent A acquires a lease with epoch 1 and dies. The lease expires. Agent B gets epoch 2. A is rejected.",
        (
            Box(0, 0, ("Agent A", "epoch 1")),
            Box(1.4, 0, ("Lease expires", "A does not renew it"), "bad"),
            Box(2.8, 0, ("Agent B", "epoch 2"), "good"),
            Box(1.4, 1.4, ("State in Redis", "accepts epoch 2 only"), "key"),
        ),
        (
            Arrow("Agent A", "Lease expires", "crashes"),
            Arrow("Lease expires", "Agent B", "takeover"),
            Arrow("Agent B", "State in Redis", "accepted"),
            Arrow("Agent A", "State in Redis", "rejected"),
        ),
    ),
    "events": Picture(
        "One transaction changes a state, records the event and puts the notification into the outbox of the run.",
        (
            Box(0, 0.65, ("Transaction", "one EXEC"), "key"),
            Box(1.5, 0, ("History", "event of the run")),
            Box(1.5, 1.3, ("Outbox", "not delivered yet")),
            Box(3, 1.3, ("Inbox", "of one agent")),
            Box(3, 0, ("Agent", "acknowledges"), "good"),
        ),
        (
            Arrow("Transaction", "History", "records"),
            Arrow("Transaction", "Outbox", "adds"),
            Arrow("Outbox", "Inbox", "at least once"),
            Arrow("Inbox", "Agent", "reads"),
        ),
    ),
    "gates": Picture(
        "A worker sends an output. The gate keeps it until a reviewer gives a verdict: pass completes, fail goes back.",
        (
            Box(1.5, 0, ("Reviewer", "is not the author")),
            Box(0, 1.15, ("Worker", "sends an output")),
            Box(1.5, 1.15, ("Gate", "keeps the output"), "key"),
            Box(3, 1.15, ("pass", "the Task is done"), "good"),
            Box(1.5, 2.3, ("fail", "failed criteria"), "bad"),
        ),
        (
            Arrow("Worker", "Gate"),
            Arrow("Reviewer", "Gate", "verdict"),
            Arrow("Gate", "pass"),
            Arrow("Gate", "fail"),
            Arrow("fail", "Worker", "corrects it"),
        ),
    ),
    "units": Picture(
        "An agent adds units to an open run. A unit starts when the units before it are done. Sealing ends the adding.",
        (
            Box(0, 0, ("Planner", "adds units")),
            Box(1.4, 0, ("Unit A", "done"), "good"),
            Box(2.8, 0, ("Unit C", "needs A and B")),
            Box(1.4, 1.2, ("Unit B", "leased"), "key"),
            Box(4.2, 0, ("Close", "the run ends")),
        ),
        (
            Arrow("Planner", "Unit A", "add_units"),
            Arrow("Planner", "Unit B", "add_units"),
            Arrow("Unit A", "Unit C"),
            Arrow("Unit B", "Unit C"),
            Arrow("Unit C", "Close", "all done"),
        ),
    ),
    "agents": Picture(
        "An agent is an id with an inbox. A program, a model, a host or a URL reads the inbox.",
        (
            Box(1.5, 0, ("Agent", "id and inbox"), "key"),
            Box(0, 1.3, ("MCP client", "a model")),
            Box(1, 1.3, ("dcf worker", "Python functions")),
            Box(2, 1.3, ("dcf host", "SDKs, Claude Code")),
            Box(3, 1.3, ("URL", "a signed request")),
        ),
        (
            Arrow("Agent", "MCP client"),
            Arrow("Agent", "dcf worker"),
            Arrow("Agent", "dcf host"),
            Arrow("Agent", "URL"),
        ),
    ),
    "keys": Picture(
        "A key has scopes, may be bound to an agent and a project, and each call is checked against both.",
        (
            Box(0, 0, ("Caller", "sends a key")),
            Box(1.4, 0, ("Scope", "may it call this?"), "key"),
            Box(2.8, 0, ("Binding", "agent, project"), "key"),
            Box(4.2, 0, ("Verb", "is carried out"), "good"),
            Box(2.1, 1.3, ("forbidden", "nothing is changed"), "bad"),
        ),
        (
            Arrow("Caller", "Scope"),
            Arrow("Scope", "Binding", "yes"),
            Arrow("Binding", "Verb", "yes"),
            Arrow("Scope", "forbidden", "no"),
            Arrow("Binding", "forbidden", "no"),
        ),
    ),
}
