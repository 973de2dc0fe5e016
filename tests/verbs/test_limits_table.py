"""The page of limits: every row is what the settings say, and has tests that cross it."""

import itertools
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import redis

from dcf.application.application import Application
from dcf.asl import pausing
from dcf.asl.json_schema import check as schema_check
from dcf.asl.json_schema import syntax as schema_syntax
from dcf.asl.syntax import briefs as brief_syntax
from dcf.asl.syntax import parsing
from dcf.core.access.model import Scope
from dcf.core.documents import parents, signals, usage
from dcf.core.leasing import blockers
from dcf.core.text import tokens as text_tokens
from dcf.features.agent_context import rules as agent_context
from dcf.features.artifacts import model as artifacts
from dcf.features.catalogue import model as catalogue_definitions
from dcf.features.diagnosis import storage as run_signs
from dcf.features.findings import model as knowledge
from dcf.features.gates import model as core_gates
from dcf.features.gates import syntax as gate_syntax
from dcf.features.gates import verdicts
from dcf.features.growing import model as units
from dcf.features.journal import model as journal
from dcf.features.journal import query as journal_query
from dcf.features.projects import model as projects
from dcf.features.questions import model as talk
from dcf.features.schedules import model as schedules
from dcf.features.schedules import timing
from dcf.features.search import operations as run_searching
from dcf.features.search import ranking as searching
from dcf.features.usage import periods
from dcf.features.usage import scripts as usage_books
from dcf.features.work import limits as work_limits
from dcf.features.work import listing as work_list
from dcf.runs.views import histories
from dcf.settings.process import Settings
from dcf.store.access import audit_trail
from dcf.store.events import inbox
from dcf.store.keys import table as keys
from dcf.store.text_index import index as text_index
from dcf.tools.mcp import run_watch
from dcf.tools.verbs import notification
from dcf.values import json_text
from dcf.verbs.registry import TOOLS
from dcf.web.live import readers as live_streams
from tests.asl.json_schema import test_json_schemas
from tests.core.definitions import test_briefs as test_core_briefs
from tests.core.text import test_query as test_text_query
from tests.features.agent_context import test_verbs as test_context_tool
from tests.features.artifacts import test_verbs as test_artifacts
from tests.features.catalogue import test_operations as test_definitions
from tests.features.catalogue import test_verbs as test_catalogue_tools
from tests.features.children import test_operations as test_children
from tests.features.diagnosis import test_reads as test_diagnosis_reads
from tests.features.external import test_operations as test_signals
from tests.features.findings import test_operations as test_knowledge
from tests.features.gates import test_operations as test_gates
from tests.features.gates import test_rules as test_gate_syntax
from tests.features.gates import test_verbs as test_gate_tools
from tests.features.growing import test_rules as test_core_growing
from tests.features.journal import test_operations as test_journal
from tests.features.journal import test_verbs as test_journal_tools
from tests.features.projects import test_verbs as test_projects
from tests.features.questions import test_operations as test_talk
from tests.features.schedules import test_rules as test_scheduling
from tests.features.schedules import test_timing
from tests.features.schedules import test_verbs as test_schedule_tools
from tests.features.search import test_verbs as test_search_tool
from tests.features.usage import test_operations as test_usage
from tests.features.usage import test_rules as test_usage_rules
from tests.features.work import test_operations as test_work_finding
from tests.features.work import test_verbs as test_work_tools
from tests.runs.views import test_histories
from tests.runs.whole import test_long_chains
from tests.store.access import test_audit_trail
from tests.store.events import test_fair_inbox
from tests.store.text_index import test_text_index
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.tools.calls import Tools, new_run
from tests.tools.http import test_bodies, test_connections, test_http
from tests.tools.mcp import test_run_watch
from tests.tools.security import test_floods
from tests.tools.working import test_output_schemas
from tests.verbs import test_limits, test_quotas
from tests.web.live import test_live_ends
from tests.web.pages import test_login

pytestmark = pytest.mark.anyio

PAGE = ROOT / "docs" / "reference" / "limits.md"
DEFAULTS = Settings.model_fields
LIMIT = TOOLS["read_workflow_control_plane"].arguments.model_json_schema()["properties"]["limit"]


def _rows() -> dict[str, list[str]]:
    """The rows of all tables by their first column."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| (?!what )", line)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len({first for first, *_ in rows}) == len(rows)
    return {first: rest for first, *rest in rows}


async def test_a_page_has_a_thousand_states_at_most(tools: Tools, run_id: str) -> None:
    names = [f"S{number:04}" for number in range(1001)]
    states: dict[str, Any] = {name: {"Type": "Task", "Next": after} for name, after in pairwise(names)}
    workflow = {"asl": {"StartAt": names[0], "States": states | {names[-1]: {"Type": "Task", "End": True}}}}
    await new_run(tools, run_id, workflow, agents_map_json={})
    first = await tools.ok("read_workflow_control_plane", workflow_id=run_id, include_meta=False)
    assert (len(first["states"]), first["next_cursor"]) == (1000, names[999])
    rest = await tools.ok("read_workflow_control_plane", workflow_id=run_id, cursor=first["next_cursor"])
    assert list(rest["states"]) == [names[1000]]
    for tool, more in (("read_workflow_control_plane", {"workflow_id": run_id}), ("get_skillset", {})):
        await tools.refused("invalid_argument", tool, **more, limit=1001)


def test_a_key_has_two_hundred_calls_at_once_and_a_hundred_a_second_after_that(
    application: Application, raw_redis: redis.Redis
) -> None:
    key = application.keys.create((Scope.READ,), agent_id=None, label=None, life_s=60)
    begun = _server_time(raw_redis)
    assert _admitted(application, key.text) in range(200, 202 + int(100 * (_server_time(raw_redis) - begun)))
    begun = _server_time(raw_redis)
    raw_redis.hset(keys.rate(key.record.key_id), "at", str(begun - 1))
    assert _admitted(application, key.text) in range(100, 102 + int(100 * (_server_time(raw_redis) - begun)))


def _server_time(raw_redis: redis.Redis) -> float:
    clock: Any = raw_redis.time()
    return float(clock[0]) + float(clock[1]) / 1e6


def _admitted(application: Application, text: str) -> int:
    """How many calls a key has before one is too many."""
    for number in itertools.count():
        caller = application.keys.admit(text)
        assert caller is not None
        assert caller.account is not None
        if caller.account.over:
            return number
    raise AssertionError


PROOFS: dict[str, tuple[int, Callable[..., Any]]] = {
    "an HTTP request": (DEFAULTS["max_body_bytes"].default, test_http.test_a_body_beyond_four_mebibytes_is_refused),
    "JSON values of an HTTP request": (
        DEFAULTS["max_request_values"].default,
        test_bodies.test_a_request_with_more_than_two_hundred_thousand_values_is_not_parsed,
    ),
    "bodies of HTTP requests that one server holds, without the first 64 KiB of each": (
        DEFAULTS["max_bodies_bytes"].default,
        test_bodies.test_all_keys_together_hold_no_more_than_the_limit,
    ),
    "bodies of HTTP requests of one key": (
        DEFAULTS["max_caller_bodies_bytes"].default,
        test_bodies.test_one_key_holds_a_part_of_the_bodies_and_no_more,
    ),
    "seconds until the headers of a request have arrived": (
        DEFAULTS["header_timeout_s"].default,
        test_connections.test_headers_that_do_not_come_in_time_are_given_up,
    ),
    "seconds until the body of a request has arrived, or its answer is taken": (
        DEFAULTS["body_timeout_s"].default,
        test_connections.test_a_body_that_does_not_come_in_time_is_given_up,
    ),
    "connections of one server": (
        DEFAULTS["max_connections"].default,
        test_connections.test_a_new_connection_takes_the_place_of_the_one_that_waited_longest,
    ),
    "connections from one address": (
        DEFAULTS["max_connections_per_peer"].default,
        test_connections.test_one_address_cannot_take_all_connections,
    ),
    "live pages that are open at a server": (
        live_streams.MOST,
        test_live_ends.test_only_so_many_streams_are_open_and_the_next_is_told_why,
    ),
    "runs that one stream of a client listens to": (
        run_watch.MOST_OF_ONE,
        test_run_watch.test_a_stream_may_not_listen_to_more_than_a_few_runs,
    ),
    "a workflow document": (
        DEFAULTS["max_document_bytes"].default,
        test_limits.test_a_workflow_beyond_the_limit_is_too_large,
    ),
    "states of a workflow, nested ones included": (
        parsing.MAX_STATES,
        test_limits.test_a_workflow_has_ten_thousand_states_at_most,
    ),
    "an input or output of a state": (
        DEFAULTS["max_output_bytes"].default,
        test_limits.test_an_output_and_an_input_beyond_the_limit_are_too_large,
    ),
    "events of states in a row without a Task or a Wait of some time, two for each": (
        pausing.MAX_EVENTS,
        test_long_chains.test_a_loop_without_end_fails_with_what_the_limit_is,
    ),
    "an OutputSchema, or the schema of a question to people": (
        schema_syntax.MAX_SCHEMA,
        test_json_schemas.test_a_schema_that_values_cannot_be_checked_with_has_a_flaw,
    ),
    "comparisons of an output with its OutputSchema": (
        schema_check.MAX_CHECKS,
        test_json_schemas.test_a_check_that_would_not_end_is_given_up,
    ),
    "steps of matching the patterns of an OutputSchema": (
        schema_check.MAX_MATCHING,
        test_json_schemas.test_a_check_that_would_not_end_is_given_up,
    ),
    "problems of an output that one answer lists": (
        schema_check.MAX_MISFITS,
        test_output_schemas.test_many_problems_are_cut_and_nothing_unprintable_is_told,
    ),
    "characters of the Instructions of a Task": (
        brief_syntax.MAX_INSTRUCTIONS,
        test_core_briefs.test_instructions_that_could_not_be_shown_are_a_problem,
    ),
    "expressions in the Instructions of a Task": (
        brief_syntax.MAX_EXPRESSIONS,
        test_core_briefs.test_instructions_that_could_not_be_shown_are_a_problem,
    ),
    "levels of nesting in JSON": (json_text.MAX_DEPTH, test_limits.test_json_is_nested_64_levels_at_most),
    "levels of nesting in a workflow document": (
        json_text.MAX_WORKFLOW_DEPTH,
        test_limits.test_thirty_parallel_states_in_each_other_are_run_and_one_more_is_refused,
    ),
    "an answer": (
        DEFAULTS["max_result_bytes"].default,
        test_limits.test_a_page_is_cut_between_states_where_it_would_grow_too_large,
    ),
    "states, skills or runs of one page": (LIMIT["maximum"], test_a_page_has_a_thousand_states_at_most),
    "open states that `dcf why` looks at": (
        run_signs.MOST,
        test_diagnosis_reads.test_of_very_many_open_states_the_first_are_looked_at_and_the_others_counted,
    ),
    "entries of a history that one page looks through": (
        histories.MOST_EXAMINED,
        test_histories.test_a_page_with_few_matching_events_reads_a_bounded_number_and_has_a_cursor,
    ),
    "findings": (knowledge.MOST_FINDINGS, test_knowledge.test_no_more_findings_are_kept_than_there_may_be),
    "definitions in the catalogue, and older versions of them": (
        catalogue_definitions.MOST_DEFINITIONS,
        test_definitions.test_no_more_definitions_are_kept_than_there_may_be,
    ),
    "versions of one definition whose content is kept": (
        catalogue_definitions.MOST_VERSIONS,
        test_catalogue_tools.test_the_oldest_versions_go,
    ),
    "different words by which a text is found": (
        text_tokens.MOST_WORDS,
        test_text_query.test_a_text_is_found_by_so_many_words_and_no_more,
    ),
    "entries that a search by several words orders together": (
        text_index.BLOCK,
        test_text_index.test_pages_show_each_entry_once_whatever_the_size_of_a_block,
    ),
    "schedules": (schedules.MOST_SCHEDULES, test_schedule_tools.test_there_are_a_thousand_schedules_at_most),
    "schedules that one key created": (
        schedules.MOST_OF_ONE,
        test_schedule_tools.test_a_key_creates_a_hundred_schedules_at_most,
    ),
    "items of a page of work": (work_list.LONGEST_PAGE, test_work_finding.test_what_is_no_page_of_work_is_refused),
    "states that an agent, or a project, may be allowed to hold at a time": (
        work_limits.MOST_IN_PROGRESS,
        test_work_tools.test_a_limit_beyond_what_is_kept_is_refused,
    ),
    "tokens of one report of usage": (usage.MOST_TOKENS, test_usage.test_usage_that_is_none_is_refused),
    "models of one report of usage": (usage.MOST_MODELS, test_usage_rules.test_models_that_are_none_are_refused),
    "models of a run whose usage is kept apart": (
        usage_books.MODELS,
        test_usage.test_models_beyond_those_kept_apart_are_summed_as_one,
    ),
    "days of one answer about usage": (periods.MOST_DAYS, test_usage.test_a_period_has_so_many_days_at_most),
    "projects": (projects.MOST_PROJECTS, test_projects.test_there_are_no_more_projects_than_may_be),
    "projects that one key created": (projects.MOST_OF_ONE, test_projects.test_there_are_no_more_projects_than_may_be),
    "paths of a project": (projects.MOST_PATHS, test_projects.test_what_is_no_project_is_refused),
    "the description of a project, with all its fields": (
        projects.MOST_BYTES,
        test_projects.test_what_is_no_project_is_refused,
    ),
    "an artifact": (DEFAULTS["artifact_max_bytes"].default, test_artifacts.test_what_is_no_artifact_is_refused),
    "bytes of the artifacts of a run": (
        DEFAULTS["artifact_run_bytes"].default,
        test_artifacts.test_a_run_has_no_more_bytes_of_artifacts_than_it_may,
    ),
    "artifacts of a run": (artifacts.MOST_ARTIFACTS, test_artifacts.test_a_run_has_a_thousand_artifacts_at_most),
    "parts of an artifact": (artifacts.MOST_PARTS, test_artifacts.test_what_is_no_artifact_is_refused),
    "an artifact that is kept in Redis": (
        DEFAULTS["artifact_inline_bytes"].default,
        test_artifacts.test_without_a_store_only_short_content_is_kept,
    ),
    "seconds after its last part that an unfinished upload is kept": (
        artifacts.UPLOAD_LIFE_S,
        test_artifacts.test_an_upload_that_nobody_finishes_is_dropped,
    ),
    "the metadata of an artifact": (artifacts.MOST_METADATA, test_artifacts.test_what_is_no_artifact_is_refused),
    "bytes of artifacts that one key holds": (
        DEFAULTS["quota_artifact_bytes"].default,
        test_artifacts.test_a_key_holds_no_more_bytes_of_artifacts_than_its_quota,
    ),
    "seconds between two starts of a schedule, at least": (
        timing.LEAST_EVERY_S,
        test_timing.test_a_schedule_ticks_every_ten_seconds_at_most,
    ),
    "the input that a schedule gives its runs": (
        schedules.MOST_INPUT,
        test_schedule_tools.test_the_input_of_a_schedule_has_64_kib_at_most,
    ),
    "missed starts of a schedule that are caught up, and starts that wait": (
        timing.MOST_TICKS,
        test_scheduling.test_a_hundred_starts_wait_at_most_and_the_others_are_noted,
    ),
    "starts in the history of a schedule": (
        schedules.MOST_RECORDS,
        test_scheduling.test_the_history_has_the_latest_fifty_ticks,
    ),
    "the payload of a notification": (
        notification.MAX_PAYLOAD,
        test_floods.test_a_payload_beyond_four_kibibytes_is_refused_and_nobody_is_told,
    ),
    "unread events of runs of one creator in an inbox": (
        inbox.MOST_UNREAD,
        test_fair_inbox.test_one_creator_has_only_so_many_unread_events_and_others_still_have_room,
    ),
    "entries of a journal": (journal.MOST_ENTRIES, test_journal.test_a_full_journal_says_so_and_keeps_what_it_has),
    "characters of one entry of a journal": (
        journal.LONGEST_ENTRY_TEXT,
        test_journal.test_what_is_no_entry_is_refused_with_what_is_wrong,
    ),
    "issues that block a run at the same time": (
        blockers.MOST_BLOCKERS,
        test_journal.test_no_more_issues_block_a_run_than_its_meta_keeps,
    ),
    "entries of one page of a journal": (
        journal_query.LONGEST_PAGE,
        test_journal_tools.test_a_page_has_so_many_at_most,
    ),
    "gates of a Task, and of a run": (gate_syntax.MOST_GATES, test_gate_syntax.test_there_are_only_so_many_gates),
    "criteria of a gate": (gate_syntax.MOST_CRITERIA, test_gate_syntax.test_a_gate_has_only_so_many_criteria),
    "outputs that are submitted to gates in one visit": (
        core_gates.MOST_SUBMISSIONS,
        test_gates.test_only_so_many_outputs_are_submitted_in_one_visit,
    ),
    "verdicts that are kept of a state": (
        core_gates.MOST_VERDICTS,
        test_gates.test_only_so_many_verdicts_are_kept,
    ),
    "verdicts of a gate that are unavailable": (
        core_gates.MOST_UNAVAILABLE,
        test_gates.test_a_command_that_could_not_be_run_is_asked_for_again_and_people_in_the_end,
    ),
    "characters of the end of a command's output in a verdict": (
        verdicts.LONGEST_TAIL,
        test_gate_tools.test_a_long_tail_of_a_command_is_refused,
    ),
    "units and groups of an open run": (
        units.MOST_UNITS,
        test_core_growing.test_a_run_takes_only_so_many_units_and_a_call_only_so_many,
    ),
    "units that wait for one unit or group": (
        units.MOST_FOLLOWERS,
        test_core_growing.test_only_so_many_units_wait_for_one,
    ),
    "bytes of a context": (agent_context.MOST_BYTES, test_context_tool.test_a_context_says_whose_it_is_and_has_a_size),
    "runs whose journals, artifacts and outputs one search looks through": (
        run_searching.MOST_RUNS,
        test_search_tool.test_the_newest_runs_are_looked_through_and_the_answer_says_that_there_are_more,
    ),
    "results of one search over everything": (
        searching.MOST_HITS,
        test_search_tool.test_a_search_has_so_many_results_at_most,
    ),
    "notes of a run": (talk.MOST_NOTES, test_talk.test_notes_are_bounded_in_length_and_number_and_end_with_the_run),
    "questions that a run keeps": (
        talk.MOST_KEPT,
        test_talk.test_a_run_keeps_only_so_many_questions,
    ),
    "questions about a state in one visit": (talk.MOST_OF_VISIT, test_talk.test_questions_about_a_state_are_bounded),
    "signals that a run keeps for later states": (
        signals.MOST_KEPT,
        test_signals.test_a_run_keeps_only_so_many_signals,
    ),
    "bytes of the payloads of kept signals": (
        signals.MOST_KEPT_BYTES,
        test_signals.test_payloads_that_are_kept_are_bounded_together,
    ),
    "levels of child runs below a run": (
        parents.MOST_DEPTH,
        test_children.test_children_of_children_go_only_so_deep,
    ),
    "entries of one key in the audit trail, two for a change": (
        audit_trail.KEPT,
        test_audit_trail.test_no_key_pushes_out_what_others_did,
    ),
    "requests of one key, over all servers": (
        int(DEFAULTS["rate_per_s"].default),
        test_a_key_has_two_hundred_calls_at_once_and_a_hundred_a_second_after_that,
    ),
    "events of runs by one key, over all servers": (
        int(DEFAULTS["quota_events_per_s"].default),
        test_quotas.test_too_many_events_make_a_key_wait,
    ),
    "bytes that one key holds": (
        DEFAULTS["quota_stored_bytes"].default,
        test_quotas.test_many_writers_at_once_stay_within_the_quota,
    ),
    "documents that one key holds": (
        DEFAULTS["quota_documents"].default,
        test_quotas.test_documents_are_counted_once_over_three_servers,
    ),
    "live runs that one key created": (
        DEFAULTS["quota_live_runs"].default,
        test_quotas.test_live_runs_are_counted_once_over_three_servers,
    ),
    "entries in inboxes by one key's notifications": (
        DEFAULTS["quota_inbox_entries"].default,
        test_quotas.test_entries_in_inboxes_are_counted_until_they_are_acknowledged,
    ),
    "calls of one key that run at the same time, by one server": (
        DEFAULTS["max_concurrency"].default,
        test_limits.test_only_so_many_calls_of_a_caller_run_at_once,
    ),
    "seconds that a log-in at the web page lasts, however busy": (
        DEFAULTS["web_session_s"].default,
        test_login.test_a_session_ends_after_twelve_hours_however_busy,
    ),
    "seconds after its last request at which a log-in ends": (
        DEFAULTS["web_idle_s"].default,
        test_login.test_a_session_that_is_idle_lives_an_hour_and_each_request_prolongs_it,
    ),
}
"""By row: what the code says, and the test that crosses it."""


def test_every_row_of_the_table_is_proved() -> None:
    assert set(_rows()) == set(PROOFS)


@rows("row", PROOFS)
def test_the_table_says_what_the_code_does(row: str) -> None:
    limit, variables, _ = _rows()[row]
    units = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
    number, unit = re.match(r"([0-9,]+?)(?: (KiB|MiB|GiB)|, |[:;]| a second|$)", limit).groups()  # type: ignore[union-attr]
    assert int(number.replace(",", "")) * units.get(unit, 1) == PROOFS[row][0]
    for variable in re.findall(r"`DCF_([A-Z_]+)`", variables):
        assert variable.lower() in DEFAULTS
