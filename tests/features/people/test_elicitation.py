"""A human task is answered by the person in front of the client: asked with a form where the client has one."""

from collections.abc import Callable
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

from dcf.application.application import Application
from dcf.tools.mcp.server import build_http_app, build_server
from tests.features.people.test_verbs import GIVEN, asked
from tests.support.tables import rows
from tests.tools.calls import Tools, new_run, serving

pytestmark = pytest.mark.anyio


class Person:
    """Fills in forms, and remembers what they were asked."""

    def __init__(self, action: Any = "accept", **content: Any) -> None:
        self.answer = ElicitResult(action=action, content=content or None)
        self.seen: list[ElicitRequestParams] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.seen.append(params)
        return self.answer


@pytest.fixture(scope="module")
def site(replica: Callable[..., Application]) -> Application:
    return replica(allow_operator=True)


async def answered(client: Client, run: str, **more: Any) -> dict[str, Any]:
    call = {"workflow_id": run, "state": "Ask", "agent_id": "alice"} | more
    content: dict[str, Any] | None = (await client.call_tool("answer_human_task", call)).structured_content
    assert content is not None
    return content


@rows("mode", ["auto", "legacy"])
async def test_who_gives_no_choice_is_asked_and_their_answer_counts(
    site: Application, operator: Tools, mode: str
) -> None:
    run, alice = await asked(operator, instructions="Look at the total."), Person(choice="reject", comment="too dear")
    async with Client(build_server(site), mode=mode, elicitation_callback=alice) as client:
        done = await answered(client, run)
    assert (done["code"], done["choice"], done["answered_by"]) == ("ok", "reject", "alice")
    (form,) = alice.seen
    for part in ("Approve the order", "Look at the total.", '{"total":7}', f"state 'Ask' of run '{run}'"):
        assert part in form.message
    schema = form.requested_schema  # type: ignore[union-attr]
    assert schema["properties"]["choice"]["enum"] == ["approve", "reject"]
    assert schema["required"] == ["choice"]


async def test_the_fields_of_the_tasks_own_schema_are_asked_for(site: Application, operator: Tools) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer", "minimum": 1}}, "required": ["amount"]}
    run, alice = await asked(operator, schema=schema), Person(choice="approve", amount=7)
    async with Client(build_server(site), elicitation_callback=alice) as client:
        assert (await answered(client, run))["code"] == "ok"
    assert alice.seen[0].requested_schema["properties"]["amount"] == {"type": "integer", "minimum": 1}  # type: ignore[union-attr]
    read = await operator.ok("read_workflow_control_plane", workflow_id=run, states_json=["Ask"])
    assert read["outputs"]["Ask"]["answer"] == {"amount": 7}


async def test_a_choice_that_is_given_is_taken_without_asking(site: Application, operator: Tools) -> None:
    run, alice = await asked(operator), Person(choice="reject")
    async with Client(build_server(site), elicitation_callback=alice) as client:
        assert (await answered(client, run, choice="approve"))["choice"] == "approve"
    assert alice.seen == []


@rows("mode", ["auto", "legacy"])
@rows("person", [Person("decline"), Person("cancel"), None], ids=["declines", "cancels", "no form"])
async def test_without_an_answer_nothing_is_answered_and_the_hint_says_what_to_do(
    site: Application, operator: Tools, person: Person | None, mode: str
) -> None:
    run = await asked(operator)
    async with Client(build_server(site), mode=mode, elicitation_callback=person) as client:
        details = await answered(client, run)
    assert details["error"] == "invalid_argument: Nobody chose: the person was not asked, or did not answer."
    assert "pass what they say as choice" in details["hint"]
    assert (await operator.ok("list_human_tasks", workflow_id=run))["tasks"]


async def test_an_old_client_over_http_cannot_be_asked_and_is_told_so(site: Application, operator: Tools) -> None:
    """There is no connection on which a server without sessions could ask."""
    run, alice = await asked(operator), Person(choice="approve")
    with serving(build_http_app(site)) as url:
        async with Client(f"{url}/mcp", mode="legacy", elicitation_callback=alice) as client:
            assert (await answered(client, run))["code"] == "invalid_argument"
        assert alice.seen == []
        async with Client(f"{url}/mcp", elicitation_callback=alice) as client:
            assert (await answered(client, run))["code"] == "ok"


async def test_the_answer_is_given_to_the_visit_that_was_shown(site: Application, operator: Tools, run_id: str) -> None:
    """Somebody else rejects meanwhile, and the task is asked again: the answer was not meant for that."""
    again = {"Variable": "$.asked.choice", "StringEquals": "reject", "Next": "Ask"}
    states = {
        "Ask": {"Type": "Task", "Resource": "dcf:human", "Parameters": GIVEN, "ResultPath": "$.asked", "Next": "Judge"},
        "Judge": {"Type": "Choice", "Choices": [again], "Default": "Done"},
        "Done": {"Type": "Succeed"},
    }
    await new_run(operator, run_id, {"asl": {"StartAt": "Ask", "States": states}}, agents_map_json={})
    await operator.ok("notify_next_worker_agent", workflow_id=run_id)

    class Slow(Person):
        async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
            first = {"workflow_id": run_id, "state": "Ask", "agent_id": "alice", "choice": "reject"}
            await operator.ok("answer_human_task", **first)
            return await super().__call__(context, params)

    async with Client(build_server(site), elicitation_callback=Slow(choice="approve")) as client:
        details = await answered(client, run_id)
    assert details["code"] == "conflict", details
    assert (await operator.ok("list_human_tasks", workflow_id=run_id))["tasks"], "it is asked again"


async def test_who_may_not_answer_is_not_asked(application: Application, operator: Tools) -> None:
    run, alice = await asked(operator), Person(choice="approve")
    async with Client(build_server(application), elicitation_callback=alice) as client:
        assert (await answered(client, run))["code"] == "forbidden"
        assert alice.seen == []


async def test_a_task_that_is_not_there_is_told_as_always(site: Application) -> None:
    async with Client(build_server(site), elicitation_callback=Person(choice="approve")) as client:
        assert (await answered(client, "no-such-run"))["code"] == "invalid_argument"
