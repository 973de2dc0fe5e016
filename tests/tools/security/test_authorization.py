"""Permissions: every tool by every scope, as oneself and as another, on one's own run and on another planner's."""

import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import tool_of
from dcf.verbs.description.verb import Verb
from dcf.verbs.registry import TOOLS
from tests.support.tables import rows
from tests.tools.access import PLANNER, WORKER, ask, key_of, smallest
from tests.tools.calls import ONE_TASK, TWO_TASKS

pytestmark = pytest.mark.anyio

SPEAKING = sorted(name for name, spec in TOOLS.items() if spec.acts_as is not None)
OTHERS = {"delete_agent", "register_agent", "report_limit", "remove_tool_return_limits"}
READ_OF_ALL = {"read_usage", "list_human_tasks", "list_runs", "read_journal"}
"""The facts about any agent for a caller with the scope read."""
OF_PLANNERS: dict[str, dict[str, Any]] = {
    "create_worker_agents": {"workflow_json": ONE_TASK},
    "finalize_workflow": {},
    "notify_if_ready": {"state": "A"},
    "notify_next_worker_agent": {},
}
"""Tools that only the planner of a run may use on it."""


@rows("scope", list(Scope))
@rows("name", sorted(TOOLS))
async def test_a_tool_is_for_its_own_scope_only(alone: Application, name: str, scope: Scope) -> None:
    """With an argument that no tool has, so that an admitted caller gets no further."""
    answer = await ask(alone, key_of(scope), name, no_such_argument=1)
    if scope is TOOLS[name].scope:
        assert answer.code == "invalid_argument"
        return
    assert answer.error == f"forbidden: `{name}` needs the scope '{TOOLS[name].scope}'."
    assert f"--scope {TOOLS[name].scope}" in answer.hint


@rows("name", sorted(TOOLS))
async def test_without_a_scope_nothing_is_allowed(alone: Application, name: str) -> None:
    assert (await ask(alone, key_of(), name, **smallest(name))).code == "forbidden"


@rows("name", SPEAKING)
async def test_a_key_of_one_agent_may_not_act_as_another(alone: Application, name: str) -> None:
    spec = TOOLS[name]
    assert spec.acts_as is not None
    mine = key_of(spec.scope, agent_id="me")
    timeout: dict[str, Any] = {"timeout_s": 0} if name == "await_workflow_event" else {}
    arguments = smallest(name) | timeout
    other = await ask(alone, mine, name, **arguments | {spec.acts_as: "someone-else"})
    assert other.error == "forbidden: This key is bound to agent 'me' and may not act as another."
    assert "someone-else" not in other.text
    own = await ask(alone, mine, name, **arguments | {spec.acts_as: "me"})
    assert "bound to agent" not in own.text


def test_every_argument_that_names_an_agent_says_who_calls_or_is_about_others() -> None:
    named = {name for name, spec in TOOLS.items() if {"agent_id", "owner_agent_id"} & set(spec.arguments.model_fields)}
    assert named - set(SPEAKING) == OTHERS | READ_OF_ALL


async def test_an_agent_that_does_not_say_who_it_is_is_the_one_of_its_key(alone: Application) -> None:
    run = await _run(alone, agents={"A": ["me", "you"]})
    you = key_of(*WORKER, agent_id="you")
    reply = await ask(alone, you, "acquire_state_lease", workflow_id=run, state="A", owner_agent_id="you")
    token = reply["lease"]["token"]
    stolen = {"workflow_id": run, "state": "A", "lease_token": token}
    me = key_of(*WORKER, agent_id="me")
    for name, more in (
        ("renew_state_lease", {}),
        ("release_state_lease", {}),
        ("update_workflow_control_plane", {"new_status": "succeeded", "output_json": {}}),
    ):
        answer = await ask(alone, me, name, **stolen, **more)
        assert answer.code == "owner_mismatch", name
        assert token not in answer.text
        assert (await ask(alone, you, "renew_state_lease", **stolen)).code == "ok", name


@rows("name", sorted(OF_PLANNERS))
async def test_a_planner_plans_its_own_runs_only(alone: Application, name: str) -> None:
    run = await _run(alone, planner="planner-1")
    arguments = {"workflow_id": run} | OF_PLANNERS[name]
    other = await ask(alone, key_of(*PLANNER, agent_id="planner-2"), name, **arguments)
    assert other.code == "forbidden"
    assert f"Run '{run}' has another planner" in other.error
    assert (await ask(alone, key_of(*WORKER), "read_workflow_control_plane", workflow_id=run))["meta"][
        "status"
    ] == "running"
    own = await ask(alone, key_of(*PLANNER, agent_id="planner-1"), name, **arguments)
    assert own.code != "forbidden", own.text


async def test_an_operator_may_close_what_another_planned(alone: Application) -> None:
    run = await _run(alone, planner="planner-1")
    operator = key_of(*PLANNER, Scope.OPERATE, agent_id="operator-1")
    assert (await ask(alone, operator, "finalize_workflow", workflow_id=run)).code == "ok"


async def test_a_run_belongs_to_the_planner_whose_key_made_it(alone: Application) -> None:
    run = f"run-{secrets.token_hex(4)}"
    planner = key_of(*PLANNER, agent_id="planner-1")
    made = await ask(alone, planner, "create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id=run)
    assert made["meta_sample"]["planner_agent_id"] == "planner-1"


async def test_a_worker_may_tell_the_next_one_and_not_start_a_run(alone: Application) -> None:
    run = await _run(alone)
    worker = key_of(*WORKER)
    start = await ask(alone, worker, "notify_next_worker_agent", workflow_id=run)
    assert start.error == "forbidden: Starting a run needs the scope 'plan', which this key does not have."
    answer = await ask(alone, worker, "notify_next_worker_agent", workflow_id=run, source_state="A")
    assert answer.code != "forbidden"


@rows(
    ("name", "arguments"),
    [
        ("release_state_lease", {"force": True}),
        ("acquire_state_lease", {"require_owner_match": False, "owner_agent_id": "other"}),
    ],
)
async def test_acting_for_others_needs_the_scope_operate(
    alone: Application, name: str, arguments: dict[str, Any]
) -> None:
    run = await _run(alone)
    arguments = {"workflow_id": run, "state": "A"} | arguments
    refused = await ask(alone, key_of(*PLANNER, Scope.ADMIN), name, **arguments)
    assert refused.code == "forbidden"
    assert "--scope operate" in refused.hint
    assert (await ask(alone, key_of(*WORKER, Scope.OPERATE), name, **arguments)).code != "forbidden"


async def test_an_agent_of_another_planners_run_is_not_deleted(alone: Application) -> None:
    run = await _run(alone, planner="planner-1", agents=None)
    first = key_of(*PLANNER, agent_id="planner-1")
    crew = await ask(alone, first, "create_worker_agents", workflow_id=run)
    agent_id = crew["agents_map"]["A"]
    for name in sorted(OTHERS):
        account = {"account": "openai-1"} if name == "report_limit" else {}
        answer = await ask(alone, key_of(*PLANNER, agent_id="planner-2"), name, agent_id=agent_id, **account)
        assert answer.code == "forbidden", name
    for name in ("remove_tool_return_limits", "delete_agent"):
        assert (await ask(alone, first, name, agent_id=agent_id)).code == "ok", name


def test_where_nobody_calls_nobody_is_allowed_anything() -> None:
    assert current_caller().scopes == frozenset()


def test_a_verb_without_a_scope_cannot_be_described() -> None:
    def scopeless(on: Application) -> None:
        """Do nothing."""

    describe: Any = Verb
    with pytest.raises(TypeError, match="scope"):
        describe(function=scopeless, toolset="planning")
    with pytest.raises(ValueError, match="everything"):
        tool_of(Verb(function=scopeless, toolset="planning", scope="everything"))


async def _run(alone: Application, *, planner: str | None = None, agents: dict[str, Any] | None = None) -> str:
    run = f"run-{secrets.token_hex(4)}"
    made = await ask(
        alone,
        key_of(*PLANNER),
        "create_workflow_control_plane",
        workflow_json=TWO_TASKS if agents else ONE_TASK,
        workflow_id=run,
        planner_agent_id=planner,
        agents_map_json=agents,
    )
    assert made.code == "ok", made.text
    return run
