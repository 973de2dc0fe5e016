"""A key that is bound to a project reads and changes nothing else of another one: every tool, on what belongs to it.

Apart from runs (`test_projects_of_keys`), these are findings, definitions, kept workflows, schedules, agents, project
records, and things with numbers within a run. Generated from the registry: a new tool is included.
"""

import json
import secrets
from typing import Any, Self

import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.verbs.registry import TOOLS
from tests.support.redis.redis_contents import content_of
from tests.tools.access import ask, key_of, smallest
from tests.tools.calls import ONE_TASK, Answer
from tests.tools.security.test_projects_of_keys import OURS, THEIRS, bound

pytestmark = pytest.mark.anyio

UNBOUND = key_of(*Scope, name="key:everything")
RULE = {"kind": "rule", "content": {"rule": "x"}}


class Belongings:
    """One of each thing that may belong to a project: found by the word, named by the mark, with a secret in it."""

    def __init__(self, application: Application, raw_redis: Any) -> None:
        self.application = application
        self.word = f"word{secrets.token_hex(5)}"
        self.secret = f"secret{secrets.token_hex(5)}"
        self.mark = f"mark-{secrets.token_hex(5)}"
        self.path = f"/srv/{self.mark}"
        self.named: dict[str, dict[str, Any]] = {}
        self._redis = raw_redis

    async def make(self) -> Self:
        project, mark, word = {"project": self.mark}, self.mark, f"{self.word} {self.secret}"
        run = {"workflow_id": mark, **project}
        workflow = {**ONE_TASK, "workflow_name": mark, "version": "1", "description": word}
        await self._did("put_project", **project, name=word, description=word, paths_json=[self.path])
        await self._did("start_run", **run, workflow_json=workflow, input_json={"said": word}, tags_json=[mark])
        crew = await self._did("create_worker_agents", workflow_id=mark, agent_name_prefix=f"{mark}-")
        agent = crew["created"][0]
        wish = {"severity": "low", "category": "x", "title": word, "text": word, "key": mark}
        finding = await self._did("add_finding", **project, **wish, scope="project")
        await self._did("put_definition", **RULE, **project, name=mark, description=word)
        await self._did("create_schedule", **project, name=mark, definition=mark, every_s=86_400)
        issue = {"kind": "issue", "text": word, "key": mark, "agent_id": agent["agent_id"]}
        entry = await self._did("add_journal_entry", workflow_id=mark, **issue)
        wish = {"name": mark, "content": word, "content_type": "text"}
        artifact = await self._did("put_artifact", workflow_id=mark, **wish)
        self.named = {
            "agent_id": {"agent_id": agent["agent_id"]},
            "agent_name": {"agent_name": agent["agent_name"]},
            "finding_id": {"finding_id": finding["finding"]["finding_id"]},
            "name": {"name": mark},
            "definition": {"definition": mark, "workflow_json": None},
            "definition_ref": {"definition_ref": f"rule/{mark}"},
            "issue": {"issue": entry["entry"]},
            "artifact_id": {"artifact_id": artifact["artifact"]["artifact_id"]},
            "query": {"query": self.word},
            "text": {"text": self.word},
            "path": {"path": self.path},
            "state": {"state": "A"},
            "run": {"run": mark},
            "parent": {"parent": mark},
            "parent_run": {"parent_run": mark},
            "tag": {"tag": mark},
            "session": {"session": mark},
        }
        return self

    def arguments(self, tool: str, own_run: str) -> dict[str, Any]:
        """Whatever of the tool's arguments can name one of the things, does; the run is the caller's."""
        fields = TOOLS[tool].arguments.model_fields
        sent = smallest(tool) | ({"workflow_id": own_run} if "workflow_id" in fields else {})
        sent |= {"timeout_s": 0} if tool == "await_workflow_event" else {}
        sent |= {"kind": "rule"} if "kind" in fields and TOOLS[tool].toolset == "knowledge" else {}
        for name, about in self.named.items():
            if name in fields and (name != "path" or tool == "get_project"):
                sent |= about
        return {name: value for name, value in sent.items() if value is not None}

    def kept(self) -> dict[bytes, Any]:
        """All that Redis has under a key with the mark (the run, the schedule, what was kept), and of its agent."""
        agent = self.named["agent_id"]["agent_id"]
        patterns = (f"*{self.mark}*", f"*:agent:{agent}", f"*:skills:{agent}")
        keys = [key for pattern in patterns for key in sorted(self._redis.keys(pattern))]
        return {key: content_of(self._redis.execute_command, key) for key in keys}

    async def told(self) -> dict[str, str]:
        """The other things that an unbound key reads."""
        project = {"project": self.mark}
        request: dict[str, dict[str, Any]] = {
            "get_finding": self.named["finding_id"],
            "get_definition": {"kind": "rule", "name": self.mark, **project},
            "list_schedules": {"name": self.mark},
            "get_project": {**project},
            "resolve_agent_name_to_id": self.named["agent_name"],
        }
        return {tool: (await self._did(tool, **value)).text for tool, value in request.items()}

    async def _did(self, tool: str, **arguments: Any) -> Answer:
        answer = await ask(self.application, UNBOUND, tool, **arguments)
        assert answer.code == "ok", answer.text
        return answer

    def hidden(self, sent: dict[str, Any]) -> set[str]:
        """Texts that an answer must not have, beyond those of the caller itself."""
        names = {self.word, self.secret, self.mark, self.named["agent_id"]["agent_id"]}
        return {name for name in names if name not in json.dumps(sent)}


async def test_no_tool_shows_or_changes_what_is_of_another_project(alone: Application, raw_redis: redis.Redis) -> None:
    theirs = await Belongings(alone, raw_redis).make()
    before, details = theirs.kept(), await theirs.told()
    own = f"own-{secrets.token_hex(4)}"
    for name in sorted(TOOLS):
        fields = TOOLS[name].arguments.model_fields
        run = await ask(alone, bound(own), "start_run", workflow_json=ONE_TASK)
        sent = theirs.arguments(name, run["workflow_id"])
        calls = [sent]
        if "workflow_id" in fields and not fields["workflow_id"].is_required():
            calls.append({item: value for item, value in sent.items() if item not in {"workflow_id", "state"}})
        if "project" in fields:
            calls.append(sent | {"project": theirs.mark})
        for call in calls:
            answer = await ask(alone, bound(own), name, **call)
            case = f"{name} {call}: {answer.text}"
            assert not [item for item in theirs.hidden(call) if item in answer.text], case
            assert call.get("project") != theirs.mark or answer.code == "forbidden", case
            assert theirs.kept() == before, case
    assert await theirs.told() == details


def named(name: str, comment: str, **more: Any) -> dict[str, Any]:
    """A workflow of this name, version 1, that says this of itself."""
    machine = {**ONE_TASK["asl"], "Comment": comment}
    return {"workflow_json": {"workflow_name": name, "version": "1", "asl": machine}, **more}


async def test_what_is_started_in_a_project_is_kept_in_it_beside_others_of_the_name(alone: Application) -> None:
    name = f"flow-{secrets.token_hex(5)}"
    common = await ask(alone, UNBOUND, "start_run", **named(name, "for all"))
    own = await ask(alone, bound(OURS), "start_run", **named(name, "ours"))
    assert (common.code, own.code) == ("ok", "ok"), "the names of a project are its own"
    stored = {"common": common["definition"]["sha256"], "own": own["definition"]["sha256"]}
    for caller, more, expected in (
        (UNBOUND, {}, "common"),
        (UNBOUND, {"project": OURS}, "own"),
        (bound(OURS), {}, "own"),
        (bound(THEIRS), {}, "common"),
    ):
        run = await ask(alone, caller, "start_run", definition=f"{name}@1", **more)
        assert run["definition"]["sha256"] == stored[expected], run.text
        read = await ask(alone, UNBOUND, "read_workflow_control_plane", workflow_id=run["workflow_id"])
        assert read["meta"].get("project") == more.get("project", caller.project)
    by_hash = {"definition": stored["own"]}
    assert (await ask(alone, bound(OURS), "start_run", **by_hash)).code == "ok"
    assert (await ask(alone, bound(THEIRS), "start_run", **by_hash)).code == "unknown_definition"


async def test_the_catalogue_lists_kept_workflows_to_those_of_their_project(alone: Application) -> None:
    name = f"flow{secrets.token_hex(5)}"
    assert (await ask(alone, bound(OURS), "start_run", **named(name, "ours"))).code == "ok"
    wish, item = {"text": name, "kind": "workflow"}, {"name": name, "kind": "workflow"}
    for caller, more, is_seen in (
        (bound(OURS), {}, True),
        (UNBOUND, {"project": OURS}, True),
        (bound(THEIRS), {}, False),
        (UNBOUND, {}, False),
    ):
        listed = await ask(alone, caller, "search_definitions", **wish, **more)
        assert [(row["name"], row["project"]) for row in listed["definitions"]] == [(name, OURS)] * is_seen
        read = await ask(alone, caller, "get_definition", **item, **more)
        assert read.code == ("ok" if is_seen else "not_in_catalogue")


async def test_the_runs_of_a_schedule_belong_to_its_project(alone: Application) -> None:
    name, other = (f"s-{secrets.token_hex(5)}" for _ in range(2))
    workflow = {"workflow_json": ONE_TASK, "every_s": 86_400}
    made = await ask(alone, bound(OURS), "create_schedule", name=name, **workflow)
    assert made["schedule"]["project"] == OURS, made.text
    await ask(alone, UNBOUND, "create_schedule", name=other, project=THEIRS, **workflow)
    triggered = await ask(alone, bound(OURS), "operate_schedule", name=name, action="trigger")
    read = await ask(alone, bound(OURS), "read_workflow_control_plane", workflow_id=triggered["workflow_id"])
    assert read["meta"]["project"] == OURS
    for caller, more in ((bound(OURS), {}), (UNBOUND, {"project": OURS})):
        listed = await ask(alone, caller, "list_schedules", limit=100, **more)
        assert {name, other} & {row["name"] for row in listed["schedules"]} == {name}
    assert (await ask(alone, bound(OURS), "delete_schedule", name=name))["existed"]


async def test_an_event_of_another_project_is_not_acknowledged(alone: Application) -> None:
    agent = f"agent-{secrets.token_hex(4)}"
    wish = {"workflow_json": ONE_TASK, "agents_map_json": {"A": agent}, "project": THEIRS}
    assert (await ask(alone, UNBOUND, "start_run", **wish)).code == "ok"
    waits = {"agent_id": agent, "timeout_s": 20, "lease": False}
    event = await ask(alone, UNBOUND, "await_workflow_event", **waits)
    details = {"agent_id": agent, "timeout_s": 0, "ack_message_id": event["message_id"]}
    await ask(alone, bound(OURS), "await_workflow_event", **details)
    assert (await ask(alone, UNBOUND, "await_workflow_event", **details))["acknowledged"], "it was there still"
