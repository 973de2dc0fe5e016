"""Prompts and completions: what they say is so, and they show only what their caller may read."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.tools import prompt_texts
from dcf.tools.mcp.completions import Completions
from dcf.tools.mcp.prompts import PROMPTS
from dcf.tools.mcp.reading import ToolReading
from dcf.tools.mcp.server import build_server
from dcf.verbs.limits import meter_of
from dcf.verbs.registry import TOOLS
from dcf.workflows.language import describe
from tests.support.tables import rows
from tests.tools.access import key_of
from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio

PROMPT_TEXTS = Path(prompt_texts.__file__).parent

GIVEN = {
    "plan_workflow": {"goal": "Price every order of {today}.", "agent_id": "planner-7"},
    "work_as_agent": {"agent_id": "packer-1", "workflow_id": "order-42"},
    "why_run_stands": {"workflow_id": "order-42", "state": "Pack"},
}


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, application: Application) -> AsyncIterator[Client]:
    """A client of each era of the protocol."""
    async with Client(build_server(application), mode=request.param) as client:
        yield client


async def said(client: Client, name: str, **arguments: str) -> list[str]:
    """The texts of a prompt, and of what it brings."""
    contents = [message.content for message in (await client.get_prompt(name, arguments)).messages]
    return [content.text if content.type == "text" else content.resource.text for content in contents]  # type: ignore[union-attr]


async def test_the_prompts_are_listed_with_what_they_need(client: Client) -> None:
    listed = (await client.list_prompts()).prompts
    assert [item.name for item in listed] == ["plan_workflow", "work_as_agent", "why_run_stands"]
    assert all(item.title and item.description for item in listed)
    needed = {item.name: [part.name for part in item.arguments or () if part.required] for item in listed}
    assert needed == {"plan_workflow": ["goal"], "work_as_agent": ["agent_id"], "why_run_stands": ["workflow_id"]}


async def test_a_plan_is_asked_for_with_the_goal_and_the_page_about_the_language(client: Client) -> None:
    text, page = await said(client, "plan_workflow", **GIVEN["plan_workflow"])
    assert text.endswith("The goal: Price every order of {today}.")
    assert "with the agent id `planner-7`" in text
    assert page == describe()


async def test_an_agent_is_told_how_to_work_under_its_id(client: Client) -> None:
    (text,) = await said(client, "work_as_agent", agent_id="packer-1")
    assert text.startswith("Work as the agent `packer-1`, until")
    (text,) = await said(client, "work_as_agent", agent_id="packer-1", workflow_id="order-42")
    assert text.startswith("Work as the agent `packer-1` in the run `order-42`, until")


async def test_why_a_run_stands_brings_what_is_known_of_it(client: Client, tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    text, result = await said(client, "why_run_stands", workflow_id=run_id)
    assert f"`{run_id}` does not move" in text
    assert '"cause":"not_started"' in result


@rows("name", sorted(GIVEN))
def test_a_prompt_names_only_tools_and_arguments_that_exist(name: str) -> None:
    text = (PROMPT_TEXTS / f"{name}.md").read_text("utf-8")
    known = set(TOOLS)
    for spec in TOOLS.values():
        known |= {*spec.arguments.model_fields, *spec.answer.model_fields}
    named = set(re.findall(r"\b[a-z]+_[a-z_]+\b", text))
    assert named - known <= {"lease_lost"}, "a tool, an argument, a field or a code"


def test_every_prompt_is_tried_here() -> None:
    assert {prompt.name for prompt in PROMPTS} == set(GIVEN) == {file.stem for file in PROMPT_TEXTS.glob("*.md")}


@rows(
    ("name", "given", "told"),
    [
        ("plan", {}, "There is no prompt 'plan'."),
        ("plan_workflow", {}, "The argument goal is missing."),
        ("plan_workflow", {"goal": ""}, "The argument goal is missing."),
        (
            "work_as_agent",
            {"agent_id": "a", "run": "b"},
            "The prompt has no such argument; it has agent_id, workflow_id.",
        ),
        ("work_as_agent", {"agent_id": "a" * 20_001}, "An argument is longer than 20000 characters."),
        ("why_run_stands", {"workflow_id": "nothing"}, "unknown_run: There is no run 'nothing'."),
    ],
)
async def test_a_wrong_argument_is_told(client: Client, name: str, given: dict[str, str], told: str) -> None:
    with pytest.raises(MCPError) as wrong:
        await client.get_prompt(name, given)
    assert (wrong.value.error.code, wrong.value.error.message) == (INVALID_PARAMS, told)


async def _completed(client: Client, name: str, begun: str, prompt: str = "why_run_stands", **chosen: str) -> list[str]:
    ref = PromptReference(type="ref/prompt", name=prompt)
    complete = await client.complete(ref, {"name": name, "value": begun}, context_arguments=chosen or None)
    return complete.completion.values


async def test_ids_of_runs_agents_and_states_are_completed(client: Client, tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS, agents_map_json={"A": f"{run_id}-x", "B": [f"{run_id}-y", "other"]})
    assert await _completed(client, "workflow_id", run_id[:-1]) == [run_id]
    assert await _completed(client, "state", "", workflow_id=run_id) == ["A", "B"]
    assert await _completed(client, "state", "B", workflow_id=run_id) == ["B"]
    agents = [f"{run_id}-x", f"{run_id}-y"]
    assert await _completed(client, "agent_id", run_id, prompt="work_as_agent", workflow_id=run_id) == agents
    assert await _completed(client, "agent_id", run_id, prompt="work_as_agent") == agents
    assert await _completed(client, "goal", "Pr", prompt="plan_workflow") == []
    assert await _completed(client, "state", "", workflow_id="nothing") == []


async def test_the_runs_of_a_template_are_completed(client: Client, tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    ref = ResourceTemplateReference(type="ref/resource", uri="dcf://runs/{workflow_id}/graph")
    complete = await client.complete(ref, {"name": "workflow_id", "value": run_id})
    assert (complete.completion.values, complete.completion.total) == ([run_id], 1)


@rows(("prompt", "name"), [("plan", "goal"), ("plan_workflow", "workflow_id")])
async def test_what_does_not_exist_is_not_completed(client: Client, prompt: str, name: str) -> None:
    with pytest.raises(MCPError) as wrong:
        await _completed(client, name, "", prompt=prompt)
    assert wrong.value.error.code == INVALID_PARAMS


async def test_a_bound_key_is_offered_its_own_agent_only(alone: Application) -> None:
    caller = key_of(Scope.READ, Scope.WORK, agent_id="packer-1")
    completions = Completions(ToolReading(alone, lambda: caller, meter_of(Settings())))
    ref = PromptReference(type="ref/prompt", name="work_as_agent")
    assert (await completions.complete(ref, CompletionArgument(name="agent_id", value=""), None)).values == ["packer-1"]


async def test_who_may_not_read_is_offered_nothing(alone: Application) -> None:
    completions = Completions(ToolReading(alone, lambda: key_of(Scope.WORK), meter_of(Settings())))
    ref = PromptReference(type="ref/prompt", name="why_run_stands")
    chosen = CompletionContext(arguments={"workflow_id": "order-42"})
    assert (await completions.complete(ref, CompletionArgument(name="state", value=""), chosen)).values == []
    with pytest.raises(MCPError):
        await completions.complete(ref, CompletionArgument(name="workflow_id", value=""), None)
