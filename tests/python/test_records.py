"""A client's records and methods say what tools and verbs say: there is one truth of names, fields and words."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import FrozenInstanceError, fields
from typing import Any, Final, get_args

import pytest

import dcf
from dcf import client as package
from dcf.client import AsyncClient, Client, records, verbs, watching
from dcf.client.answers import external as outside_records
from dcf.client.answers import findings as knowledge_records
from dcf.client.answers import gates as gate_records
from dcf.client.answers import growing as growing_records
from dcf.client.answers import journal as journal_records
from dcf.client.answers import people as people_records
from dcf.client.answers import questions as talk_records
from dcf.client.answers import schedules as schedule_records
from dcf.client.answers import webhooks as registered_records
from dcf.client.failures import error_of
from dcf.client.features import artifacts, contexts, growing, journal, people, projects, work
from dcf.client.features import external as outside
from dcf.client.features import findings as knowledge
from dcf.client.features import gates as gating
from dcf.client.features import questions as talk
from dcf.client.features import schedules as scheduling
from dcf.client.features import search as searching
from dcf.client.features import webhooks as registering
from dcf.client.reading import read
from dcf.core.documents.model import RunStatus, Status
from dcf.core.listing.runs import RunRow
from dcf.errors import DcfError, PlatformUnavailable, RateLimited, ServerUnreachable, ToolCallFailed, UnknownRun
from dcf.features.diagnosis.model import Cause, Remedy, RunFinding
from dcf.runs.views import status as standing
from dcf.runs.views.status import StateView
from dcf.tools.mcp.selection import select_tools
from dcf.verbs.registry import TOOLS, Answer
from tests.support.tables import rows

select_tools((), read_only=False)

NOT_FOR_PROGRAMS = {*Answer.model_fields, "provenance"}
"""A refusal is raised; what else is told is for language models and people. Some records keep the hint of success."""

OF_TOOLS = {
    records.StartedRun: ("start_run", {"problems"}),
    records.OperatedRun: ("cancel_run", set()),
    records.RetriedRun: ("retry_run", set()),
    records.ResolvedState: ("resolve_state", {"paused_at", "problems"}),
    records.ExplainedRun: ("explain_run", set()),
    records.DeletedRun: ("delete_run", set()),
    records.HeldRun: ("hold_run", set()),
    records.FinalizedRun: ("finalize_workflow", set()),
    records.ValidatedWorkflow: ("validate_workflow", {"exit_code", "schema_errors"}),
    records.NotifiedAgents: ("notify_next_worker_agent", {"source_state"}),
    records.RunExport: ("export_run", {"workflow_id", "next_cursor"}),
    outside_records.SentSignal: ("send_signal", set()),
    outside_records.EndedTask: ("send_task_success", {"problems"}),
    outside_records.LivingTask: ("send_task_heartbeat", {"problems"}),
    people_records.AnsweredTask: ("answer_human_task", {"problems"}),
    talk_records.LeftNote: ("leave_note", set()),
    talk_records.AskedQuestion: ("ask_question", set()),
    talk_records.AnsweredQuestion: ("answer_question", set()),
    talk_records.CorrectedResult: ("correct_result", {"problems"}),
    gate_records.DecidedGate: ("decide_gate", set()),
    registered_records.RegisteredAgent: ("register_agent", set()),
    knowledge_records.ShownFinding: ("add_finding", set()),
    knowledge_records.DeletedFinding: ("delete_finding", set()),
    knowledge_records.ShownDefinition: ("put_definition", set()),
    knowledge_records.DeletedDefinition: ("delete_definition", set()),
    journal_records.AddedEntry: ("add_journal_entry", set()),
    journal_records.ResolvedIssue: ("resolve_issue", {"hint"}),
    journal_records.AgentContext: ("get_context", set()),
    journal_records.SearchedAll: ("search", set()),
    growing_records.OpenedRun: ("open_run", set()),
    growing_records.AddedUnits: ("add_units", {"problems"}),
    growing_records.SealedGroup: ("seal_group", set()),
    growing_records.ReopenedUnit: ("rewind_unit", set()),
    growing_records.ClosedRun: ("close_run", set()),
    schedule_records.CreatedSchedule: ("create_schedule", set()),
    schedule_records.OperatedSchedule: ("operate_schedule", {"warnings"}),
    schedule_records.DeletedSchedule: ("delete_schedule", set()),
}
"""Each record of one tool's answer, with the fields that it leaves out."""

ROW = RunRow(
    workflow_id="r", status=RunStatus.RUNNING, workflow_name="w", workflow_version=None, definition_sha256="0" * 64,
    tags=(), agents=(), names=(), created_at=None, finished_at=None,
)  # fmt: skip
FINDING = RunFinding(cause=Cause.PAUSED, sentence="It is paused.", remedy=Remedy(sentence="Resume it."), stuck=True)


CLIENT = dcf.connect("http://127.0.0.1:1/mcp")
"""One that is never called."""


def names(kind: type) -> set[str]:
    return {one.name for one in fields(kind)}


@rows("kind", OF_TOOLS, ids=lambda kind: kind.__name__)
def test_a_record_has_the_fields_of_its_tools_answer(kind: type) -> None:
    tool, left_out = OF_TOOLS[kind]
    told = set(TOOLS[tool].answer.model_fields) - NOT_FOR_PROGRAMS - left_out
    assert names(kind) - {"hint"} == told, "some records have the hint, as a sentence for people"


@rows(
    ("kind", "shown"),
    [
        (records.ListedRun, ROW.as_json()),
        (records.ExplainedCause, FINDING.as_json()),
        (records.SuggestedRemedy, FINDING.remedy.as_json()),
    ],
    ids=lambda found: getattr(found, "__name__", ""),
)
def test_a_record_has_the_fields_of_what_answers_list(kind: type, shown: Mapping[str, Any]) -> None:
    assert names(kind) == set(shown)
    assert read(kind, shown) is not None


def test_the_summary_of_a_state_has_no_field_that_the_record_lacks() -> None:
    source = inspect.getsource(StateView.summary)
    shown = {line.strip().split('"')[1] for line in source.splitlines() if line.strip().startswith('"')}
    assert names(records.StateDetails) == shown - {""}


def test_a_run_has_the_fields_of_its_summary_its_output_and_its_states() -> None:
    assert names(records.RunDetails) == {*standing._SUMMARY, *standing._MORE_OF_SUMMARY, "output", "states"}


def test_the_words_for_statuses_are_those_of_the_core() -> None:
    assert set(get_args(records.RunStatusName)) == {one.value for one in RunStatus}
    assert set(get_args(records.StateStatusName)) == {one.value for one in Status}


def test_records_are_frozen_and_unknown_fields_of_a_newer_server_are_left_out() -> None:
    found = read(records.DeletedRun, {"workflow_id": "r", "existed": True, "of_a_newer_server": 1})
    with pytest.raises(FrozenInstanceError):
        found.existed = False  # type: ignore[misc]  # what is tested


@rows("answer", [{}, {"workflow_id": "r", "findings": 5}, {"findings": [None]}])
def test_an_answer_that_is_none_is_told_in_words(answer: dict[str, Any]) -> None:
    with pytest.raises(ToolCallFailed, match="is no Explained") as failed:
        read(records.ExplainedRun, answer)
    assert "version" in failed.value.hint


def public_methods(kind: type) -> dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("_") and inspect.isfunction(value)}


def test_both_clients_have_the_same_verbs_with_the_same_parameters() -> None:
    one, other = public_methods(Client), public_methods(AsyncClient)
    assert set(one) == set(other)
    own = {"serve", "close"}
    for name in set(one) - own:
        assert inspect.signature(one[name]) == inspect.signature(other[name]), name
        assert inspect.getdoc(one[name]) == inspect.getdoc(other[name]), name


MODULES: Final = (
    *(verbs, watching, outside, people, projects, registering, scheduling, talk, knowledge, growing),
    *(contexts, journal, searching, work, gating, artifacts),
)
"""Where the verbs are."""


def test_every_verb_is_a_method_and_shows_its_parameters_and_its_documentation() -> None:
    described = {
        name: function
        for module in MODULES
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    }
    del described["ask"]
    described["list"] = described.pop("list_runs")
    assert set(described) == set(public_methods(Client)) - {"serve", "close"}
    for name, verb in described.items():
        method = getattr(CLIENT, name)
        assert list(inspect.signature(method).parameters) == list(inspect.signature(verb).parameters)
        assert method.__doc__ == verb.__doc__


PAGED: Final = {"limit", "cursor", "offset"}
IN_OTHER_WORDS: Final[Mapping[str, set[str]]] = {
    "put_artifact": {"encoding", "sha256", "part", "of"},  # bytes are sent as they need
    "get_artifact": {"encoding"},
    "read_journal": {"open"},  # open_only
    "find_work": {"claim", "lease_ttl_s", "request_id", "whole_input"},  # claim_work
    "start_run": {"definition", "keep"},
    "register_agent": {"platform"},
}
"""Arguments of tools that a verb has no parameter of the same name for, and why."""


@rows(
    "tool",
    [
        *(spec.name for spec in TOOLS.values() if spec.toolset in {"growing", "gates", "journal", "artifacts"}),
        *(spec.name for spec in TOOLS.values() if spec.toolset in {"knowledge", "projects"}),
        *("find_work", "read_usage", "set_budget", "start_run", "register_agent", "list_human_tasks"),
    ],
)
def test_a_verb_takes_what_its_tool_takes(tool: str) -> None:
    verb = getattr(CLIENT, {"start_run": "start"}.get(tool, tool))
    wanted = {name.removesuffix("_json").removesuffix("_map") for name in TOOLS[tool].arguments.model_fields}
    missing = wanted - set(inspect.signature(verb).parameters) - PAGED - IN_OTHER_WORDS.get(tool, set())
    assert missing <= {"redis_url", *(["project"] if tool == "list_projects" else [])}


def below(kind: type[DcfError]) -> Iterator[type[DcfError]]:
    for one in kind.__subclasses__():
        if one.__module__ == "dcf.errors":
            yield one
            yield from below(one)


def test_a_failed_call_is_raised_as_the_class_of_its_code() -> None:
    mine = {"refused", "run_failed", "wait_timed_out", "state_error"}
    for kind in set(below(DcfError)) - {ToolCallFailed}:
        if kind.code not in mine:
            error = error_of(ToolCallFailed(kind.code, "In words.", "Do this.", {"retry_after_s": 3.5}))
            assert type(error) is kind
            assert (str(error), error.message, error.hint) == ("In words.", "In words.", "Do this.")
            if isinstance(error, RateLimited | PlatformUnavailable):
                assert error.retry_after_s == 3.5
    assert {type(error_of(ToolCallFailed(code, "x"))) for code in ("closed", "error", *mine)} == {ToolCallFailed}
    assert isinstance(error_of(ToolCallFailed("unknown_run", "x")), UnknownRun)
    assert isinstance(error_of(ToolCallFailed("server_unreachable", "x")), ServerUnreachable)


def test_everything_that_the_package_offers_is_there() -> None:
    assert all(hasattr(package, name) for name in package.__all__)
