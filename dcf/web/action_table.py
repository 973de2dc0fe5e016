"""Which tools the page may call to change something, what of them a form may say, and how it is confirmed.

A tool that is not in this table cannot be called by the page, and an argument that is not in its row is refused. The
table knows nothing of HTTP, and grants nothing: the tools check by themselves who may call them.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal, TypeAlias

from dcf.core.access.model import Scope
from dcf.values.records import record

Kind: TypeAlias = Literal["line", "text", "json", "flag", "number", "list"]
"""How an argument is written into a form: a line, a text, JSON, a box to tick, a whole number.

A `list` is JSON too, for a tool that takes no JSON text.
"""


@record(frozen=True, slots=True, kw_only=True)
class Given:
    """An argument that a form may give. `label`: a person fills it in when they confirm; None: the page gives it."""

    name: str
    label: str | None = None
    kind: Kind = "line"
    needed: bool = False
    ticked: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Action:
    """One tool as an action of the page: what it is called, and what will happen, as a person is asked to confirm it.

    `scopes`: the caller needs one of these besides the tool's own. `always`: arguments that no form can change.
    `is_repeatable`: the tool takes a request_id, and so recognises a call that is made twice. `then`: where to go after
    it: back, to the run that it made, or to the list of runs.
    """

    title: str
    effect: str
    given: tuple[Given, ...]
    scopes: frozenset[Scope] = frozenset()
    always: Mapping[str, bool] = field(default_factory=dict)
    is_repeatable: bool = True
    then: Literal["back", "run", "runs"] = "back"
    is_grave: bool = False

    def of(self, name: str) -> Given | None:
        """Return what a form may say about this argument; None if nothing."""
        return next((one for one in self.given if one.name == name), None)


_RUN: Final = Given(name="workflow_id", needed=True)
_STATE: Final = Given(name="state", needed=True)
_REASON: Final = Given(name="reason", label="Reason, for the history", kind="text")
_IN_A_WORD: Final = Given(name="reason", label="Reason, in a word")
_COMMENT: Final = Given(name="comment", label="Comment", kind="text")
_WHO: Final = Given(name="agent_id", label="Who you are (agent id)")
_GROUP: Final = Given(name="group", label="Group that you answer for")

_JUDGES: Final = frozenset({Scope.WORK, Scope.PLAN, Scope.ANSWER})

_ON_RUNS: Final[Mapping[str, Action]] = {
    "cancel_run": Action(
        title="Cancel the run",
        effect="The run ends at once. Open states become cancelled, and late results of their holders are refused.",
        given=(_RUN, _REASON),
        is_grave=True,
    ),
    "pause_run": Action(
        title="Pause the run",
        effect="Nobody gets a lease until the run is resumed. Those who work now may finish.",
        given=(_RUN, _REASON),
    ),
    "resume_run": Action(
        title="Resume the run",
        effect="The run goes on, and the agents of all states that can be taken are told.",
        given=(_RUN, _REASON),
    ),
    "retry_run": Action(
        title="Retry the run",
        effect="The failed states are entered again, with the same input. What has succeeded is kept.",
        given=(_RUN, _REASON),
    ),
    "rerun": Action(
        title="Run again",
        effect="A new run of the same workflow begins; from a state, with the results of those before it.",
        given=(
            _RUN,
            Given(name="from_state", label="From this state (empty: from the beginning)"),
            Given(name="new_workflow_id", label="Id of the new run (empty: a new one)"),
            Given(name="input_json", label="Another input, as JSON (empty: the same)", kind="json"),
            _REASON,
        ),
        then="run",
    ),
    "notify_next_worker_agent": Action(
        title="Start the run",
        effect="The run starts, and the agents of its first states are told.",
        given=(_RUN, _IN_A_WORD),
        scopes=frozenset({Scope.PLAN}),
        is_repeatable=False,
    ),
    "create_worker_agents": Action(
        title="Create its agents",
        effect="One agent is made for each Task that has none, and those that are there are kept.",
        given=(_RUN,),
        is_repeatable=False,
    ),
    "finalize_workflow": Action(
        title="Finalize the run",
        effect="The run is closed for good: its summary is written, and its retention begins.",
        given=(
            _RUN,
            Given(name="finalize_note", label="Note, for the record", kind="text"),
            Given(name="delete_worker_agents", label="Delete the agents made for it", kind="flag", ticked=True),
        ),
        is_repeatable=False,
        is_grave=True,
    ),
    "delete_run": Action(
        title="Delete the run",
        effect="Everything that is kept of the run is deleted. It cannot be brought back.",
        given=(_RUN, _REASON),
        then="runs",
        is_grave=True,
    ),
    "hold_run": Action(
        title="Hold the run",
        effect="The run is kept, whatever its retention says, until the hold is released.",
        given=(_RUN, Given(name="hold", label="Hold it (not ticked: let go)", kind="flag", ticked=True), _REASON),
        scopes=frozenset({Scope.OPERATE}),
    ),
    "send_signal": Action(
        title="Send a signal",
        effect="A state that waits for this signal goes on with its payload; otherwise it is kept for one that will.",
        given=(
            _RUN,
            Given(name="name", label="Name of the signal", needed=True),
            Given(name="payload_json", label="Payload, as JSON", kind="json"),
            _REASON,
        ),
    ),
    "start_run": Action(
        title="Start a run",
        effect="A new run of this workflow begins.",
        given=(
            Given(name="definition", label="Workflow (name, or name@version)", needed=True),
            Given(name="workflow_id", label="Id of the run (empty: a new one)"),
            Given(name="input_json", label="Input, as JSON", kind="json"),
            Given(name="tags_json", label='Tags, as JSON: ["nightly"]', kind="json"),
            Given(name="project", label="Project (empty: none)"),
            _REASON,
        ),
        then="run",
    ),
}

_ON_STATES: Final[Mapping[str, Action]] = {
    "resolve_state": Action(
        title="Resolve the state",
        effect="The state ends by hand, with an output or an error, or is given to other agents. Fill in one of these. "
        "Its holder is told to stop.",
        given=(
            _RUN,
            _STATE,
            Given(name="epoch", kind="number"),
            Given(name="output_json", label="It succeeds with this output (JSON)", kind="json"),
            Given(name="skip", label="It succeeds with its own input as its output", kind="flag"),
            Given(name="error", label="It fails with this error name"),
            Given(name="cause", label="With an error: why, in a sentence", kind="text"),
            Given(name="handled", label="With an error: apply the state's Retry and Catch", kind="flag"),
            Given(name="force", label="With an output: even if it does not match the OutputSchema", kind="flag"),
            Given(name="assign_json", label='Agents that may take it from now on: ["agent-1"]', kind="json"),
            _REASON,
        ),
        is_grave=True,
    ),
    "release_state_lease": Action(
        title="Release the lease",
        effect="The holder loses the state, which is pending again for any agent that may take it.",
        given=(_RUN, _STATE, Given(name="epoch", kind="number"), _REASON),
        scopes=frozenset({Scope.OPERATE}),
        always={"force": True},
        is_repeatable=False,
    ),
    "notify_if_ready": Action(
        title="Notify its agents",
        effect="If the state can be taken, its agents are told so again.",
        given=(_RUN, _STATE, _IN_A_WORD),
        is_repeatable=False,
    ),
}

_OF_PEOPLE: Final[Mapping[str, Action]] = {
    "answer_human_task": Action(
        title="Answer the task",
        effect="The task ends with this answer, and the run goes on.",
        given=(
            _RUN,
            _STATE,
            Given(name="epoch", kind="number"),
            Given(name="choice", label="Choice"),
            Given(name="answer_json", label="Answer, as JSON", kind="json"),
            _COMMENT,
            _WHO,
            _GROUP,
        ),
    ),
    "answer_question": Action(
        title="Answer the question",
        effect="The agent that asked gets this answer.",
        given=(
            _RUN,
            Given(name="question_id", needed=True),
            Given(name="answer", label="Answer", kind="text", needed=True),
            _COMMENT,
            _WHO,
            _GROUP,
        ),
        scopes=frozenset({Scope.PLAN, Scope.ANSWER}),
    ),
    "decide_gate": Action(
        title="Decide the gate",
        effect="The verdict is written; the output passes when every gate has passed it.",
        given=(
            _RUN,
            _STATE,
            Given(name="gate", needed=True),
            Given(name="content_sha256", needed=True),
            Given(name="verdict", label="Verdict: pass, fail or unavailable", needed=True),
            Given(name="criteria", kind="list"),
            _COMMENT,
            _WHO,
            _GROUP,
        ),
        scopes=_JUDGES,
    ),
    "override_gate": Action(
        title="Override the gate",
        effect="The output passes although the gate has not passed it. The audit trail says who did so, and why.",
        given=(
            _RUN,
            _STATE,
            Given(name="gate"),
            Given(name="reason", label="Reason, for the history", kind="text", needed=True),
            _WHO,
        ),
        is_grave=True,
    ),
    "resolve_issue": Action(
        title="Resolve the issue",
        effect="The issue is closed; a run that it has stopped goes on.",
        given=(
            _RUN,
            Given(name="issue", needed=True),
            Given(name="how", label="What was done or decided", kind="text", needed=True),
            _WHO,
            _REASON,
        ),
        scopes=_JUDGES | {Scope.OPERATE},
    ),
    "operate_schedule": Action(
        title="Operate the schedule",
        effect="Pausing keeps the schedule from starting runs; resuming lets it; triggering starts one now.",
        given=(
            Given(name="name", needed=True),
            Given(name="action", label="pause, resume or trigger", needed=True),
            _REASON,
        ),
    ),
}

ACTIONS: Final[Mapping[str, Action]] = {**_ON_RUNS, **_ON_STATES, **_OF_PEOPLE}
"""Every action of the page, by the tool that carries it out."""
