"""A command takes what its tool takes: whoever reads of an argument finds an option for it."""

from collections.abc import Mapping
from typing import Final, get_args

from typer.core import TyperCommand

import dcf.tools.mcp.server  # noqa: F401 - registers the tools
from dcf.cli.commands import agents
from dcf.cli.features import projects
from dcf.cli.features.catalogue import _COMPLEXITIES
from dcf.features.catalogue.verbs import Complexity
from dcf.features.work.limits import MOST_IN_PROGRESS
from dcf.verbs.registry import TOOLS
from tests.cli.test_json_everywhere import commands
from tests.support.tables import rows

TOOL_OF: Final[Mapping[str, str]] = {
    "start": "start_run",
    "rerun": "rerun",
    "retry": "retry_run",
    "cancel": "cancel_run",
    "pause": "pause_run",
    "resume": "resume_run",
    "resolve": "resolve_state",
    "delete": "delete_run",
    "hold": "hold_run",
    "ls": "list_runs",
    "why": "explain_run",
    "events": "read_run_events",
    "usage": "read_usage",
    "budget": "set_budget",
    "work": "find_work",
    "search": "search",
    "context": "get_context",
    "signal": "send_signal",
    "inbox": "list_human_tasks",
    "answer": "answer_human_task",
    "note": "leave_note",
    "ask": "ask_question",
    "reply": "answer_question",
    "correct": "correct_result",
    "open": "open_run",
    "add": "add_units",
    "seal": "seal_group",
    "retry-unit": "retry_unit",
    "rewind": "rewind_unit",
    "close": "close_run",
    "gates": "list_gates",
    "decide": "decide_gate",
    "override": "override_gate",
    "schedule create": "create_schedule",
    "schedule list": "list_schedules",
    "schedule trigger": "operate_schedule",
    "schedule delete": "delete_schedule",
    "agents add": "register_agent",
    "agents list": "list_registered_agents",
    "task success": "send_task_success",
    "task failure": "send_task_failure",
    "task heartbeat": "send_task_heartbeat",
    "journal show": "read_journal",
    "journal add": "add_journal_entry",
    "journal resolve": "resolve_issue",
    "projects put": "put_project",
    "projects get": "get_project",
    "projects list": "list_projects",
    "projects delete": "delete_project",
    "artifacts put": "put_artifact",
    "artifacts get": "get_artifact",
    "artifacts list": "list_artifacts",
    "findings add": "add_finding",
    "findings search": "search_findings",
    "findings show": "get_finding",
    "findings update": "update_finding",
    "findings promote": "promote_issue",
    "findings delete": "delete_finding",
    "catalogue put": "put_definition",
    "catalogue show": "get_definition",
    "catalogue search": "search_definitions",
    "catalogue delete": "delete_definition",
}

SAID_AS: Final[Mapping[str, tuple[str, ...]]] = {
    "workflow_id": ("run", "workflow_id", "id"),
    "new_workflow_id": ("id",),
    "agent_id": ("as", "agent"),
    "person": ("for",),
    "planner_agent_id": ("planner",),
    "agents": ("assign",),
    "parent_run": ("within",),
    "parent_unit": ("unit",),
    "from_state": ("from",),
    "definition": ("workflow",),
    "definition_ref": ("definition",),
    "artifact_id": ("id", "artifact"),
    "question_id": ("question",),
    "task_token": ("token",),
    "lease_token": ("token", "lease_token"),
    "name": ("name", "project"),
    "content": ("file",),
    "content_type": ("type",),
    "text": ("text", "words"),
    "always_apply": ("always",),
    "include_global": ("only_own",),
    "file_types": ("file",),
    "machine": ("path",),
    "ask": ("to",),
    "give_back": ("keep",),
    "hold": ("release",),
    "budget": ("budget", "tokens"),
    "criteria": ("failed",),
    "open": ("open",),
    "oldest_first": ("newest",),
    "newest_first": ("newest",),
    "lease_ttl_s": ("lease",),
    "expiry_secs": ("expiry",),
    "expires_in_s": ("expiry",),
    "timeout_s": ("timeout",),
    "every_s": ("every",),
    "jitter_s": ("jitter",),
}
"""Arguments whose options have other names."""

_WHOLE: Final = "a command reads or writes the whole, with no parts that a model's answer needs"
_AGENTS: Final = "only an agent at work has it to say"
_GAP: Final = "not offered yet"

WITHOUT: Final[Mapping[str, Mapping[str, str]]] = {
    "usage": {"cursor": _WHOLE},
    "work": dict.fromkeys(("claim", "lease_ttl_s", "request_id", "whole_input"), _AGENTS),
    "inbox": {"project": _GAP},
    "add": dict.fromkeys(("agent_id", "lease_token", "lease_ttl_s"), _AGENTS),
    "gates": dict.fromkeys(("agent_id", "cursor", "group", "limit", "project"), _GAP),
    "decide": {"duration_s": _AGENTS, "output_tail": _AGENTS},
    "schedule list": {"cursor": _WHOLE, "limit": _WHOLE},
    "schedule trigger": {"action": "each action is a command"},
    "agents add": {"new_key": "`dcf agents rotate` makes it", "platform": "it has one value"},
    "journal show": {"cursor": _GAP},
    "journal add": {"lease_token": _AGENTS},
    "projects list": {"project": "it only keeps a key within its project, and a command has no key"},
    "artifacts put": dict.fromkeys(("encoding", "of", "part", "sha256"), _WHOLE) | {"agent_id": _AGENTS},
    "artifacts get": dict.fromkeys(("encoding", "length", "offset"), _WHOLE),
    "findings add": {"scope": "without --project and --run it is for all"},
    "findings search": {"scope": _GAP},
    "findings promote": {"scope": "--for-all"},
    "catalogue show": dict.fromkeys(("detail", "fields_json", "if_none_match", "redact"), _WHOLE),
    "catalogue search": {"detail": _WHOLE},
}
"""Arguments that a command has no option for, each with the reason."""


COMMANDS: Final[Mapping[str, object]] = {" ".join(path): command for path, command in commands()}


def _options(command: str) -> set[str]:
    found = COMMANDS[command]
    assert isinstance(found, TyperCommand)
    named = {name for one in found.params for name in one.opts}
    return {name.lstrip("-").replace("-", "_") for name in named}


def _missing(command: str) -> set[str]:
    wanted = set(TOOLS[TOOL_OF[command]].arguments.model_fields) - {"redis_url"}
    offered = _options(command)
    return {name for name in wanted if not offered.intersection(_words_for(name))}


def _words_for(argument: str) -> set[str]:
    plain = argument.removesuffix("_json").removesuffix("_map")
    return {argument, plain, plain.removesuffix("s"), *SAID_AS.get(plain, ())}


@rows("command", TOOL_OF)
def test_a_command_takes_what_its_tool_takes(command: str) -> None:
    assert _missing(command) == set(WITHOUT.get(command, {})), "give the command an option, or the table a reason"


def test_bounds_that_a_command_shows_before_it_imports_anything_are_those_of_the_tool() -> None:
    assert get_args(Complexity) == _COMPLEXITIES
    assert agents._MOST_IN_PROGRESS == projects._MOST_IN_PROGRESS == MOST_IN_PROGRESS
