"""How each interface calls each verb. Derived from the descriptions by `make verbs`; do not edit."""

from collections.abc import Mapping
from typing import Final

from dcf.verbs.wording.row import CallRow, CommandForm, MethodForm

CALLS: Final[Mapping[str, CallRow]] = {
    "get_context": CallRow(
        "workflow_id agent_id session project max_bytes",
        False,
        (
            CommandForm(
                "runs brief",
                "workflow_id=",
                "agent_id=--agent session=--session project=--project max_bytes=--max-bytes",
                {},
            ),
        ),
        MethodForm("get_context", "workflow_id", ""),
        None,
    ),
    "put_artifact": CallRow(
        "workflow_id name content content_type encoding artifact_id state agent_id sha256 part of metadata_json",
        False,
        (
            CommandForm(
                "artifacts add",
                "workflow_id=RUN file=FILE",
                "name=--name content_type=--type artifact_id=--id state=--state metadata_json=--metadata",
                {},
            ),
        ),
        MethodForm("put_artifact", "workflow_id content", "metadata_json=metadata"),
        None,
    ),
    "get_artifact": CallRow(
        "workflow_id artifact_id offset length encoding",
        False,
        (CommandForm("artifacts show", "workflow_id=RUN artifact_id=ARTIFACT", "", {}),),
        MethodForm("get_artifact", "workflow_id artifact_id", ""),
        None,
    ),
    "list_artifacts": CallRow(
        "workflow_id limit cursor",
        False,
        (CommandForm("artifacts ls", "workflow_id=RUN", "limit=--limit cursor=--cursor", {}),),
        MethodForm("list_artifacts", "workflow_id", ""),
        None,
    ),
    "put_definition": CallRow(
        "kind name content version description tags_json keywords_json globs_json always_apply complexity attributes_json project session expires_in_s source relabel reason",
        False,
        (
            CommandForm(
                "catalogue add",
                "kind=KIND name=NAME content=CONTENT",
                "version=--version description=--description tags_json=--tag keywords_json=--keyword globs_json=--glob always_apply=--always complexity=--complexity attributes_json=--attributes project=--project session=--session expires_in_s=--expiry reason=--reason",
                {"source": None, "relabel": False},
            ),
        ),
        MethodForm(
            "put_definition",
            "kind name content",
            "tags_json=tags keywords_json=keywords globs_json=globs attributes_json=attributes",
        ),
        None,
    ),
    "get_definition": CallRow(
        "kind name version sha256 detail fields_json if_none_match project session redact",
        False,
        (
            CommandForm(
                "catalogue show",
                "kind=KIND name=NAME",
                "version=--version sha256=--sha256 detail=--detail fields_json=--field if_none_match=--if-none-match project=--project session=--session redact=--redact/--with-secrets",
                {},
            ),
        ),
        MethodForm("get_definition", "kind name", "fields_json=fields"),
        None,
    ),
    "search_definitions": CallRow(
        "query kind tags_json keywords_json file_types_json always_apply complexity project session detail limit offset cursor",
        False,
        (
            CommandForm(
                "catalogue ls",
                "query=",
                "kind=--kind tags_json=--tag keywords_json=--keyword file_types_json=--file always_apply=--always/--not-always complexity=--complexity project=--project session=--session detail=--detail limit=--limit offset=--offset cursor=--cursor",
                {},
            ),
        ),
        MethodForm(
            "search_definitions", "text", "query=text tags_json=tags keywords_json=keywords file_types_json=file_types"
        ),
        None,
    ),
    "delete_definition": CallRow(
        "kind name project session reason",
        True,
        (
            CommandForm(
                "catalogue delete", "kind=KIND name=NAME", "project=--project session=--session reason=--reason", {}
            ),
        ),
        MethodForm("delete_definition", "kind name", ""),
        None,
    ),
    "explain_run": CallRow(
        "workflow_id state",
        False,
        (CommandForm("why", "workflow_id= state=", "", {}),),
        MethodForm("why", "workflow_id state", ""),
        None,
    ),
    "read_run_events": CallRow(
        "workflow_id states_json types_json since until newest_first cursor limit",
        False,
        (
            CommandForm(
                "runs events",
                "workflow_id=",
                "states_json=--state since=--since until=--until limit=--limit cursor=--cursor",
                {},
            ),
        ),
        MethodForm("events", "workflow_id", "states_json=states types_json=types"),
        None,
    ),
    "export_run": CallRow(
        "workflow_id cursor limit",
        False,
        (CommandForm("runs export", "workflow_id=", "", {}),),
        MethodForm("export", "workflow_id", ""),
        None,
    ),
    "json_create": CallRow(
        "redis_key initial_json key_prefix overwrite expires_in_s request_id",
        True,
        (),
        MethodForm("json_create", "redis_key initial", "initial_json=initial"),
        None,
    ),
    "json_read": CallRow(
        "redis_key path pretty cursor", False, (), MethodForm("json_read", "redis_key path", ""), None
    ),
    "json_set": CallRow(
        "redis_key path value_json as_text agent_id expires_in_s request_id",
        True,
        (),
        MethodForm("json_set", "redis_key path value", "value_json=value"),
        None,
    ),
    "json_ensure": CallRow(
        "redis_key path default_json as_text request_id",
        False,
        (),
        MethodForm("json_ensure", "redis_key path default", "default_json=default"),
        None,
    ),
    "json_append": CallRow(
        "redis_key path value_json spread as_text request_id",
        False,
        (),
        MethodForm("json_append", "redis_key path value", "value_json=value"),
        None,
    ),
    "json_merge": CallRow(
        "redis_key path patch_json agent_id request_id",
        True,
        (),
        MethodForm("json_merge", "redis_key path patch", "patch_json=patch"),
        None,
    ),
    "json_increment": CallRow(
        "redis_key path delta request_id", False, (), MethodForm("json_increment", "redis_key path delta", ""), None
    ),
    "json_delete": CallRow(
        "redis_key path request_id", True, (), MethodForm("json_delete", "redis_key path", ""), None
    ),
    "json_copy": CallRow(
        "redis_key from_path to_path overwrite request_id",
        True,
        (),
        MethodForm("json_copy", "redis_key from_path to_path", ""),
        None,
    ),
    "json_move": CallRow(
        "redis_key from_path to_path overwrite request_id",
        True,
        (),
        MethodForm("json_move", "redis_key from_path to_path", ""),
        None,
    ),
    "read_usage": CallRow(
        "workflow_id agent_id project since until cursor",
        False,
        (
            CommandForm(
                "runs usage",
                "workflow_id=",
                "agent_id=--agent project=--project since=--since until=--until cursor=--cursor",
                {},
            ),
        ),
        MethodForm("read_usage", "workflow_id", ""),
        None,
    ),
    "set_budget": CallRow(
        "workflow_id budget_json reason request_id",
        False,
        (CommandForm("runs budget", "workflow_id=RUN", "reason=--reason request_id=--request-id", {}),),
        MethodForm("set_budget", "workflow_id budget", "budget_json=budget"),
        None,
    ),
    "send_task_success": CallRow(
        "task_token output_json usage_json",
        False,
        (CommandForm("states succeed", "task_token=TASK_TOKEN", "output_json=--output usage_json=--usage", {}),),
        MethodForm("send_task_success", "task_token output", "output_json=output usage_json=usage"),
        None,
    ),
    "send_task_failure": CallRow(
        "task_token error cause usage_json",
        False,
        (CommandForm("states fail", "task_token=TASK_TOKEN", "error=--error cause=--cause usage_json=--usage", {}),),
        MethodForm("send_task_failure", "task_token", "usage_json=usage"),
        None,
    ),
    "send_task_heartbeat": CallRow(
        "task_token",
        False,
        (CommandForm("states heartbeat", "task_token=TASK_TOKEN", "", {}),),
        MethodForm("send_task_heartbeat", "task_token", ""),
        None,
    ),
    "send_signal": CallRow(
        "workflow_id name payload_json reason request_id",
        False,
        (
            CommandForm(
                "runs signal",
                "workflow_id=RUN name=NAME",
                "payload_json=--payload reason=--reason request_id=--request-id",
                {},
            ),
        ),
        MethodForm("signal", "workflow_id name payload", "payload_json=payload"),
        "Send a signal",
    ),
    "add_finding": CallRow(
        "severity category title text tags_json scope project workflow_id state location_json metadata_json agent_id key",
        False,
        (
            CommandForm(
                "findings add",
                "title=TITLE text=TEXT",
                "severity=--severity category=--category tags_json=--tag scope=--scope project=--project workflow_id=--run state=--state location_json=--location metadata_json=--metadata agent_id=--as key=--key",
                {},
            ),
        ),
        MethodForm(
            "add_finding",
            "severity category title text",
            "tags_json=tags location_json=location metadata_json=metadata",
        ),
        None,
    ),
    "search_findings": CallRow(
        "query project include_global scope run severity category tags_json every_tag status limit offset cursor",
        False,
        (
            CommandForm(
                "findings ls",
                "query=",
                "project=--project include_global=--include-global/--only-own scope=--scope run=--run severity=--severity category=--category tags_json=--tag every_tag=--every-tag status=--status limit=--limit offset=--offset cursor=--cursor",
                {},
            ),
        ),
        MethodForm("search_findings", "text", "query=text tags_json=tags"),
        None,
    ),
    "get_finding": CallRow(
        "finding_id",
        False,
        (CommandForm("findings show", "finding_id=FINDING_ID", "", {}),),
        MethodForm("get_finding", "finding_id", ""),
        None,
    ),
    "update_finding": CallRow(
        "finding_id status superseded_by severity category title text tags_json agent_id reason",
        False,
        (
            CommandForm(
                "findings update",
                "finding_id=FINDING_ID",
                "status=--status superseded_by=--superseded-by severity=--severity category=--category title=--title text=--text tags_json=--tag agent_id=--as reason=--reason",
                {},
            ),
        ),
        MethodForm("update_finding", "finding_id", "tags_json=tags"),
        None,
    ),
    "delete_finding": CallRow(
        "finding_id reason",
        True,
        (CommandForm("findings delete", "finding_id=FINDING_ID", "reason=--reason", {}),),
        MethodForm("delete_finding", "finding_id", ""),
        None,
    ),
    "promote_issue": CallRow(
        "workflow_id issue severity category title text tags_json scope agent_id",
        False,
        (
            CommandForm(
                "findings promote",
                "workflow_id=RUN issue=ISSUE",
                "severity=--severity category=--category title=--title text=--text tags_json=--tag scope=--scope agent_id=--as",
                {},
            ),
        ),
        MethodForm("promote_issue", "workflow_id issue", "tags_json=tags"),
        None,
    ),
    "list_gates": CallRow(
        "workflow_id state agent_id group project limit cursor",
        False,
        (
            CommandForm(
                "gates ls",
                "workflow_id= state=",
                "agent_id=--as group=--group project=--project limit=--limit cursor=--cursor",
                {},
            ),
        ),
        MethodForm("list_gates", "workflow_id state", ""),
        None,
    ),
    "decide_gate": CallRow(
        "workflow_id state gate verdict content_sha256 agent_id criteria failed comment exit_code output_tail duration_s group request_id",
        False,
        (
            CommandForm(
                "gates decide",
                "workflow_id=RUN state=STATE gate=GATE verdict=VERDICT",
                "content_sha256=--content agent_id=--as criteria=--criteria failed=--failed comment=--comment exit_code=--exit-code output_tail=--output-tail duration_s=--duration-s group=--group request_id=--request-id",
                {},
            ),
        ),
        MethodForm("decide_gate", "workflow_id state gate verdict", ""),
        "Decide the gate",
    ),
    "override_gate": CallRow(
        "workflow_id state reason gate agent_id request_id",
        False,
        (
            CommandForm(
                "gates override",
                "workflow_id=RUN state=STATE",
                "reason=--reason gate=--gate agent_id=--as request_id=--request-id",
                {},
            ),
        ),
        MethodForm("override_gate", "workflow_id state", ""),
        "Override the gate",
    ),
    "open_run": CallRow(
        "name workflow_id title input_json planner_agent_id tags_json project definition_ref parent_run parent_unit timeout_s expiry_secs max_attempts request_id reason",
        False,
        (
            CommandForm(
                "runs open",
                "name=NAME",
                "workflow_id=--id title=--title input_json=--input planner_agent_id=--planner tags_json=--tag project=--project definition_ref=--definition parent_run=--within parent_unit=--unit timeout_s=--timeout expiry_secs=--expiry max_attempts=--max-attempts request_id=--request-id reason=--reason",
                {},
            ),
        ),
        MethodForm("open_run", "name workflow_id", "input_json=input tags_json=tags"),
        None,
    ),
    "add_units": CallRow(
        "workflow_id units agent_id lease_ttl_s lease_token request_id reason",
        False,
        (
            CommandForm(
                "states add",
                "workflow_id=RUN units=UNITS",
                "agent_id=--as lease_ttl_s=--lease lease_token=--token request_id=--request-id reason=--reason",
                {},
            ),
        ),
        MethodForm("add_units", "workflow_id units", ""),
        None,
    ),
    "seal_group": CallRow(
        "workflow_id group only_if_done force ends request_id reason",
        False,
        (
            CommandForm(
                "runs seal",
                "workflow_id=RUN group=",
                "only_if_done=--only-if-done force=--force ends=--ends request_id=--request-id reason=--reason",
                {},
            ),
        ),
        MethodForm("seal_group", "workflow_id group", ""),
        None,
    ),
    "retry_unit": CallRow(
        "workflow_id unit request_id reason",
        False,
        (CommandForm("states retry", "workflow_id=RUN unit=UNIT", "request_id=--request-id reason=--reason", {}),),
        MethodForm("retry_unit", "workflow_id unit", ""),
        None,
    ),
    "rewind_unit": CallRow(
        "workflow_id unit request_id reason",
        True,
        (CommandForm("states rewind", "workflow_id=RUN unit=UNIT", "request_id=--request-id reason=--reason", {}),),
        MethodForm("rewind_unit", "workflow_id unit", ""),
        None,
    ),
    "close_run": CallRow(
        "workflow_id status summary achievements limitations metrics_json output_json force request_id reason",
        True,
        (
            CommandForm(
                "runs close",
                "workflow_id=RUN",
                "status=--status summary=--summary achievements=--achievement limitations=--limitation metrics_json=--metrics output_json=--output force=--force request_id=--request-id reason=--reason",
                {},
            ),
        ),
        MethodForm("close_run", "workflow_id", "metrics_json=metrics output_json=output"),
        None,
    ),
    "read_health": CallRow("", False, (CommandForm("doctor", "", "", {}),), MethodForm("read_health", "", ""), None),
    "add_journal_entry": CallRow(
        "workflow_id kind text agent_id details_json state blocks key lease_token",
        False,
        (
            CommandForm(
                "journal add",
                "workflow_id=RUN kind=KIND text=TEXT",
                "agent_id=--as details_json=--details state=--state blocks=--blocks key=--key lease_token=--lease-token",
                {},
            ),
        ),
        MethodForm("add_journal_entry", "workflow_id kind text", "details_json=details"),
        None,
    ),
    "read_journal": CallRow(
        "workflow_id kind agent_id state open since until oldest_first limit cursor",
        False,
        (
            CommandForm(
                "journal ls",
                "workflow_id=RUN",
                "kind=--kind agent_id=--agent state=--state open=--open since=--since until=--until limit=--limit",
                {},
            ),
        ),
        MethodForm("read_journal", "workflow_id", "agent_id=agent open=open_only"),
        None,
    ),
    "resolve_issue": CallRow(
        "workflow_id issue how agent_id reason request_id",
        False,
        (
            CommandForm(
                "journal resolve",
                "workflow_id=RUN issue=ISSUE",
                "how=--how agent_id=--as reason=--reason request_id=--request-id",
                {},
            ),
        ),
        MethodForm("resolve_issue", "workflow_id issue how", ""),
        "Resolve the issue",
    ),
    "list_human_tasks": CallRow(
        "workflow_id state agent_id group project details limit cursor",
        False,
        (
            CommandForm(
                "inbox",
                "workflow_id= state=",
                "agent_id=--for group=--group project=--project details=--details limit=--limit cursor=--cursor",
                {},
            ),
        ),
        MethodForm("list_human_tasks", "workflow_id state", "agent_id=person"),
        None,
    ),
    "answer_human_task": CallRow(
        "workflow_id state choice comment answer_json agent_id group epoch request_id",
        True,
        (
            CommandForm(
                "approve",
                "workflow_id=RUN state=STATE",
                "comment=--comment answer_json=--answer agent_id=--as group=--group epoch=--epoch request_id=--request-id",
                {"choice": "approve"},
            ),
            CommandForm(
                "tasks reject",
                "workflow_id=RUN state=STATE",
                "comment=--comment answer_json=--answer agent_id=--as group=--group epoch=--epoch request_id=--request-id",
                {"choice": "reject"},
            ),
            CommandForm(
                "tasks answer",
                "workflow_id=RUN state=STATE choice=CHOICE",
                "comment=--comment answer_json=--answer agent_id=--as group=--group epoch=--epoch request_id=--request-id",
                {},
            ),
        ),
        MethodForm("answer_human_task", "workflow_id state choice", "answer_json=answer"),
        "Answer the task",
    ),
    "put_project": CallRow(
        "project name paths_json forget_paths_json git_json description features_json metadata_json max_in_progress budget_json revision reason",
        False,
        (
            CommandForm(
                "projects add",
                "project=PROJECT",
                "name=--name paths_json=--path forget_paths_json=--forget-path git_json=--git description=--description features_json=--features metadata_json=--metadata max_in_progress=--max-in-progress budget_json=--budget revision=--revision reason=--reason",
                {},
            ),
        ),
        MethodForm(
            "put_project",
            "project",
            "paths_json=paths forget_paths_json=forget_paths git_json=git features_json=features metadata_json=metadata budget_json=budget",
        ),
        None,
    ),
    "get_project": CallRow(
        "project path machine",
        False,
        (CommandForm("projects show", "project=", "path=--path machine=--machine", {}),),
        MethodForm("get_project", "project", ""),
        None,
    ),
    "list_projects": CallRow(
        "project limit cursor",
        False,
        (CommandForm("projects ls", "", "project=--project limit=--limit cursor=--cursor", {}),),
        MethodForm("list_projects", "", ""),
        None,
    ),
    "delete_project": CallRow(
        "project reason",
        True,
        (CommandForm("projects delete", "project=PROJECT", "reason=--reason", {}),),
        MethodForm("delete_project", "project", ""),
        None,
    ),
    "correct_result": CallRow(
        "workflow_id state output_json lease_token reason request_id",
        False,
        (
            CommandForm(
                "states correct",
                "workflow_id=RUN state=STATE output_json=OUTPUT",
                "lease_token=--token reason=--reason request_id=--request-id",
                {},
            ),
        ),
        MethodForm("correct_result", "workflow_id state output", "output_json=output"),
        None,
    ),
    "leave_note": CallRow(
        "workflow_id text agent_id state request_id",
        False,
        (
            CommandForm(
                "runs note", "workflow_id=RUN text=TEXT", "agent_id=--as state=--state request_id=--request-id", {}
            ),
        ),
        MethodForm("leave_note", "workflow_id text", ""),
        None,
    ),
    "ask_question": CallRow(
        "workflow_id state lease_token question choices_json ask give_back timeout_s request_id",
        False,
        (
            CommandForm(
                "tasks ask",
                "workflow_id=RUN state=STATE lease_token=LEASE_TOKEN question=QUESTION",
                "choices_json=--choice ask=--to give_back=--give-back/--keep timeout_s=--timeout request_id=--request-id",
                {},
            ),
        ),
        MethodForm("ask_question", "workflow_id state lease_token question", "choices_json=choices"),
        None,
    ),
    "answer_question": CallRow(
        "workflow_id question_id answer comment agent_id group request_id",
        False,
        (
            CommandForm(
                "tasks reply",
                "workflow_id=RUN question_id=QUESTION_ID answer=ANSWER",
                "comment=--comment agent_id=--as group=--group request_id=--request-id",
                {},
            ),
        ),
        MethodForm("answer_question", "workflow_id question_id answer", ""),
        "Answer the question",
    ),
    "delete_run": CallRow(
        "workflow_id reason request_id",
        True,
        (CommandForm("runs delete", "workflow_id=RUN", "reason=--reason request_id=--request-id", {}),),
        MethodForm("delete", "workflow_id", ""),
        "Delete the run",
    ),
    "hold_run": CallRow(
        "workflow_id hold reason request_id",
        False,
        (
            CommandForm(
                "runs hold", "workflow_id=RUN", "hold=--hold/--release reason=--reason request_id=--request-id", {}
            ),
        ),
        MethodForm("hold", "workflow_id", ""),
        "Hold the run",
    ),
    "create_schedule": CallRow(
        "name cron timezone every_s definition workflow_json input_json agents_map_json planner_agent_id tags_json expiry_secs project overlap catch_up jitter_s reason",
        False,
        (
            CommandForm(
                "schedules add",
                "name=NAME",
                "workflow_json=--workflow cron=--cron timezone=--timezone every_s=--every input_json=--input tags_json=--tag project=--project planner_agent_id=--planner overlap=--overlap catch_up=--catch-up reason=--reason",
                {},
            ),
        ),
        MethodForm(
            "create_schedule",
            "name workflow input",
            "workflow_json=workflow input_json=input agents_map_json=agents tags_json=tags",
        ),
        None,
    ),
    "list_schedules": CallRow(
        "name project limit cursor",
        False,
        (
            CommandForm("schedules ls", "", "project=--project limit=--limit cursor=--cursor", {"name": None}),
            CommandForm("schedules show", "name=NAME", "project=--project", {"limit": 1, "cursor": None}),
        ),
        MethodForm("list_schedules", "", ""),
        None,
    ),
    "operate_schedule": CallRow(
        "name action reason request_id",
        False,
        (
            CommandForm("schedules resume", "name=NAME", "reason=--reason", {"action": "resume", "request_id": None}),
            CommandForm("schedules pause", "name=NAME", "reason=--reason", {"action": "pause", "request_id": None}),
            CommandForm(
                "schedules trigger", "name=NAME", "reason=--reason request_id=--request-id", {"action": "trigger"}
            ),
        ),
        MethodForm("operate_schedule", "name action", ""),
        "Operate the schedule",
    ),
    "delete_schedule": CallRow(
        "name reason",
        True,
        (CommandForm("schedules delete", "name=NAME", "reason=--reason", {}),),
        MethodForm("delete_schedule", "name", ""),
        None,
    ),
    "search": CallRow(
        "query types_json workflow_id project limit",
        False,
        (
            CommandForm(
                "runs search", "query=QUERY", "types_json=--type workflow_id=--run project=--project limit=--limit", {}
            ),
        ),
        MethodForm("search", "query", "types_json=types"),
        None,
    ),
    "log_event": CallRow(
        "workflow_id state lease_token number message fields_json",
        False,
        (),
        MethodForm("log_event", "workflow_id state lease_token number message", "fields_json=fields"),
        None,
    ),
    "register_agent": CallRow(
        "agent_id url platform lease_ttl_s max_in_progress new_key",
        False,
        (
            CommandForm(
                "agents add",
                "agent_id=AGENT",
                "url=--url platform=--platform lease_ttl_s=--lease max_in_progress=--max-in-progress new_key=--new-key",
                {},
            ),
            CommandForm("agents rotate", "agent_id=AGENT", "", {}),
        ),
        MethodForm("register_agent", "agent_id url", ""),
        None,
    ),
    "list_registered_agents": CallRow(
        "", False, (CommandForm("agents ls", "", "", {}),), MethodForm("list_registered_agents", "", ""), None
    ),
    "find_work": CallRow(
        "agent_id claim status project workflow workflow_id skill limit cursor lease_ttl_s request_id whole_input",
        False,
        (
            CommandForm(
                "states ls",
                "",
                "agent_id=--agent status=--status project=--project workflow=--workflow workflow_id=--run skill=--skill limit=--limit cursor=--cursor",
                {"claim": False, "lease_ttl_s": 300, "request_id": None, "whole_input": False},
            ),
        ),
        MethodForm("find_work", "agent_id", ""),
        None,
    ),
    "create_worker_agents": CallRow(
        "workflow_json workflow_id imports_base_dir agent_name_prefix agent_name_suffix default_tags_json skip_if_exists",
        False,
        (),
        MethodForm("create_worker_agents", "", "workflow_json=workflow default_tags_json=default_tags"),
        "Create its agents",
    ),
    "resolve_agent_name_to_id": CallRow(
        "agent_name", False, (), MethodForm("resolve_agent_name_to_id", "agent_name", ""), None
    ),
    "delete_agent": CallRow(
        "agent_name agent_id",
        True,
        (CommandForm("agents delete", "agent_id=AGENT", "", {"agent_name": None}),),
        MethodForm("delete_agent", "", ""),
        None,
    ),
    "remove_tool_return_limits": CallRow(
        "agent_id", False, (), MethodForm("remove_tool_return_limits", "agent_id", ""), None
    ),
    "get_my_assignment": CallRow(
        "agent_id workflow_id state", False, (), MethodForm("get_my_assignment", "agent_id", ""), None
    ),
    "csv_to_manifests": CallRow(
        "skills_csv_path refs_csv_path mcp_tools_csv_path out_dir catalog_path",
        True,
        (),
        MethodForm("csv_to_manifests", "", ""),
        None,
    ),
    "csv_to_stub_config": CallRow(
        "mcp_tools_csv_path mcp_cases_csv_path out_path", True, (), MethodForm("csv_to_stub_config", "", ""), None
    ),
    "await_workflow_event": CallRow(
        "agent_id timeout_s ack_message_id lease lease_ttl_s lease_token lease_states lease_functions request_id whole_input unassigned",
        False,
        (),
        MethodForm("await_workflow_event", "agent_id", ""),
        None,
    ),
    "complete_states": CallRow(
        "workflow_id results claim_next agent_id lease_ttl_s",
        False,
        (),
        MethodForm("complete_states", "workflow_id results", ""),
        None,
    ),
    "read_workflow_control_plane": CallRow(
        "workflow_id states_json include_meta include_inputs compute_readiness summary inside cursor limit overview",
        False,
        (CommandForm("show", "workflow_id=", "", {}),),
        MethodForm("read_workflow_control_plane", "workflow_id", "states_json=states"),
        None,
    ),
    "update_workflow_control_plane": CallRow(
        "workflow_id state lease_token new_status output_json error_name error_message claim_next owner_agent_id lease_ttl_s usage_json whole_input attempts_increment set_started_at set_finished_at request_id output_ttl_secs",
        False,
        (),
        MethodForm("update_workflow_control_plane", "workflow_id state", "output_json=output usage_json=usage"),
        None,
    ),
    "list_directory": CallRow(
        "path recursive include_hidden max_entries cursor",
        False,
        (),
        MethodForm("list_directory", "path", "max_entries=limit"),
        None,
    ),
    "read_file": CallRow("path offset length encoding", False, (), MethodForm("read_file", "path", ""), None),
    "write_file": CallRow(
        "path content append encoding create_parents", True, (), MethodForm("write_file", "path content", ""), None
    ),
    "create_directory": CallRow("path parents exist_ok", False, (), MethodForm("create_directory", "path", ""), None),
    "delete_path": CallRow("path recursive", True, (), MethodForm("delete_path", "path", ""), None),
    "move_path": CallRow(
        "source destination overwrite create_parents", True, (), MethodForm("move_path", "source destination", ""), None
    ),
    "describe_workflow_language": CallRow(
        "", False, (CommandForm("workflows language", "", "", {}),), MethodForm("language", "", ""), None
    ),
    "acquire_state_lease": CallRow(
        "workflow_id state owner_agent_id lease_ttl_s lease_token require_ready require_owner_match allow_steal_if_expired set_running_on_acquire attempts_increment",
        False,
        (),
        MethodForm("acquire_state_lease", "workflow_id state owner_agent_id", ""),
        None,
    ),
    "claim_ready_state": CallRow(
        "workflow_id agent_id lease_ttl_s lease_token claim_next whole_input",
        False,
        (),
        MethodForm("claim_ready_state", "workflow_id owner_agent_id", "agent_id=owner_agent_id"),
        None,
    ),
    "renew_state_lease": CallRow(
        "workflow_id state lease_token owner_agent_id lease_ttl_s reject_if_expired touch_only",
        False,
        (),
        MethodForm("renew_state_lease", "workflow_id state lease_token", ""),
        None,
    ),
    "release_state_lease": CallRow(
        "workflow_id state lease_token owner_agent_id force clear_owner epoch reason limited_until limit_kind attempt_counts",
        False,
        (
            CommandForm(
                "states release",
                "workflow_id=RUN state=STATE",
                "reason=--reason",
                {
                    "lease_token": None,
                    "owner_agent_id": None,
                    "force": True,
                    "clear_owner": True,
                    "epoch": None,
                    "limited_until": None,
                    "limit_kind": "limit",
                    "attempt_counts": True,
                },
            ),
        ),
        MethodForm("release", "workflow_id state", ""),
        "Release the lease",
    ),
    "cancel_run": CallRow(
        "workflow_id reason request_id",
        True,
        (CommandForm("cancel", "workflow_id=RUN", "reason=--reason request_id=--request-id", {}),),
        MethodForm("cancel", "workflow_id", ""),
        "Cancel the run",
    ),
    "pause_run": CallRow(
        "workflow_id reason request_id",
        False,
        (CommandForm("runs pause", "workflow_id=RUN", "reason=--reason request_id=--request-id", {}),),
        MethodForm("pause", "workflow_id", ""),
        "Pause the run",
    ),
    "resume_run": CallRow(
        "workflow_id reason request_id",
        False,
        (CommandForm("runs resume", "workflow_id=RUN", "reason=--reason request_id=--request-id", {}),),
        MethodForm("resume", "workflow_id", ""),
        "Resume the run",
    ),
    "resolve_state": CallRow(
        "workflow_id state output_json error cause handled force skip assign_json epoch reason request_id",
        True,
        (
            CommandForm(
                "states resolve",
                "workflow_id=RUN state=STATE",
                "output_json=--output error=--error cause=--cause handled=--handled force=--force skip=--skip assign_json=--assign epoch=--epoch reason=--reason request_id=--request-id",
                {},
            ),
        ),
        MethodForm("resolve", "workflow_id state", "output_json=output assign_json=assign"),
        "Resolve the state",
    ),
    "notify_next_worker_agent": CallRow(
        "workflow_id source_state reason payload_json message_role async_message max_steps include_only_ready",
        False,
        (CommandForm("runs notify", "workflow_id=RUN state=", "", {}),),
        MethodForm("notify_next_worker_agent", "workflow_id", "payload_json=payload"),
        "Start the run",
    ),
    "notify_if_ready": CallRow(
        "workflow_id state reason payload_json message_role async_message max_steps require_ready skip_if_status_in_json",
        False,
        (CommandForm("runs notify", "workflow_id=RUN state=", "", {}),),
        MethodForm("notify", "workflow_id state", "payload_json=payload skip_if_status_in_json=skip_if_status_in"),
        "Notify its agents",
    ),
    "create_workflow_control_plane": CallRow(
        "workflow_json input_json workflow_id agents_map_json planner_agent_id project expiry_secs max_attempts gates",
        False,
        (),
        MethodForm(
            "create_workflow_control_plane",
            "workflow input",
            "workflow_json=workflow input_json=input agents_map_json=agents",
        ),
        None,
    ),
    "finalize_workflow": CallRow(
        "workflow_id close_open_states overall_status finalize_note delete_worker_agents preserve_planner",
        True,
        (
            CommandForm(
                "runs finalize",
                "workflow_id=RUN",
                "close_open_states=--close-open/--keep-open overall_status=--status finalize_note=--reason delete_worker_agents=--delete-agents/--keep-agents preserve_planner=--preserve-planner/--delete-planner",
                {},
            ),
        ),
        MethodForm("finalize", "workflow_id", ""),
        "Finalize the run",
    ),
    "list_runs": CallRow(
        "status workflow version agent_id tag parent project since until stuck blocked limit cursor",
        False,
        (
            CommandForm(
                "ls",
                "",
                "limit=--limit status=--status workflow=--workflow version=--version agent_id=--agent tag=--tag parent=--parent project=--project since=--since until=--until stuck=--stuck blocked=--blocked cursor=--cursor",
                {},
            ),
        ),
        MethodForm("list", "", "agent_id=agent"),
        None,
    ),
    "validate_skill_manifest": CallRow(
        "skill_json schema_path", False, (), MethodForm("validate_skill_manifest", "skill", "skill_json=skill"), None
    ),
    "get_skillset": CallRow(
        "manifests_dir schema_path include_previews preview_chars cursor limit",
        False,
        (),
        MethodForm("get_skillset", "", ""),
        None,
    ),
    "get_skillset_from_catalog": CallRow(
        "catalog_path schema_path include_previews preview_chars cursor limit",
        False,
        (),
        MethodForm("get_skillset_from_catalog", "", ""),
        None,
    ),
    "load_skill": CallRow(
        "skill_json agent_id workflow_id state",
        False,
        (),
        MethodForm("load_skill", "skill agent_id", "skill_json=skill"),
        None,
    ),
    "unload_skill": CallRow(
        "manifest_id agent_id", False, (), MethodForm("unload_skill", "manifest_id agent_id", ""), None
    ),
    "start_run": CallRow(
        "workflow_json definition workflow_id input_json agents_map_json planner_agent_id project definition_ref tags_json expiry_secs max_attempts gates keep request_id reason",
        False,
        (
            CommandForm(
                "start",
                "workflow_json=WORKFLOW values=",
                "input_json=--input agents_map_json=--assign tags_json=--tag project=--project workflow_id=--id planner_agent_id=--planner definition_ref=--definition gates=--gates expiry_secs=--expiry max_attempts=--max-attempts keep=--keep/--no-keep request_id=--request-id reason=--reason",
                {},
            ),
        ),
        MethodForm(
            "start", "workflow input", "workflow_json=workflow input_json=input agents_map_json=agents tags_json=tags"
        ),
        "Start a run",
    ),
    "rerun": CallRow(
        "workflow_id from_state input_json agents_map_json new_workflow_id reason request_id",
        False,
        (
            CommandForm(
                "runs rerun",
                "workflow_id=RUN",
                "from_state=--from input_json=--input agents_map_json=--assign new_workflow_id=--id reason=--reason request_id=--request-id",
                {},
            ),
        ),
        MethodForm("rerun", "workflow_id", "input_json=input agents_map_json=agents"),
        "Run again",
    ),
    "retry_run": CallRow(
        "workflow_id reason request_id",
        False,
        (CommandForm("retry", "workflow_id=RUN", "reason=--reason request_id=--request-id", {}),),
        MethodForm("retry", "workflow_id", ""),
        "Retry the run",
    ),
    "validate_workflow": CallRow(
        "workflow_json agents_map_json schema_path imports_base_dir skills_base_dir",
        False,
        (CommandForm("validate", "file=FILE", "", {}),),
        MethodForm("validate", "workflow", "workflow_json=workflow agents_map_json=agents"),
        None,
    ),
}
