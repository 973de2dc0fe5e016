"""The meaning of a call of a merged tool: the verb, its arguments, and refusals; and the names of tools in answers."""

from collections.abc import Mapping
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import Implementation

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.tools.mcp.selection import callable_tools
from dcf.tools.mcp.server import build_server
from dcf.values.json_text import Json
from dcf.verbs.argument_checks import AlmostRight, check_at_once
from dcf.verbs.examples import smallest_call
from dcf.verbs.merged.answers import Asked, as_listed
from dcf.verbs.merged.merged_tools import meant
from dcf.verbs.merged.merges import MERGES
from dcf.verbs.merged.naming import RETIRED, offered
from dcf.verbs.registry import TOOLS
from dcf.verbs.wording.sentences import worded
from dcf.verbs.wording.tools import Tools as ToolWords
from dcf.verbs.wording.tools import in_tools
from tests.support.tables import rows
from tests.tools.calls import SERVED, Tools, new_run

CHOICES = [(merge.name, choice) for merge in MERGES for choice in merge.choices]
SHADOWED = sorted({merge.name for merge in MERGES} & set(TOOLS))
ASKED = Asked("list_runs", "list_runs", frozenset(Scope), frozenset(SERVED))


@rows(
    ("name", "choice"), CHOICES, ids=[f"{name}-{choice.verb}-{number}" for number, (name, choice) in enumerate(CHOICES)]
)
def test_each_choice_of_a_merged_tool_is_a_call_of_its_verb(name: str, choice: Any) -> None:
    """The listed call for a verb means that verb; so `next` and hints lead where they should."""
    values = {"workflow_id": "r", **smallest_call(TOOLS[choice.verb]), **choice.fixed}
    values = {key: value for key, value in values.items() if key in TOOLS[choice.verb].arguments.model_fields}
    outer = choice.outer(values)
    missing = {key: "x" for key in choice.given if key not in outer}
    spec, arguments = meant(SERVED[name], outer | missing)
    assert spec is TOOLS[choice.verb]
    assert arguments.items() >= values.items()
    check_at_once(spec, arguments)


@rows("verb", sorted(RETIRED - {"claim_ready_state"}))
def test_the_call_that_is_offered_for_a_verb_means_that_verb(verb: str) -> None:
    sent = smallest_call(TOOLS[verb]) | ({"group": "g"} if verb == "seal_group" else {})
    sent |= {"project": "shop"} if verb == "get_project" else {}
    tool, arguments = offered(verb, sent)
    spec, inner = meant(SERVED[tool], arguments)
    assert spec is TOOLS[verb]
    assert inner.items() >= sent.items()


@rows("name", SHADOWED)
def test_a_call_of_before_under_a_name_that_is_merged_now_means_what_it_meant(name: str) -> None:
    fields = TOOLS[name].arguments.model_fields
    sent = smallest_call(TOOLS[name]) | {key: field.default for key, field in fields.items() if not field.is_required()}
    assert meant(SERVED[name], sent) == (TOOLS[name], sent)
    assert meant(SERVED[name], smallest_call(TOOLS[name])) == (TOOLS[name], smallest_call(TOOLS[name]))


@rows(
    ("tool", "sent", "error", "hint"),
    [
        (
            "answer",
            {"workflow_id": "r", "question_id": "q1", "state": "A", "choice": "EUR"},
            "state and choice do not go with question_id.",
            "Leave out state and choice, or send them without question_id.",
        ),
        (
            "search",
            {"query": "slow", "severity": "high"},
            "severity does not go with the rest of this call.",
            "Leave out severity, or send it with in 'findings'.",
        ),
        (
            "start_run",
            {"rerun_of": "r", "definition": "d"},
            "definition does not go with rerun_of.",
            "Leave out definition, or send it without rerun_of.",
        ),
        (
            "delete",
            {"kind": "run", "id": "r", "definition_kind": "rule"},
            "definition_kind does not go with kind 'run'.",
            "Leave out definition_kind, or send it with kind 'definition'.",
        ),
        (
            "search",
            {"in": "definitions", "id": "f-0123456789abcdef"},
            "The argument kind is missing with in 'definitions' and id.",
            "Send kind, or what you sent with in 'findings' and id.",
        ),
        (
            "operate_run",
            {"workflow_id": "r", "action": "stop"},
            "action must be one of pause, resume, retry, hold, release.",
            None,
        ),
        ("redo_unit", {"workflow_id": "r", "unit": "u", "rewind": 1}, "rewind must be true or false.", None),
    ],
)
def test_a_call_that_means_none_of_the_verbs_is_refused_in_words(
    tool: str, sent: dict[str, Any], error: str, hint: str | None
) -> None:
    assert meant(SERVED[tool], sent) == (SERVED[tool], sent)
    with pytest.raises(InvalidArgument) as refused:
        check_at_once(SERVED[tool], sent)
    assert refused.value.message == error
    assert hint is None or refused.value.hint == hint


def test_what_is_missing_is_told_with_a_call_to_fill_in() -> None:
    with pytest.raises(AlmostRight) as refused:
        check_at_once(SERVED["search"], {"in": "definitions", "id": "x"})
    assert refused.value.values == {"kind": "<kind>"}


def test_false_is_no_choice() -> None:
    sent = {"workflow_id": "r", "unit": "u"}
    assert meant(SERVED["redo_unit"], {**sent, "rewind": False}) == (TOOLS["retry_unit"], sent)
    assert meant(SERVED["redo_unit"], {**sent, "rewind": True}) == (TOOLS["rewind_unit"], sent)


def test_a_server_of_some_toolsets_merges_only_what_it_serves() -> None:
    served = {spec.name: spec for spec in callable_tools(("schedules",), read_only=False)}
    schedule, run = ({"kind": kind, "id": "x"} for kind in ("schedule", "run"))
    assert meant(served["delete"], schedule) == (TOOLS["delete_schedule"], {"name": "x"})
    assert meant(served["delete"], run) == (served["delete"], run)
    with pytest.raises(InvalidArgument, match="kind must be 'schedule'"):
        check_at_once(served["delete"], run)
    assert "operate_run" not in served


@rows(
    ("text", "said"),
    [
        ("`retry_run` goes on.", "`operate_run(action=retry)` goes on."),
        ("`hold_run(hold=false)` ends it.", "`operate_run(action=release)` ends it."),
        ("`hold_run` keeps it.", "`operate_run(action=hold)` keeps it."),
        ("Repeat it with `rerun`.", "Repeat it with `start_run(rerun_of)`."),
        ("`rerun(workflow_id=r)` repeats it.", "`start_run(rerun_of=r)` repeats it."),
        ("There is no state 'rerun'.", "There is no state 'rerun'."),
        ("`get_definition` reads it.", "`search(in=definitions, id)` reads it."),
        ("`get_definition(name=x, kind=job)`.", "`search(in=definitions, id=x, kind=job)`."),
        ("`answer_question(question_id=q1)`.", "`answer(question_id=q1)`."),
        ("`get_project` or `get_project(path=PATH)`.", "`list_projects(id)` or `list_projects(path=PATH)`."),
        ("`claim_ready_state` gives one.", "`find_work(claim=true)` gives one."),
        ("`leave_note` tells them.", "`add_note(kind=to_planner)` tells them."),
        ('`leave_note(text="a, b", state=a b)`.', '`add_note(kind=to_planner, text="a, b", state=a b)`.'),
        ('`add_finding(tags_json=["a", "b"])`.', '`put_finding(tags_json=["a","b"])`.'),
        ("`cancel_run` ends it, as `start_run` began it.", "`cancel_run` ends it, as `start_run` began it."),
    ],
)
def test_a_text_names_the_tools_of_lists(text: str, said: str) -> None:
    assert worded(text, ToolWords()) == said
    assert in_tools(text) == said.replace("`", "")


def test_a_verb_that_is_called_by_its_own_name_keeps_the_names_of_its_arguments() -> None:
    text = "Leave out `name`, or `delete_schedule(name=x)`."
    wordeds = [worded(text, ToolWords(tool), "delete_schedule") for tool in ("delete", "delete_schedule")]
    assert wordeds == [f"Leave out `{name}`, or `delete(kind=schedule, id=x)`." for name in ("id", "name")]


def test_next_calls_are_of_tools_that_are_shown() -> None:
    steps = [
        {"tool": "resume_run", "arguments": {"workflow_id": "r"}, "why": "Or `retry_run`."},
        {"tool": "delete_run", "arguments": {"workflow_id": "r"}, "why": "Gone."},
    ]
    payload = {"code": "ok", "next": steps}
    shown = frozenset({"operate_run", "list_runs"})
    listed = as_listed(payload, Asked("list_runs", "list_runs", frozenset(), shown))
    assert listed["next"] == [
        {
            "tool": "operate_run",
            "arguments": {"action": "resume", "workflow_id": "r"},
            "why": "Or `operate_run(action=retry)`.",
        }
    ]
    none = as_listed({"code": "ok", "next": steps[1:]}, Asked("list_runs", "list_runs", frozenset(), shown))
    assert none["next"] == []


def test_a_caller_of_a_tool_that_is_not_shown_gets_calls_that_are_shown_or_all() -> None:
    resume = {"tool": "resume_run", "arguments": {"workflow_id": "r"}, "why": "."}
    delete = {"tool": "delete_run", "arguments": {"workflow_id": "r"}, "why": "."}
    verify = {"tool": "verify_run", "arguments": {"workflow_id": "r"}, "why": "."}
    request = Asked("verify_run", "verify_run", frozenset(), frozenset({"operate_run"}))

    def tools(*steps: Mapping[str, Json]) -> list[str]:
        return [step["tool"] for step in as_listed({"code": "ok", "next": list(steps)}, request)["next"]]

    assert tools(delete, resume) == ["operate_run"]
    assert tools(delete, verify) == ["verify_run"], "it may call again what it called"
    assert tools(delete) == ["delete"], "all, if none is shown"


def test_arguments_have_the_names_of_the_tool_that_was_called() -> None:
    wrong = {
        "code": "invalid_argument",
        "error": "workflow_id has the wrong form, and new_workflow_id too.",
        "hint": ".",
    }
    items = as_listed(wrong, Asked("start_run", "rerun", frozenset(), frozenset(SERVED)))
    assert items["error"] == "rerun_of has the wrong form, and workflow_id too."
    assert as_listed(wrong, Asked("rerun", "rerun", frozenset(), frozenset(SERVED)))["error"] == wrong["error"]


def test_who_may_not_answer_for_people_is_told_that_it_may_answer_questions() -> None:
    refused = {
        "code": "forbidden",
        "error": "forbidden: `answer_human_task` needs the scope 'answer'.",
        "hint": "Get a key.",
    }
    request = Asked("answer", "answer_human_task", frozenset({Scope.READ, Scope.PLAN}), frozenset(SERVED))
    items = as_listed(refused, request)
    assert items["error"] == "forbidden: `answer` needs the scope 'answer'."
    assert items["hint"] == "Get a key. This key may call answer with question_id."
    assert as_listed(refused, ASKED)["hint"] == "Get a key."


@rows(
    ("tool", "sent", "now"),
    [
        ("list_runs", {"agent": "ann"}, {"agent_id": "ann"}),
        ("read_journal", {"workflow_id": "r", "agent": "ann"}, {"workflow_id": "r", "agent_id": "ann"}),
        ("list_human_tasks", {"person": "ann"}, {"agent_id": "ann"}),
        ("search_findings", {"text": "slow", "run": "r"}, {"query": "slow", "run": "r"}),
        ("search_definitions", {"text": "slow"}, {"query": "slow"}),
        ("claim_ready_state", {"workflow_id": "r", "owner_agent_id": "ann"}, {"workflow_id": "r", "agent_id": "ann"}),
        ("list_runs", {"agent": "ann", "agent_id": "ben"}, {"agent_id": "ben"}),
    ],
)
def test_an_argument_is_accepted_under_its_former_name(tool: str, sent: dict[str, Any], now: dict[str, Any]) -> None:
    assert meant(SERVED[tool], sent) == (TOOLS[tool], now)
    check_at_once(TOOLS[tool], now)


@pytest.mark.anyio
async def test_a_program_of_this_package_is_told_of_verbs_and_a_model_of_tools(
    application: Application, tools: Tools, run_id: str
) -> None:
    await new_run(tools, run_id)
    steps = {}
    for name in ("dcf", "editor"):
        implementation = Implementation(name=name, version="1")
        async with Client(build_server(application), client_info=implementation) as client:
            answer = await client.call_tool("pause_run", {"workflow_id": run_id})
            assert answer.structured_content is not None
            (step,) = answer.structured_content["next"]
            steps[name] = (step["tool"], step["arguments"])
    run = {"workflow_id": run_id}
    assert steps == {"dcf": ("resume_run", run), "editor": ("operate_run", {"action": "resume", **run})}
