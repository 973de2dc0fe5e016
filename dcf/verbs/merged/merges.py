"""Which tools stand for several verbs, and what each call means. Data only; `merged_tools` makes the tools."""

from collections.abc import Mapping
from typing import Final

from dcf.verbs.merged.choices import Choice, Merge

_JOURNAL: Final = ("note", "decision", "milestone", "issue", "handoff", "log")

MERGES: Final = (
    Merge(
        name="operate_run",
        documentation="Pause or resume a run, retry a failed run, or protect a run from deletion.",
        lists=("planner", "operator"),
        choices=(
            Choice("pause_run", by={"action": "pause"}),
            Choice("resume_run", by={"action": "resume"}),
            Choice("retry_run", by={"action": "retry"}),
            Choice("hold_run", by={"action": "hold"}, fixed={"hold": True}),
            Choice("hold_run", by={"action": "release"}, fixed={"hold": False}),
        ),
        about={
            "action": "pause: no leases until resume. retry: continue after a failure, keeping what succeeded. "
            "hold, as an operator: keep it until release."
        },
    ),
    Merge(
        name="start_run",
        documentation="Start a run in one call: validates the workflow, creates the run and tells the agents of its "
        "first states. Give workflow_json, definition, or rerun_of.",
        lists=("planner", "operator"),
        choices=(
            Choice("rerun", given=("rerun_of",), names={"rerun_of": "workflow_id", "workflow_id": "new_workflow_id"}),
            Choice("start_run"),
        ),
        about={
            "workflow_id": "Id of the new run; default: a new one. The same again returns the same run.",
            "rerun_of": "Repeat this run.",
            "from_state": "With rerun_of: begin there, keeping the outputs of the states before it.",
        },
    ),
    Merge(
        name="delete",
        documentation="Delete permanently: an ended run, a schedule, project, finding or definition.",
        lists=("operator",),
        choices=(
            Choice("delete_run", by={"kind": "run"}, names={"id": "workflow_id"}),
            Choice("delete_schedule", by={"kind": "schedule"}, names={"id": "name"}),
            Choice("delete_project", by={"kind": "project"}, names={"id": "project"}),
            Choice("delete_finding", by={"kind": "finding"}, names={"id": "finding_id"}),
            Choice("delete_definition", by={"kind": "definition"}, names={"id": "name", "definition_kind": "kind"}),
        ),
        about={
            "kind": "The kind.",
            "id": "Its id or name.",
            "definition_kind": "Of a definition.",
            "project": "Of a definition.",
            "session": "Of a definition.",
        },
    ),
    Merge(
        name="send_task_result",
        documentation="Answer a Task that waits for a callback, by its task_token.",
        lists=("operator",),
        choices=(
            Choice("send_task_success", by={"outcome": "success"}),
            Choice("send_task_failure", by={"outcome": "failure"}),
            Choice("send_task_heartbeat", by={"outcome": "heartbeat"}),
        ),
        about={"outcome": "success: with output_json. failure: with error and cause. heartbeat: still at work."},
    ),
    Merge(
        name="redo_unit",
        documentation="Do a unit of an open run again if it failed, or with rewind if it is done.",
        lists=("member", "operator"),
        choices=(Choice("rewind_unit", by={"rewind": True}), Choice("retry_unit")),
        about={"rewind": "Undo a unit that is done, and all that depend on it."},
    ),
    Merge(
        name="close_run",
        documentation="End a growing run whose units are done; or with group, let that group take no more units.",
        lists=("member", "operator"),
        choices=(Choice("seal_group", given=("group",)), Choice("close_run")),
    ),
    Merge(
        name="list_projects",
        documentation="List projects, those used last first; or read one, by id or path, with how its runs stand.",
        lists=("member", "operator"),
        choices=(
            Choice("get_project", given=("id",), names={"id": "project"}),
            Choice("get_project", given=("path",), names={"id": "project"}),
            Choice("list_projects"),
        ),
        about={"id": "Read this one.", "path": "Read the one of this directory."},
    ),
    Merge(
        name="get_artifact",
        documentation="Read an artifact of a run, on from next_offset until it is null; without artifact_id list them.",
        lists=("assistant", "member", "operator"),
        choices=(Choice("get_artifact", given=("artifact_id",)), Choice("list_artifacts")),
        about={"artifact_id": "Its id in the run."},
    ),
    Merge(
        name="list_asked",
        documentation="Find what waits for a person or reviewer, oldest first: human tasks, or outputs at gates.",
        lists=("worker", "planner", "member", "operator", "person"),
        choices=(
            Choice("list_gates", by={"kind": "gate"}),
            Choice("list_human_tasks", by={"kind": "task"}),
        ),
        about={
            "kind": "gate: for decide_gate, with criteria and content_sha256.",
            "agent_id": "Only what this agent or person may answer.",
            "state": "Only this state, whole.",
        },
        unlisted=("limit",),
    ),
    Merge(
        name="put_finding",
        documentation="Keep what later runs should know. New: severity, category, title, text. finding_id corrects "
        "one; workflow_id and issue keep an issue of a journal.",
        lists=("assistant", "member"),
        choices=(
            Choice("update_finding", given=("finding_id",)),
            Choice("promote_issue", given=("issue",)),
            Choice("add_finding"),
        ),
        about={
            "finding_id": "Correct this one.",
            "issue": "Id of the issue.",
            "title": "It in a line.",
            "text": "All of it.",
            "workflow_id": "Run that it came from.",
            "status": "With finding_id: what it is now.",
            "superseded_by": "With finding_id: the better one's.",
            "project": "Of a new one; default: that of the run.",
        },
    ),
    Merge(
        name="search",
        documentation="Search definitions, findings, journals, artifacts and outputs: all words, or "
        '"a phrase" exactly. With id, read one finding or definition whole.',
        lists=("assistant", "member"),
        choices=(
            Choice("get_finding", by={"in": "findings"}, given=("id",), names={"id": "finding_id"}),
            Choice("get_definition", by={"in": "definitions"}, given=("id",), names={"id": "name"}),
            Choice("search_findings", by={"in": "findings"}, names={"workflow_id": "run"}),
            Choice("search_definitions", by={"in": "definitions"}),
            Choice("search", by={"in": "journals"}, fixed={"types_json": ["journal"]}),
            Choice("search", by={"in": "artifacts"}, fixed={"types_json": ["artifact"]}),
            Choice("search", by={"in": "outputs"}, fixed={"types_json": ["output"]}),
            Choice("search"),
        ),
        about={
            "in": "Default: everywhere.",
            "query": "Needless for findings and definitions: the newest.",
            "id": "In findings: its id. In definitions: its name, with kind.",
            "kind": "Of definitions.",
            "project": "Of this project, or for everybody.",
            "severity": "Of findings: one, or several.",
            "status": "Of findings.",
            "tags_json": 'Of findings or definitions: ["api"].',
        },
        unlisted=("types_json", "detail", "if_none_match", "version", "complexity", "file_types_json"),
    ),
    Merge(
        name="answer",
        documentation="Answer what list_asked shows: a worker's question (question_id, answer), or a human task "
        "(state, choice). The first answer counts. Never answer for a person who did not say so.",
        lists=("planner", "operator", "person"),
        choices=(
            Choice("answer_question", given=("question_id",)),
            Choice("answer_human_task"),
        ),
        about={
            "question_id": "A question: its id.",
            "answer": "A question: one of its choices, or a text.",
            "state": "A task: its state.",
            "choice": "A task: one of its choices; left out, the person is asked, where your client can.",
            "answer_json": "A task: what its schema asks for.",
            "epoch": "A task: only if it still has this epoch.",
            "comment": "Why; some choices need it.",
            "agent_id": "The answering person; default: the key's agent, or for a question the planner.",
        },
        unlisted=("request_id",),
    ),
    Merge(
        name="add_note",
        documentation="Send the run's planner a note, or keep it in the run's journal; the call waits for no answer.",
        lists=("worker", "planner", "member", "operator"),
        choices=(
            Choice("leave_note", by={"kind": "to_planner"}),
            *(Choice("add_journal_entry", by={"kind": kind}, fixed={"kind": kind}) for kind in _JOURNAL),
        ),
        about={
            "kind": "to_planner, or of a journal entry; a milestone renews your lease.",
            "details_json": "decision: question, options, chosen, reasoning; milestone: progress 0-100; issue: type; "
            "handoff: next_steps.",
            "blocks": "issue: stop the run until it is resolved.",
        },
        unlisted=("key",),
    ),
)
"""The merged tools."""

REPLACED: Final[Mapping[str, Choice]] = {"claim_ready_state": Choice("find_work", fixed={"claim": True})}
"""Verbs in place of which lists have another verb, with how that one is called."""
