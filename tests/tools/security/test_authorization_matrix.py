"""Every tool, with every scope, on one's own run and on another's: a call without the right is refused without effect.

Generated from the registry: a new tool is included, with every argument that could name a run of others.
"""

import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product
from typing import Any, Self

import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.quotas import Account, Quotas
from dcf.verbs.registry import TOOLS
from tests.support.agents.skill_manifests import manifest
from tests.support.redis.redis_contents import content_of
from tests.support.tables import rows
from tests.tools.access import ask, key_of, smallest
from tests.tools.calls import TWO_TASKS, Answer

pytestmark = pytest.mark.anyio

MINE, OTHER = "stranger", "planner-1"
SPEAKS = ("owner_agent_id", "planner_agent_id", "agent_id")


class Site:
    """A run of somebody's, one agent of which holds its first state, and what is kept of it in Redis."""

    def __init__(self, application: Application, raw_redis: Any, planner: str) -> None:
        self.application = application
        self.planner = planner
        self.run = f"run-{secrets.token_hex(4)}"
        self.worker = f"worker-{self.run}"
        self._redis = raw_redis

    async def open(self) -> Self:
        await self._did(
            "create_workflow_control_plane",
            workflow_id=self.run,
            workflow_json=TWO_TASKS,
            planner_agent_id=self.planner,
            agents_map_json={"A": self.worker, "B": self.worker},
        )
        await self._did("notify_next_worker_agent", workflow_id=self.run)
        holder = {"workflow_id": self.run, "state": "A", "owner_agent_id": self.worker}
        answer = await self._did("acquire_state_lease", **holder, lease_token=self.run)
        assert answer["lease"]["token"] == self.run
        return self

    async def _did(self, tool: str, **arguments: Any) -> Answer:
        answer = await ask(self.application, key_of(*Scope, name="key:everything"), tool, **arguments)
        assert answer.code == "ok", answer.text
        return answer

    def kept(self) -> dict[bytes, Any]:
        """All that is stored of the run and of its agents' events."""
        keys = [key for pattern in (f"*wf:{self.run}:*", f"*{self.worker}*") for key in self._redis.keys(pattern)]
        return {key: content_of(self._redis.execute_command, key) for key in sorted(keys)}

    def arguments(self, tool: str, key: str, person: str) -> dict[str, Any]:
        """Whatever of the tool's arguments can name this run, does; its caller says that it is `who`."""
        about: dict[str, Any] = {
            "workflow_id": self.run, "workflow_json": TWO_TASKS, "state": "A", "source_state": "A",
            "redis_key": f"cp:wf:{self.run}:{key}", "path": "$.agents", "from_path": "$.agents", "to_path": "$.status",
            "skill_json": manifest(), "agent_name": None, "value_json": {"A": person},
        }  # fmt: skip
        about["timeout_s"] = 60 if tool == "open_run" else 0
        fields = TOOLS[tool].arguments.model_fields
        spoken = {name: person for name in SPEAKS if name in fields}
        return smallest(tool) | {name: value for name, value in about.items() if name in fields} | spoken


@pytest.fixture
async def app(walled: Application) -> AsyncIterator[Application]:
    """Waits for events are closed in the loop that opened them."""
    yield walled
    await walled.reader.close()


REST = tuple(scope for scope in Scope if scope is not Scope.OPERATE)
CALLERS = {str(scope): (scope,) for scope in Scope} | {"all but operate": REST, "none": ()}


@rows("name", sorted(TOOLS))
async def test_on_the_run_of_another_nothing_changes(app: Application, raw_redis: redis.Redis, name: str) -> None:
    theirs = await Site(app, raw_redis, OTHER).open()
    before, spec = theirs.kept(), TOOLS[name]
    documents = ("meta", "state:A", "definition") if "redis_key" in spec.arguments.model_fields else ("meta",)
    names_somebody = {*SPEAKS, "value_json"} & set(spec.arguments.model_fields)
    speakers = (MINE, theirs.worker, OTHER) if names_somebody else (MINE,)
    for known, scopes in CALLERS.items():
        for key, person in product(documents, speakers):
            arguments = theirs.arguments(name, key, person)
            answer = await ask(app, key_of(*scopes, agent_id=MINE), name, **arguments)
            case = f"{name} with {known} as {person} on {key}: {answer.text[:300]}"
            may_speak = person == MINE or spec.acts_as is None
            assert (spec.scope in scopes and may_speak) or answer.code == "forbidden", case
            assert theirs.run not in _tokens(answer), case
        assert theirs.kept() == before, f"{name} with {known}"


@rows("name", sorted(TOOLS))
async def test_on_ones_own_run_the_scope_of_the_tool_decides(
    app: Application, raw_redis: redis.Redis, name: str
) -> None:
    """With the scope of the tool nothing but its business refuses it, without it everything does."""
    needed = {TOOLS[name].scope, *_NEEDED_TOO.get(name, ())}
    mine = await Site(app, raw_redis, MINE).open()
    arguments = mine.arguments(name, "meta", MINE)
    for scope in sorted(needed):
        without = key_of(*set(REST) - {scope}, agent_id=MINE)
        answer = await ask(app, without, name, **arguments)
        assert answer.code == "forbidden", f"{name} without {scope}: {answer.text[:300]}"
    enough = {*needed, _ONE_OF_TWO.get(name, TOOLS[name].scope)}
    answer = await ask(app, key_of(*enough, agent_id=MINE), name, **arguments)
    assert answer.code != "forbidden" or name in _OPERATORS, answer.text


@rows("name", sorted(TOOLS))
async def test_a_key_that_calls_too_often_changes_nothing_whatever_its_scopes(
    app: Application, raw_redis: redis.Redis, name: str
) -> None:
    mine = await Site(app, raw_redis, MINE).open()
    before = mine.kept()
    over = Account(key_id="0123456789ab", quotas=Quotas(), wait_s=2.5, over="calls")
    caller = replace(key_of(*Scope), account=over)
    answer = await ask(app, caller, name, **mine.arguments(name, "meta", MINE))
    assert (answer.code, answer["retry_after_s"]) == ("rate_limited", 2.5)
    assert mine.kept() == before


@rows("tool", ["json_create", "json_set"])
@rows("known", CALLERS)
async def test_only_the_scope_operate_makes_a_document_that_never_expires(
    app: Application, raw_redis: redis.Redis, known: str, tool: str
) -> None:
    key, scopes = f"doc:{secrets.token_hex(6)}", (Scope.WORK, *CALLERS[known])
    await ask(app, key_of(*Scope), "json_create", redis_key=key, initial_json={})
    wish: dict[str, Any] = {"overwrite": True} if tool == "json_create" else {"path": "$", "value_json": {}}
    answer = await ask(app, key_of(*scopes), tool, redis_key=key, expires_in_s="never", **wish)
    may = Scope.OPERATE in scopes
    assert answer.code == ("ok" if may else "forbidden")
    assert (raw_redis.ttl(key) == -1) == may


_NEEDED_TOO = dict.fromkeys(("json_set", "json_merge", "correct_result", "put_definition"), (Scope.PLAN,))
"""Calls with more than the tool's scope: changing `meta.agents`, a correction without a lease, a lasting definition."""

_ONE_OF_TWO = {"answer_question": Scope.PLAN, "resolve_issue": Scope.PLAN, "decide_gate": Scope.WORK}
"""A scope that is enough with the tool's own, where another would be as well."""

_OPERATORS = {name for name in TOOLS if name.startswith("json_")} - {"json_read", "json_set", "json_merge"} | {
    "delete_agent",
    "hold_run",
    "report_limit",
}
"""An operator's calls: on documents of runs, runs that must be kept, agents of no run, and accounts of others."""


def _tokens(answer: Answer) -> set[str]:
    shown = (answer.payload.get("lease") or {}, answer.payload.get("updated_state") or {})
    return {str(item.get("token")) for item in (shown[0], shown[1].get("lease") or {})}


def test_no_tool_has_two_arguments_that_could_say_who_calls() -> None:
    """One of them would go unchecked. Only planner_agent_id may accompany another: it is about the run then."""
    for name, spec in TOOLS.items():
        assert sum(argument in spec.arguments.model_fields for argument in SPEAKS) <= 1, name
