"""Every verb in a row. Derived from their descriptions by `make verbs`; do not edit."""

from collections.abc import Mapping
from typing import Final

from dcf.verbs.description.row import CommandRow, Row

TABLE: Final[Mapping[str, Row]] = {
    "get_context": Row(
        "dcf.features.agent_context.verbs",
        "journal",
        "read",
        ("assistant", "member"),
        (),
        CommandRow(
            "runs brief",
            "Ask where you are and what is next, after a restart or when your memory was cut: one call shows all of it.",
        ),
    ),
    "put_artifact": Row(
        "dcf.features.artifacts.verbs",
        "artifacts",
        "work",
        ("assistant", "member"),
        ("workflow_id", "name", "content"),
        CommandRow(
            "artifacts add", "Keep a file with a run and print its id. The same content again is the same artifact."
        ),
    ),
    "get_artifact": Row(
        "dcf.features.artifacts.verbs",
        "artifacts",
        "read",
        ("member",),
        ("workflow_id", "artifact_id"),
        CommandRow(
            "artifacts show", "Write an artifact's content to standard output or a file; it is checked by its SHA-256."
        ),
    ),
    "list_artifacts": Row(
        "dcf.features.artifacts.verbs",
        "artifacts",
        "read",
        ("operator",),
        ("workflow_id",),
        CommandRow(
            "artifacts ls",
            "List a run's artifacts, oldest first, without their content. --cursor goes on after a page.",
        ),
    ),
    "put_definition": Row(
        "dcf.features.catalogue.verbs",
        "knowledge",
        "work",
        ("operator",),
        ("kind", "name", "content"),
        CommandRow(
            "catalogue add",
            "Keep a definition that agents work by: a rule, persona, workflow, template. New content is a new version.",
        ),
    ),
    "get_definition": Row(
        "dcf.features.catalogue.verbs",
        "knowledge",
        "read",
        ("member",),
        ("kind", "name"),
        CommandRow(
            "catalogue show", "Read a definition: that of the session, else of the project, else for everybody."
        ),
    ),
    "search_definitions": Row(
        "dcf.features.catalogue.verbs",
        "knowledge",
        "read",
        ("member",),
        (),
        CommandRow(
            "catalogue ls",
            "Find what there is to work by: rules for your files, workflows, personas. The best first, else the newest.",
        ),
    ),
    "delete_definition": Row(
        "dcf.features.catalogue.verbs",
        "knowledge",
        "operate",
        ("operator",),
        ("kind", "name"),
        CommandRow(
            "catalogue delete",
            "Delete a definition with all its versions. Runs that were opened with it keep its hash.",
        ),
    ),
    "explain_run": Row(
        "dcf.features.diagnosis.verbs",
        "operations",
        "read",
        ("member", "operator", "planner"),
        ("workflow_id",),
        CommandRow(
            "why", "Explain why a run, or one state of it, does not move, and what helps.", "dcf.cli.reading.why:why"
        ),
    ),
    "read_run_events": Row(
        "dcf.features.diagnosis.verbs",
        "operations",
        "read",
        ("operator", "planner"),
        ("workflow_id",),
        CommandRow(
            "runs events",
            "Print what happened in a run, in order; with --follow also what happens next, until the run is over.",
            "dcf.cli.reading.events:events",
        ),
    ),
    "export_run": Row(
        "dcf.features.diagnosis.verbs", "operations", "read", (), ("workflow_id",), None, for_programs=True
    ),
    "json_create": Row("dcf.features.documents.verbs", "redis_json", "work", ("operator",), (), None),
    "json_read": Row("dcf.features.documents.verbs", "redis_json", "read", ("operator",), ("redis_key",), None),
    "json_set": Row(
        "dcf.features.documents.verbs", "redis_json", "work", ("operator",), ("redis_key", "path", "value_json"), None
    ),
    "json_ensure": Row(
        "dcf.features.documents.verbs", "redis_json", "work", ("operator",), ("redis_key", "path", "default_json"), None
    ),
    "json_append": Row(
        "dcf.features.documents.verbs", "redis_json", "work", ("operator",), ("redis_key", "path", "value_json"), None
    ),
    "json_merge": Row(
        "dcf.features.documents.verbs", "redis_json", "work", ("operator",), ("redis_key", "path", "patch_json"), None
    ),
    "json_increment": Row(
        "dcf.features.documents.verbs", "redis_json", "work", ("operator",), ("redis_key", "path", "delta"), None
    ),
    "json_delete": Row(
        "dcf.features.documents.verbs", "redis_json", "work", ("operator",), ("redis_key", "path"), None
    ),
    "json_copy": Row(
        "dcf.features.documents.verbs", "redis_json", "work", ("operator",), ("redis_key", "from_path", "to_path"), None
    ),
    "json_move": Row(
        "dcf.features.documents.verbs", "redis_json", "work", ("operator",), ("redis_key", "from_path", "to_path"), None
    ),
    "send_signal": Row(
        "dcf.features.external.verbs",
        "people",
        "plan",
        ("operator", "planner"),
        ("workflow_id", "name"),
        CommandRow(
            "runs signal",
            "Send a signal into a run, for a Task with the Resource dcf:signal: call this when what it waits for has happened.",
        ),
    ),
    "send_task_success": Row(
        "dcf.features.external.callback_verbs",
        "people",
        "work",
        ("operator",),
        ("task_token",),
        CommandRow(
            "states succeed",
            "Answer a Task that waits for a callback: call this when what its task token was handed out for is done.",
        ),
    ),
    "send_task_failure": Row(
        "dcf.features.external.callback_verbs",
        "people",
        "work",
        ("operator",),
        ("task_token",),
        CommandRow(
            "states fail",
            "Fail a Task that waits for a callback: call this when what its task token was handed out for cannot be done.",
        ),
    ),
    "send_task_heartbeat": Row(
        "dcf.features.external.callback_verbs",
        "people",
        "work",
        ("operator",),
        ("task_token",),
        CommandRow(
            "states heartbeat",
            "Say that a Task which waits for a callback is still worked on, before its HeartbeatSeconds pass.",
        ),
    ),
    "add_finding": Row(
        "dcf.features.findings.verbs",
        "knowledge",
        "work",
        ("member",),
        ("severity", "category", "title", "text"),
        CommandRow(
            "findings add",
            "Keep what you learned for later runs: call this for what the next agent should know. No output, no log.",
        ),
    ),
    "search_findings": Row(
        "dcf.features.findings.verbs",
        "knowledge",
        "read",
        ("member",),
        (),
        CommandRow(
            "findings ls",
            "Find what was learned before: call this before you begin. The best come first, without text the newest.",
        ),
    ),
    "get_finding": Row(
        "dcf.features.findings.verbs",
        "knowledge",
        "read",
        (),
        ("finding_id",),
        CommandRow("findings show", "Read one finding whole, with what became of it."),
    ),
    "update_finding": Row(
        "dcf.features.findings.verbs",
        "knowledge",
        "work",
        ("member",),
        ("finding_id",),
        CommandRow(
            "findings update",
            "Correct a finding, or say that it does not hold any more: deprecated, or superseded_by a better one.",
        ),
    ),
    "delete_finding": Row(
        "dcf.features.findings.verbs",
        "knowledge",
        "operate",
        ("operator",),
        ("finding_id",),
        CommandRow(
            "findings delete",
            "Delete a finding for good, such as one with a secret in it. What only does not hold any more is deprecated.",
        ),
    ),
    "promote_issue": Row(
        "dcf.features.findings.promotion_verbs",
        "knowledge",
        "work",
        (),
        ("workflow_id", "issue"),
        CommandRow(
            "findings promote",
            "Keep an issue of a run's journal as a finding, so that later runs know of it. Each issue becomes one.",
        ),
    ),
    "list_gates": Row(
        "dcf.features.gates.verbs",
        "gates",
        "read",
        ("member", "operator"),
        (),
        CommandRow(
            "gates ls", "Show the outputs of a run that wait for a verdict before they count, with their criteria."
        ),
    ),
    "decide_gate": Row(
        "dcf.features.gates.verbs",
        "gates",
        "read",
        ("member", "worker"),
        ("workflow_id", "state", "gate", "verdict", "content_sha256"),
        CommandRow("gates decide", "Judge the output that waits at a gate. Its author cannot review it."),
    ),
    "override_gate": Row(
        "dcf.features.gates.override_verbs",
        "gates",
        "override",
        ("operator",),
        ("workflow_id", "state", "reason"),
        CommandRow(
            "gates override",
            "Let the output of a state pass its gates, whatever they say, for this visit of the state.",
        ),
    ),
    "open_run": Row(
        "dcf.features.growing.verbs",
        "growing",
        "plan",
        ("member",),
        ("name",),
        CommandRow(
            "runs open",
            "Open a run without a workflow: you add units of work to it while it is open (`dcf states add RUN UNITS`), and close it at last.",
        ),
    ),
    "add_units": Row(
        "dcf.features.growing.verbs",
        "growing",
        "plan",
        ("member",),
        ("workflow_id", "units"),
        CommandRow(
            "states add",
            "Add units of work, and groups of them, to a run that grows: all of them or, if something is wrong, none.",
        ),
    ),
    "seal_group": Row(
        "dcf.features.growing.verbs",
        "growing",
        "plan",
        ("member",),
        ("workflow_id",),
        CommandRow(
            "runs seal",
            "Say that nothing more comes into a group, or into the run: it ends once all that is in it has ended well.",
        ),
    ),
    "retry_unit": Row(
        "dcf.features.growing.verbs",
        "growing",
        "plan",
        ("member", "operator"),
        ("workflow_id", "unit"),
        CommandRow(
            "states retry", "Let a failed unit of a run that grows be taken again, as a new attempt of the same unit."
        ),
    ),
    "rewind_unit": Row(
        "dcf.features.growing.verbs",
        "growing",
        "plan",
        ("member", "operator"),
        ("workflow_id", "unit"),
        CommandRow(
            "states rewind",
            "Reopen a unit of a run that grows, and all that followed it: their holders must stop, and outputs are gone.",
        ),
    ),
    "close_run": Row(
        "dcf.features.growing.verbs",
        "growing",
        "plan",
        ("member", "operator"),
        ("workflow_id",),
        CommandRow(
            "runs close",
            "End a run that grows, with a summary. Refused while units have not ended well, unless forced.",
        ),
    ),
    "read_health": Row("dcf.features.health.verbs", "operations", "operate", ("operator",), (), None),
    "add_journal_entry": Row(
        "dcf.features.journal.verbs",
        "journal",
        "work",
        ("member",),
        ("workflow_id", "kind", "text", "agent_id"),
        CommandRow(
            "journal add",
            "Write into the run's journal what must not get lost: decisions, how far you are, what is wrong.",
        ),
    ),
    "read_journal": Row(
        "dcf.features.journal.verbs",
        "journal",
        "read",
        ("assistant", "member", "operator"),
        ("workflow_id",),
        CommandRow("journal ls", "Show the journal of a run: `dcf journal ls RUN` is enough."),
    ),
    "resolve_issue": Row(
        "dcf.features.journal.verbs",
        "journal",
        "read",
        ("member", "operator", "planner"),
        ("workflow_id", "issue", "how"),
        CommandRow(
            "journal resolve",
            "Resolve an issue of the journal, as a person, planner or operator; of one that does not block, also as author.",
        ),
    ),
    "list_human_tasks": Row(
        "dcf.features.people.verbs",
        "people",
        "read",
        ("operator", "person", "planner"),
        (),
        CommandRow(
            "inbox",
            "List what waits for people: tasks, questions, verdicts, blocking issues; with RUN what waits in it, with STATE one task and how to answer it.",
        ),
    ),
    "answer_human_task": Row(
        "dcf.features.people.verbs",
        "people",
        "answer",
        ("operator", "person"),
        ("workflow_id", "state"),
        CommandRow(
            "approve",
            "Answer a task of a run with approve. The first answer counts; who answered stands in the run's history.",
        ),
        (
            CommandRow("tasks reject", "Answer a task of a run with reject, and say why with --comment."),
            CommandRow("tasks answer", "Answer a task of a run with one of its choices."),
        ),
    ),
    "put_project": Row(
        "dcf.features.projects.verbs",
        "projects",
        "work",
        ("operator",),
        ("project",),
        CommandRow(
            "projects add", "Make a project known, or add to it: call this once where you begin to work in a directory."
        ),
    ),
    "get_project": Row(
        "dcf.features.projects.verbs",
        "projects",
        "read",
        ("member", "operator"),
        (),
        CommandRow(
            "projects show", "Read a project by its id, or by a directory that you work in, with how its runs stand."
        ),
    ),
    "list_projects": Row(
        "dcf.features.projects.verbs",
        "projects",
        "read",
        ("operator",),
        (),
        CommandRow("projects ls", "List projects, those that were used last first."),
    ),
    "delete_project": Row(
        "dcf.features.projects.verbs",
        "projects",
        "plan",
        ("operator",),
        ("project",),
        CommandRow(
            "projects delete",
            "Forget a project and its indexed files; its runs, and what else names it, stay. Repeated, it finds it gone.",
        ),
    ),
    "leave_note": Row(
        "dcf.features.questions.verbs",
        "execution",
        "work",
        ("operator", "planner", "worker"),
        ("workflow_id", "text", "agent_id"),
        CommandRow(
            "runs note", "Leave a note for the planner of a run: in the run's history, and in the planner's inbox."
        ),
    ),
    "ask_question": Row(
        "dcf.features.questions.verbs",
        "execution",
        "work",
        ("worker",),
        ("workflow_id", "state", "lease_token", "question"),
        CommandRow(
            "tasks ask",
            "Ask the planner or people, as the holder of a state; the state is given back until the answer is there.",
        ),
    ),
    "answer_question": Row(
        "dcf.features.questions.verbs",
        "people",
        "read",
        ("operator", "person", "planner"),
        ("workflow_id", "question_id", "answer"),
        CommandRow(
            "tasks reply",
            "Answer a question of a worker; the first answer counts. `dcf inbox` lists what waits for an answer.",
        ),
    ),
    "correct_result": Row(
        "dcf.features.questions.correction_verbs",
        "execution",
        "work",
        ("member", "operator"),
        ("workflow_id", "state", "output_json"),
        CommandRow(
            "states correct",
            "Correct the result of a state, until what follows has used it: leased, joined, or ended with it.",
        ),
    ),
    "delete_run": Row(
        "dcf.features.retention.verbs",
        "operations",
        "plan",
        ("operator",),
        ("workflow_id",),
        CommandRow("runs delete", "Delete a run that is over, with its documents, outputs and history, for good."),
    ),
    "hold_run": Row(
        "dcf.features.retention.verbs",
        "operations",
        "plan",
        ("operator",),
        ("workflow_id",),
        CommandRow(
            "runs hold",
            "Keep a run: on hold it is not deleted and does not expire, until `dcf runs hold RUN --release`.",
        ),
    ),
    "create_schedule": Row(
        "dcf.features.schedules.verbs",
        "schedules",
        "plan",
        ("operator", "planner"),
        ("name",),
        CommandRow(
            "schedules add",
            "Create a schedule. NAME alone as --workflow stands for the newest document of that name at each tick.",
        ),
    ),
    "list_schedules": Row(
        "dcf.features.schedules.verbs",
        "schedules",
        "read",
        ("operator", "planner"),
        (),
        CommandRow(
            "schedules ls",
            "List the schedules by name: when each ticks next, and what keeps it from starting its runs.",
        ),
        (
            CommandRow(
                "schedules show", "Show a schedule: its next tick, and what became of the latest ones, with their runs."
            ),
        ),
    ),
    "operate_schedule": Row(
        "dcf.features.schedules.verbs",
        "schedules",
        "plan",
        ("operator", "planner"),
        ("name", "action"),
        CommandRow(
            "schedules resume",
            "Resume a schedule that was paused or has stopped. Its catch-up decides about missed ticks.",
        ),
        (
            CommandRow(
                "schedules pause",
                "Let a schedule start nothing until `dcf schedules resume`. Runs that go on are left alone.",
            ),
            CommandRow(
                "schedules trigger",
                "Start a run of a schedule now, out of turn, whatever runs and even if paused. Prints its id.",
            ),
        ),
    ),
    "delete_schedule": Row(
        "dcf.features.schedules.verbs",
        "schedules",
        "plan",
        ("operator",),
        ("name",),
        CommandRow(
            "schedules delete",
            "Delete a schedule for good; the runs that it started stay. Repeated, it finds that it is gone.",
        ),
    ),
    "search": Row(
        "dcf.features.search.verbs",
        "knowledge",
        "read",
        ("member",),
        ("query",),
        CommandRow(
            "runs search",
            'Search what is known, indexed files, and what runs wrote, at once: all words, and "a phrase" as it stands.',
        ),
    ),
    "log_event": Row(
        "dcf.features.task_log.verbs",
        "execution",
        "work",
        (),
        ("workflow_id", "state", "lease_token", "number", "message"),
        None,
        for_programs=True,
    ),
    "read_usage": Row(
        "dcf.features.usage.verbs",
        "operations",
        "read",
        ("operator",),
        (),
        CommandRow(
            "runs usage",
            "Read what work used up, of one run, agent or project: tokens, money by currency, seconds, as far as reported.",
        ),
    ),
    "set_budget": Row(
        "dcf.features.usage.verbs",
        "operations",
        "plan",
        ("operator",),
        ("workflow_id", "budget_json"),
        CommandRow(
            "runs budget",
            "Say what a run may use up; limits that are not named stay. Once one is used up, nobody gets a lease in it.",
        ),
    ),
    "register_agent": Row(
        "dcf.features.webhooks.verbs",
        "agents",
        "operate",
        ("operator",),
        ("agent_id",),
        CommandRow(
            "agents add",
            "Register an agent that is a webhook: dcf posts it its work, signed; it answers at once and ends the work later.",
        ),
        (
            CommandRow(
                "agents rotate",
                "Make a new key and print its secret, this once. The old one signs too, until the next rotation.",
                "dcf.cli.features.webhooks:rotate",
            ),
        ),
    ),
    "list_registered_agents": Row(
        "dcf.features.webhooks.verbs",
        "agents",
        "operate",
        ("operator",),
        (),
        CommandRow(
            "agents ls",
            "List the agents that were registered: where they are, the ids of their keys, and why one is left alone now.",
        ),
    ),
    "find_work": Row(
        "dcf.features.work.verbs",
        "execution",
        "read",
        ("assistant", "member"),
        (),
        CommandRow(
            "states ls", "List what there is to do across all runs: what is held, what is ready, what stands still."
        ),
    ),
    "create_worker_agents": Row("dcf.tools.verbs.agents", "agents", "plan", ("operator", "planner"), (), None),
    "resolve_agent_name_to_id": Row("dcf.tools.verbs.agents", "agents", "read", ("operator",), ("agent_name",), None),
    "delete_agent": Row(
        "dcf.tools.verbs.agents",
        "agents",
        "plan",
        ("operator",),
        (),
        CommandRow("agents delete", "Remove an agent: it gets no more work, and its task tokens serve no more."),
    ),
    "remove_tool_return_limits": Row("dcf.tools.verbs.agents", "agents", "plan", ("operator",), ("agent_id",), None),
    "get_my_assignment": Row(
        "dcf.tools.verbs.assignment", "agents", "read", ("member", "operator", "worker"), ("agent_id",), None
    ),
    "csv_to_manifests": Row("dcf.tools.verbs.authoring", "authoring", "admin", (), (), None),
    "csv_to_stub_config": Row("dcf.tools.verbs.authoring", "authoring", "admin", (), (), None),
    "await_workflow_event": Row(
        "dcf.tools.verbs.awaiting", "notification", "work", ("member", "planner", "worker"), ("agent_id",), None
    ),
    "complete_states": Row(
        "dcf.tools.verbs.completion", "execution", "work", (), ("workflow_id", "results"), None, for_programs=True
    ),
    "read_workflow_control_plane": Row(
        "dcf.tools.verbs.execution", "execution", "read", ("member", "operator", "planner"), ("workflow_id",), None
    ),
    "update_workflow_control_plane": Row(
        "dcf.tools.verbs.execution",
        "execution",
        "work",
        ("member", "operator", "worker"),
        ("workflow_id", "state"),
        None,
    ),
    "list_directory": Row("dcf.tools.verbs.files", "files", "read", ("operator",), (), None),
    "read_file": Row("dcf.tools.verbs.files", "files", "read", ("operator",), ("path",), None),
    "write_file": Row("dcf.tools.verbs.files", "files", "work", ("operator",), ("path", "content"), None),
    "create_directory": Row("dcf.tools.verbs.files", "files", "work", (), ("path",), None),
    "delete_path": Row("dcf.tools.verbs.files", "files", "work", (), ("path",), None),
    "move_path": Row("dcf.tools.verbs.files", "files", "work", (), ("source", "destination"), None),
    "describe_workflow_language": Row(
        "dcf.tools.verbs.language", "planning", "read", ("operator", "planner"), (), None
    ),
    "acquire_state_lease": Row(
        "dcf.tools.verbs.leases", "execution", "work", ("worker",), ("workflow_id", "state", "owner_agent_id"), None
    ),
    "claim_ready_state": Row(
        "dcf.tools.verbs.leases", "execution", "work", ("member", "worker"), ("workflow_id", "agent_id"), None
    ),
    "renew_state_lease": Row(
        "dcf.tools.verbs.leases",
        "execution",
        "work",
        ("member", "worker"),
        ("workflow_id", "state", "lease_token"),
        None,
    ),
    "release_state_lease": Row(
        "dcf.tools.verbs.leases",
        "execution",
        "work",
        ("member", "operator", "worker"),
        ("workflow_id", "state"),
        CommandRow(
            "states release",
            "End the lease on a state, whoever holds it, so that another agent can take it; its late result is refused.",
        ),
    ),
    "cancel_run": Row(
        "dcf.tools.verbs.lifecycle",
        "operations",
        "plan",
        ("operator", "planner"),
        ("workflow_id",),
        CommandRow("cancel", "End a run at once: call this when its work is not wanted any more."),
    ),
    "pause_run": Row(
        "dcf.tools.verbs.lifecycle",
        "operations",
        "plan",
        ("operator",),
        ("workflow_id",),
        CommandRow(
            "runs pause",
            "Pause a run: nobody gets a lease until `dcf runs resume RUN`; those who work may renew, finish and release.",
        ),
    ),
    "resume_run": Row(
        "dcf.tools.verbs.lifecycle",
        "operations",
        "plan",
        ("operator",),
        ("workflow_id",),
        CommandRow("runs resume", "Let a paused run go on: the agents of all states that can be taken are told."),
    ),
    "resolve_state": Row(
        "dcf.tools.verbs.lifecycle",
        "operations",
        "plan",
        ("operator", "planner"),
        ("workflow_id", "state"),
        CommandRow(
            "states resolve",
            "End one open state by hand, or give it to other agents: use it where its agent cannot finish it.",
        ),
    ),
    "notify_next_worker_agent": Row(
        "dcf.tools.verbs.notification",
        "notification",
        "work",
        ("operator", "planner"),
        ("workflow_id",),
        CommandRow(
            "runs notify",
            "Tell agents of work: without STATE start the run and tell who comes first; with it tell its agents again.",
            "dcf.cli.commands.lifecycle:notify",
        ),
    ),
    "notify_if_ready": Row(
        "dcf.tools.verbs.notification", "notification", "plan", ("operator",), ("workflow_id", "state"), None
    ),
    "create_workflow_control_plane": Row(
        "dcf.tools.verbs.planning", "planning", "plan", ("operator",), ("workflow_json",), None
    ),
    "finalize_workflow": Row(
        "dcf.tools.verbs.planning",
        "planning",
        "plan",
        ("operator", "planner"),
        ("workflow_id",),
        CommandRow(
            "runs finalize",
            "Close a run for good: write its audit record, cancel what is open, delete the agents that were made for it.",
        ),
    ),
    "list_runs": Row(
        "dcf.tools.verbs.runs",
        "operations",
        "read",
        ("operator", "planner"),
        (),
        CommandRow(
            "ls",
            "List runs, newest first; one line for each. Without filters those that are stuck come before.",
            "dcf.cli.reading.runs:list_runs",
        ),
    ),
    "validate_skill_manifest": Row("dcf.tools.verbs.skills", "skills", "read", ("operator",), ("skill_json",), None),
    "get_skillset": Row("dcf.tools.verbs.skills", "skills", "read", ("planner",), (), None),
    "get_skillset_from_catalog": Row("dcf.tools.verbs.skills", "skills", "read", ("operator",), (), None),
    "load_skill": Row("dcf.tools.verbs.skills", "skills", "work", ("worker",), ("skill_json", "agent_id"), None),
    "unload_skill": Row(
        "dcf.tools.verbs.skills", "skills", "work", ("operator", "worker"), ("manifest_id", "agent_id"), None
    ),
    "start_run": Row(
        "dcf.tools.verbs.starting",
        "operations",
        "plan",
        ("operator", "planner"),
        (),
        CommandRow(
            "start",
            "Start a run and return: its agents do the work, such as `dcf worker` with their agent id.",
            "dcf.cli.commands.starting:start",
        ),
    ),
    "rerun": Row(
        "dcf.tools.verbs.starting",
        "operations",
        "plan",
        ("operator", "planner"),
        ("workflow_id",),
        CommandRow(
            "runs rerun",
            "Repeat a run as a new one: from its beginning, or with --from STATE from there, with the input it had.",
        ),
    ),
    "retry_run": Row(
        "dcf.tools.verbs.starting",
        "operations",
        "plan",
        ("operator", "planner"),
        ("workflow_id",),
        CommandRow(
            "retry",
            "Continue a run that failed, timed out, was cancelled or is on hold: call this once the cause is corrected.",
        ),
    ),
    "validate_workflow": Row(
        "dcf.tools.verbs.validation", "planning", "read", ("operator", "planner"), ("workflow_json",), None
    ),
}
