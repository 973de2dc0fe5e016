"""A row for each verb, and for each command of one. Derived by `make verbs`; do not edit."""

from collections.abc import Mapping
from typing import Final

from dcf.verbs.description.row import CommandRow, Row

TABLE: Final[Mapping[str, Row]] = {
    "get_context": Row("dcf.features.agent_context.verbs", "journal", "read", "assistant member", ""),
    "put_artifact": Row(
        "dcf.features.artifacts.verbs", "artifacts", "work", "assistant member", "workflow_id name content"
    ),
    "get_artifact": Row("dcf.features.artifacts.verbs", "artifacts", "read", "member", "workflow_id artifact_id"),
    "list_artifacts": Row("dcf.features.artifacts.verbs", "artifacts", "read", "operator", "workflow_id"),
    "put_definition": Row("dcf.features.catalogue.verbs", "knowledge", "work", "operator", "kind name content"),
    "get_definition": Row("dcf.features.catalogue.verbs", "knowledge", "read", "member", "kind name"),
    "search_definitions": Row("dcf.features.catalogue.verbs", "knowledge", "read", "member", ""),
    "delete_definition": Row("dcf.features.catalogue.verbs", "knowledge", "operate", "operator", "kind name"),
    "explain_run": Row("dcf.features.diagnosis.verbs", "operations", "read", "member operator planner", "workflow_id"),
    "read_run_events": Row("dcf.features.diagnosis.verbs", "operations", "read", "operator planner", "workflow_id"),
    "export_run": Row("dcf.features.diagnosis.verbs", "operations", "read", "", "workflow_id", for_programs=True),
    "json_create": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", ""),
    "json_read": Row("dcf.features.documents.verbs", "redis_json", "read", "operator", "redis_key"),
    "json_set": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", "redis_key path value_json"),
    "json_ensure": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", "redis_key path default_json"),
    "json_append": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", "redis_key path value_json"),
    "json_merge": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", "redis_key path patch_json"),
    "json_increment": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", "redis_key path delta"),
    "json_delete": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", "redis_key path"),
    "json_copy": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", "redis_key from_path to_path"),
    "json_move": Row("dcf.features.documents.verbs", "redis_json", "work", "operator", "redis_key from_path to_path"),
    "send_signal": Row("dcf.features.external.verbs", "people", "plan", "operator planner", "workflow_id name"),
    "send_task_success": Row("dcf.features.external.callback_verbs", "people", "work", "operator", "task_token"),
    "send_task_failure": Row("dcf.features.external.callback_verbs", "people", "work", "operator", "task_token"),
    "send_task_heartbeat": Row("dcf.features.external.callback_verbs", "people", "work", "operator", "task_token"),
    "add_finding": Row("dcf.features.findings.verbs", "knowledge", "work", "member", "severity category title text"),
    "search_findings": Row("dcf.features.findings.verbs", "knowledge", "read", "member", ""),
    "get_finding": Row("dcf.features.findings.verbs", "knowledge", "read", "", "finding_id"),
    "update_finding": Row("dcf.features.findings.verbs", "knowledge", "work", "member", "finding_id"),
    "delete_finding": Row("dcf.features.findings.verbs", "knowledge", "operate", "operator", "finding_id"),
    "promote_issue": Row("dcf.features.findings.promotion_verbs", "knowledge", "work", "", "workflow_id issue"),
    "list_gates": Row("dcf.features.gates.verbs", "gates", "read", "member operator", ""),
    "decide_gate": Row(
        "dcf.features.gates.verbs", "gates", "read", "member worker", "workflow_id state gate verdict content_sha256"
    ),
    "override_gate": Row(
        "dcf.features.gates.override_verbs", "gates", "override", "operator", "workflow_id state reason"
    ),
    "open_run": Row("dcf.features.growing.verbs", "growing", "plan", "member", "name"),
    "add_units": Row("dcf.features.growing.verbs", "growing", "plan", "member", "workflow_id units"),
    "seal_group": Row("dcf.features.growing.verbs", "growing", "plan", "member", "workflow_id"),
    "retry_unit": Row("dcf.features.growing.verbs", "growing", "plan", "member operator", "workflow_id unit"),
    "rewind_unit": Row("dcf.features.growing.verbs", "growing", "plan", "member operator", "workflow_id unit"),
    "close_run": Row("dcf.features.growing.verbs", "growing", "plan", "member operator", "workflow_id"),
    "read_health": Row("dcf.features.health.verbs", "operations", "operate", "operator", ""),
    "add_journal_entry": Row(
        "dcf.features.journal.verbs", "journal", "work", "member", "workflow_id kind text agent_id"
    ),
    "read_journal": Row("dcf.features.journal.verbs", "journal", "read", "assistant member operator", "workflow_id"),
    "resolve_issue": Row(
        "dcf.features.journal.verbs", "journal", "read", "member operator planner", "workflow_id issue how"
    ),
    "list_human_tasks": Row("dcf.features.people.verbs", "people", "read", "operator person planner", ""),
    "answer_human_task": Row("dcf.features.people.verbs", "people", "answer", "operator person", "workflow_id state"),
    "put_project": Row("dcf.features.projects.verbs", "projects", "work", "operator", "project"),
    "get_project": Row("dcf.features.projects.verbs", "projects", "read", "member operator", ""),
    "list_projects": Row("dcf.features.projects.verbs", "projects", "read", "operator", ""),
    "delete_project": Row("dcf.features.projects.verbs", "projects", "plan", "operator", "project"),
    "leave_note": Row(
        "dcf.features.questions.verbs", "execution", "work", "operator planner worker", "workflow_id text agent_id"
    ),
    "ask_question": Row(
        "dcf.features.questions.verbs", "execution", "work", "worker", "workflow_id state lease_token question"
    ),
    "answer_question": Row(
        "dcf.features.questions.verbs", "people", "read", "operator person planner", "workflow_id question_id answer"
    ),
    "correct_result": Row(
        "dcf.features.questions.correction_verbs",
        "execution",
        "work",
        "member operator",
        "workflow_id state output_json",
    ),
    "delete_run": Row("dcf.features.retention.verbs", "operations", "plan", "operator", "workflow_id"),
    "hold_run": Row("dcf.features.retention.verbs", "operations", "plan", "operator", "workflow_id"),
    "create_schedule": Row("dcf.features.schedules.verbs", "schedules", "plan", "operator planner", "name"),
    "list_schedules": Row("dcf.features.schedules.verbs", "schedules", "read", "operator planner", ""),
    "operate_schedule": Row("dcf.features.schedules.verbs", "schedules", "plan", "operator planner", "name action"),
    "delete_schedule": Row("dcf.features.schedules.verbs", "schedules", "plan", "operator", "name"),
    "search": Row("dcf.features.search.verbs", "knowledge", "read", "member", "query"),
    "log_event": Row(
        "dcf.features.task_log.verbs",
        "execution",
        "work",
        "",
        "workflow_id state lease_token number message",
        for_programs=True,
    ),
    "read_usage": Row("dcf.features.usage.verbs", "operations", "read", "operator", ""),
    "set_budget": Row("dcf.features.usage.verbs", "operations", "plan", "operator", "workflow_id budget_json"),
    "register_agent": Row("dcf.features.webhooks.verbs", "agents", "operate", "operator", "agent_id"),
    "list_registered_agents": Row("dcf.features.webhooks.verbs", "agents", "operate", "operator", ""),
    "find_work": Row("dcf.features.work.verbs", "execution", "read", "assistant member", ""),
    "create_worker_agents": Row("dcf.tools.verbs.agents", "agents", "plan", "operator planner", ""),
    "resolve_agent_name_to_id": Row("dcf.tools.verbs.agents", "agents", "read", "operator", "agent_name"),
    "delete_agent": Row("dcf.tools.verbs.agents", "agents", "plan", "operator", ""),
    "remove_tool_return_limits": Row("dcf.tools.verbs.agents", "agents", "plan", "operator", "agent_id"),
    "get_my_assignment": Row("dcf.tools.verbs.assignment", "agents", "read", "member operator worker", "agent_id"),
    "csv_to_manifests": Row("dcf.tools.verbs.authoring", "authoring", "admin", "", ""),
    "csv_to_stub_config": Row("dcf.tools.verbs.authoring", "authoring", "admin", "", ""),
    "await_workflow_event": Row(
        "dcf.tools.verbs.awaiting", "notification", "work", "member planner worker", "agent_id"
    ),
    "complete_states": Row(
        "dcf.tools.verbs.completion", "execution", "work", "", "workflow_id results", for_programs=True
    ),
    "read_workflow_control_plane": Row(
        "dcf.tools.verbs.execution", "execution", "read", "member operator planner", "workflow_id"
    ),
    "update_workflow_control_plane": Row(
        "dcf.tools.verbs.execution", "execution", "work", "member operator worker", "workflow_id state"
    ),
    "list_directory": Row("dcf.tools.verbs.files", "files", "read", "operator", ""),
    "read_file": Row("dcf.tools.verbs.files", "files", "read", "operator", "path"),
    "write_file": Row("dcf.tools.verbs.files", "files", "work", "operator", "path content"),
    "create_directory": Row("dcf.tools.verbs.files", "files", "work", "", "path"),
    "delete_path": Row("dcf.tools.verbs.files", "files", "work", "", "path"),
    "move_path": Row("dcf.tools.verbs.files", "files", "work", "", "source destination"),
    "describe_workflow_language": Row("dcf.tools.verbs.language", "planning", "read", "operator planner", ""),
    "acquire_state_lease": Row(
        "dcf.tools.verbs.leases", "execution", "work", "worker", "workflow_id state owner_agent_id"
    ),
    "claim_ready_state": Row("dcf.tools.verbs.leases", "execution", "work", "member worker", "workflow_id agent_id"),
    "renew_state_lease": Row(
        "dcf.tools.verbs.leases", "execution", "work", "member worker", "workflow_id state lease_token"
    ),
    "release_state_lease": Row(
        "dcf.tools.verbs.leases", "execution", "work", "member operator worker", "workflow_id state"
    ),
    "cancel_run": Row("dcf.tools.verbs.lifecycle", "operations", "plan", "operator planner", "workflow_id"),
    "pause_run": Row("dcf.tools.verbs.lifecycle", "operations", "plan", "operator", "workflow_id"),
    "resume_run": Row("dcf.tools.verbs.lifecycle", "operations", "plan", "operator", "workflow_id"),
    "resolve_state": Row("dcf.tools.verbs.lifecycle", "operations", "plan", "operator planner", "workflow_id state"),
    "notify_next_worker_agent": Row(
        "dcf.tools.verbs.notification", "notification", "work", "operator planner", "workflow_id"
    ),
    "notify_if_ready": Row("dcf.tools.verbs.notification", "notification", "plan", "operator", "workflow_id state"),
    "create_workflow_control_plane": Row("dcf.tools.verbs.planning", "planning", "plan", "operator", "workflow_json"),
    "finalize_workflow": Row("dcf.tools.verbs.planning", "planning", "plan", "operator planner", "workflow_id"),
    "list_runs": Row("dcf.tools.verbs.runs", "operations", "read", "operator planner", ""),
    "validate_skill_manifest": Row("dcf.tools.verbs.skills", "skills", "read", "operator", "skill_json"),
    "get_skillset": Row("dcf.tools.verbs.skills", "skills", "read", "planner", ""),
    "get_skillset_from_catalog": Row("dcf.tools.verbs.skills", "skills", "read", "operator", ""),
    "load_skill": Row("dcf.tools.verbs.skills", "skills", "work", "worker", "skill_json agent_id"),
    "unload_skill": Row("dcf.tools.verbs.skills", "skills", "work", "operator worker", "manifest_id agent_id"),
    "start_run": Row("dcf.tools.verbs.starting", "operations", "plan", "operator planner", ""),
    "rerun": Row("dcf.tools.verbs.starting", "operations", "plan", "operator planner", "workflow_id"),
    "retry_run": Row("dcf.tools.verbs.starting", "operations", "plan", "operator planner", "workflow_id"),
    "validate_workflow": Row("dcf.tools.verbs.validation", "planning", "read", "operator planner", "workflow_json"),
}

COMMANDS: Final[Mapping[str, CommandRow]] = {
    "runs brief": CommandRow(
        "get_context",
        "Ask where you are and what is next, after a restart or when your memory was cut: one call shows all of it.",
    ),
    "artifacts add": CommandRow(
        "put_artifact", "Keep a file with a run and print its id. The same content again is the same artifact."
    ),
    "artifacts show": CommandRow(
        "get_artifact", "Write an artifact's content to standard output or a file; it is checked by its SHA-256."
    ),
    "artifacts ls": CommandRow(
        "list_artifacts",
        "List a run's artifacts, oldest first, without their content. --cursor continues after a page.",
    ),
    "catalogue add": CommandRow(
        "put_definition",
        "Keep a definition that agents work by: a rule, persona, workflow, template. New content is a new version.",
    ),
    "catalogue show": CommandRow(
        "get_definition", "Read a definition: that of the session, else of the project, else for everybody."
    ),
    "catalogue ls": CommandRow(
        "search_definitions",
        "Find what there is to work by: rules for your files, workflows, personas. The best first, else the newest.",
    ),
    "catalogue delete": CommandRow(
        "delete_definition", "Delete a definition with all its versions. Runs that were opened with it keep its hash."
    ),
    "why": CommandRow(
        "explain_run",
        "Explain why a run, or one state of it, does not move, and what helps.",
        "dcf.cli.reading.why:why",
    ),
    "runs events": CommandRow(
        "read_run_events",
        "Print what happened in a run, in order; with --follow also what happens next, until the run ends.",
        "dcf.cli.reading.events:events",
    ),
    "runs signal": CommandRow(
        "send_signal",
        "Send a signal into a run, for a Task with the Resource dcf:signal: call this when what it waits for has happened.",
    ),
    "states succeed": CommandRow(
        "send_task_success",
        "Answer a Task that waits for a callback: call this when what its task token was handed out for is done.",
    ),
    "states fail": CommandRow(
        "send_task_failure",
        "Fail a Task that waits for a callback: call this when what its task token was handed out for cannot be done.",
    ),
    "states heartbeat": CommandRow(
        "send_task_heartbeat",
        "Say that a Task which waits for a callback is still worked on, before its HeartbeatSeconds pass.",
    ),
    "findings add": CommandRow(
        "add_finding",
        "Keep what you learned for later runs: call this for what the next agent should know. No output, no log.",
    ),
    "findings ls": CommandRow(
        "search_findings",
        "Find what was learned before: call this before you begin. The best come first, without text the newest.",
    ),
    "findings show": CommandRow("get_finding", "Read one finding whole, with its later results."),
    "findings update": CommandRow(
        "update_finding",
        "Correct a finding, or say that it is no longer true: deprecated, or superseded_by a better one.",
    ),
    "findings delete": CommandRow(
        "delete_finding",
        "Delete a finding permanently, such as one with a secret in it. Deprecate a finding that is no longer true.",
    ),
    "findings promote": CommandRow(
        "promote_issue",
        "Keep an issue of a run's journal as a finding, so that later runs know of it. Each issue becomes one.",
    ),
    "gates ls": CommandRow(
        "list_gates", "Show the outputs of a run that wait for a verdict before they count, with their criteria."
    ),
    "gates decide": CommandRow("decide_gate", "Judge the output that waits at a gate. Its author cannot review it."),
    "gates override": CommandRow(
        "override_gate", "Let the output of a state pass its gates, whatever they say, for this visit of the state."
    ),
    "runs open": CommandRow(
        "open_run",
        "Open a run without a workflow: you add units of work to it while it is open (`dcf states add RUN UNITS`), and close it at last.",
    ),
    "states add": CommandRow(
        "add_units",
        "Add units of work, and groups of them, to a run that grows: all of them or, if something is wrong, none.",
    ),
    "runs seal": CommandRow(
        "seal_group",
        "Say that nothing more comes into a group, or into the run: it ends once all that is in it has ended well.",
    ),
    "states retry": CommandRow(
        "retry_unit", "Let a failed unit of a run that grows be taken again, as a new attempt of the same unit."
    ),
    "states rewind": CommandRow(
        "rewind_unit",
        "Reopen a unit of a run that grows, and all that followed it: their holders must stop, and outputs are gone.",
    ),
    "runs close": CommandRow(
        "close_run", "End a run that grows, with a summary. Refused while units have not ended well, unless forced."
    ),
    "journal add": CommandRow(
        "add_journal_entry",
        "Write into the run's journal what must not get lost: decisions, how far you are, what is wrong.",
    ),
    "journal ls": CommandRow("read_journal", "Show the journal of a run: `dcf journal ls RUN` is enough."),
    "journal resolve": CommandRow(
        "resolve_issue",
        "Resolve an issue of the journal, as a person, planner or operator, or as its author if it does not block.",
    ),
    "inbox": CommandRow(
        "list_human_tasks",
        "List what waits for people: tasks, questions, verdicts, blocking issues; with RUN what waits in it, with STATE one task and how to answer it.",
    ),
    "approve": CommandRow(
        "answer_human_task",
        "Answer a task of a run with approve. The first answer counts; the run's history says who answered.",
    ),
    "tasks reject": CommandRow(
        "answer_human_task",
        "Answer a task of a run with reject, and say why with --comment. An output at a gate is sent back.",
    ),
    "tasks answer": CommandRow("answer_human_task", "Answer a task of a run with one of its choices."),
    "projects add": CommandRow(
        "put_project", "Make a project known, or add to it: call this once where you begin to work in a directory."
    ),
    "projects show": CommandRow(
        "get_project", "Read a project by its id, or by a directory that you work in, with how its runs stand."
    ),
    "projects ls": CommandRow("list_projects", "List projects, those that were used last first."),
    "projects delete": CommandRow(
        "delete_project",
        "Forget a project and its indexed files; its runs, and what else names it, stay. Repeated, it finds it gone.",
    ),
    "runs note": CommandRow(
        "leave_note", "Leave a note for the planner of a run: in the run's history, and in the planner's inbox."
    ),
    "tasks ask": CommandRow(
        "ask_question",
        "Ask the planner or people, as the holder of a state; the state is released until the answer is there.",
    ),
    "tasks reply": CommandRow(
        "answer_question",
        "Answer a question of a worker; the first answer counts. `dcf inbox` lists what waits for an answer.",
    ),
    "states correct": CommandRow(
        "correct_result",
        "Correct the result of a state, until what follows has used it: leased, joined, or ended with it.",
    ),
    "runs delete": CommandRow(
        "delete_run", "Delete an ended run permanently, with its documents, outputs and history."
    ),
    "runs hold": CommandRow(
        "hold_run", "Keep a run: on hold it is not deleted and does not expire, until `dcf runs hold RUN --release`."
    ),
    "schedules add": CommandRow(
        "create_schedule",
        "Create a schedule. NAME alone as --workflow stands for the newest document of that name at each tick.",
    ),
    "schedules ls": CommandRow(
        "list_schedules", "List the schedules by name: when each ticks next, and what keeps it from starting its runs."
    ),
    "schedules show": CommandRow(
        "list_schedules", "Show a schedule: its next time, and the outcome of the latest ones, with their runs."
    ),
    "schedules resume": CommandRow(
        "operate_schedule", "Resume a schedule that was paused or has stopped. Its catch-up decides about missed ticks."
    ),
    "schedules pause": CommandRow(
        "operate_schedule", "Let a schedule start nothing until `dcf schedules resume`. Running runs are left alone."
    ),
    "schedules trigger": CommandRow(
        "operate_schedule",
        "Start a run of a schedule now, out of turn, whatever runs and even if paused. Prints its id.",
    ),
    "schedules delete": CommandRow(
        "delete_schedule",
        "Delete a schedule permanently; the runs that it started stay. Repeated, it finds that it is gone.",
    ),
    "runs search": CommandRow(
        "search", 'Search what is known, indexed files, and what runs wrote, at once: all words, or "a phrase" exactly.'
    ),
    "runs usage": CommandRow(
        "read_usage",
        "Read what work used up, of one run, agent or project: tokens, money by currency, seconds, as far as reported.",
    ),
    "runs budget": CommandRow(
        "set_budget",
        "Say what a run may use up; limits that are not named stay. Once one is used up, no lease is granted in it.",
    ),
    "agents add": CommandRow(
        "register_agent",
        "Register an agent that is a webhook: dcf posts it its work, signed; it answers at once and ends the work later.",
    ),
    "agents rotate": CommandRow(
        "register_agent",
        "Make a new key and print its secret, this once. The old one signs too, until the next rotation.",
        "dcf.cli.features.webhooks:rotate",
    ),
    "agents ls": CommandRow(
        "list_registered_agents",
        "List the agents that were registered: where they are, the ids of their keys, and why one is left alone now.",
    ),
    "states ls": CommandRow("find_work", "List the states of all runs: leased, ready or stuck."),
    "agents delete": CommandRow(
        "delete_agent", "Remove an agent: it gets no more work, and its task tokens serve no more."
    ),
    "states release": CommandRow(
        "release_state_lease",
        "End another agent's lease on a state so that others can acquire it; its late result is refused.",
    ),
    "cancel": CommandRow("cancel_run", "End a run at once: call this when its work is no longer wanted."),
    "runs pause": CommandRow(
        "pause_run",
        "Pause a run: no lease is granted until `dcf runs resume RUN`; lease holders may renew, finish and release.",
    ),
    "runs resume": CommandRow("resume_run", "Resume a paused run: the agents of all ready states are notified."),
    "states resolve": CommandRow(
        "resolve_state",
        "End one open state by hand, or give it to other agents: use it where its agent cannot finish it.",
    ),
    "runs notify": CommandRow(
        "notify_next_worker_agent",
        "Notify agents: without STATE start the run and notify its first agents; with it notify the state's agents.",
        "dcf.cli.commands.lifecycle:notify",
    ),
    "runs finalize": CommandRow(
        "finalize_workflow",
        "Close a run permanently: write its audit record, cancel what is open, delete the agents that were made for it.",
    ),
    "ls": CommandRow(
        "list_runs",
        "List runs, newest first; one line for each. Without filters those that are stuck come before.",
        "dcf.cli.reading.runs:list_runs",
    ),
    "start": CommandRow(
        "start_run",
        "Start a run and return: its agents do the work, such as `dcf worker` with their agent id.",
        "dcf.cli.commands.starting:start",
    ),
    "runs rerun": CommandRow(
        "rerun",
        "Repeat a run as a new one: from its beginning, or with --from STATE from there, with the input it had.",
    ),
    "retry": CommandRow(
        "retry_run",
        "Continue a run that failed, timed out, was cancelled or is on hold: call this once the cause is corrected.",
    ),
}
