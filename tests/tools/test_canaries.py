"""Secrets through every tool: in each text argument, in keys and in tokens; then everything said and kept is searched.

A text that a caller means to keep (an output, a note) is data and is kept. What must never be seen again are API keys,
lease tokens, and URLs with passwords.
"""

import json
import logging
import secrets
from typing import Any

import pytest

from dcf.application import Application
from dcf.core.access import Caller, Scope
from dcf.store.connection import Connections, open_pool
from dcf.tools.registry import TOOLS
from tests.support.redis_contents import everything_in
from tests.support.restricted import RestrictedRedis
from tests.tools.access import ask, smallest

pytestmark = pytest.mark.anyio

EVERYTHING = Caller(name="key:cafecafecafe", scopes=frozenset(Scope))
KEPT = frozenset({"authoring", "redis_json", "files"})
"""Toolsets that store texts, or files under names that a caller chooses; these are data."""


def _texts(schema: dict[str, Any]) -> bool:
    return any(branch.get("type") == "string" for branch in schema.get("anyOf", [schema]))


def _cases() -> list[tuple[str, str]]:
    return [
        (name, argument)
        for name, spec in sorted(TOOLS.items())
        for argument, schema in spec.arguments.model_json_schema()["properties"].items()
        if _texts(schema) and spec.toolset not in KEPT
    ]


@pytest.mark.parametrize(("name", "argument"), _cases())
async def test_a_secret_that_is_sent_in_the_wrong_place_is_not_repeated(
    alone: Application, caplog: pytest.LogCaptureFixture, name: str, argument: str
) -> None:
    """An agent that passes its key, its token or a URL where a name belongs finds it in no answer and in no log."""
    caplog.set_level(logging.DEBUG)
    mark = secrets.token_hex(16)
    said = []
    timeout: dict[str, Any] = {"timeout_s": 0} if name == "await_workflow_event" else {}
    for secret in (f"dcf_0123456789ab_{mark}00000000000", f"redis://:{mark}@redis:6379/0", f"lease-{mark}/*{{"):
        answer = await ask(alone, EVERYTHING, name, **smallest(name) | timeout | {argument: secret})
        if argument in {"workflow_id", "state", "agent_id", "owner_agent_id", "source_state"} and mark in answer.text:
            continue  # a well-formed name, which an answer says there is none of
        said.append(answer.text)
    said += [record.getMessage() + str(record.exc_text) for record in caplog.records]
    shown = [text for text in said if mark in text]
    assert not shown or argument in _ECHOED, shown


_ECHOED = {"agent_name", "manifest_id", "skill_json", "workflow_json", "agent_name_prefix"}
"""Names of things that are looked up: that there is none is said with its name."""


async def test_lease_tokens_are_only_in_answers_to_their_holder_and_in_the_states_document(
    alone: Application, own_redis: RestrictedRedis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    run_id, token = f"run-{secrets.token_hex(4)}", f"lease-{secrets.token_hex(16)}"
    workflow = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}
    wish = {"workflow_id": run_id, "state": "A"}
    await ask(alone, EVERYTHING, "create_workflow_control_plane", workflow_json=workflow, workflow_id=run_id)
    held = await ask(alone, EVERYTHING, "acquire_state_lease", **wish, owner_agent_id="me", lease_token=token)
    assert held["lease"]["token"] == token
    others = []
    for name in sorted(TOOLS):
        if name in {"finalize_workflow", "renew_state_lease", "claim_ready_state", "await_workflow_event"}:
            continue
        fields = TOOLS[name].arguments.model_fields
        about = {key: value for key, value in wish.items() if key in fields}
        document = {"redis_key": f"cp:wf:{run_id}:state:A"} if "redis_key" in fields else {}
        others.append((await ask(alone, EVERYTHING, name, **smallest(name) | about | document)).text)
    history = json.dumps([entry.as_json() for entry in alone.history.after(run_id)])
    logged = [record.getMessage() + str(record.exc_text) for record in caplog.records]
    assert not [text for text in [*others, history, *logged] if token in text]
    kept = [line for line in everything_in(Connections(open_pool(own_redis.admin_url))).splitlines() if token in line]
    assert {line.split(" ")[0] for line in kept} <= {f"cp:wf:{run_id}:state:A", f"cp:wf:{run_id}:claims"}
