"""The page of the workflow language: short, true, and made of examples that are valid and run to their end."""

import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from dcf.cli.app import app
from dcf.verbs.merged.merges import MERGES
from dcf.verbs.wording.calls import CALLS
from dcf.workflows.language import EXAMPLES, describe, example
from dcf.workflows.simulation import simulate
from tests.support.paths import ROOT
from tests.support.tables import rows
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio

TALKS = {"talks": [{"title": "Leases"}, {"title": "Joins"}]}
MOCKED: dict[str, Any] = {
    "WriteAbstract": [{"output": {"text": "a"}}, {"output": {"text": "b"}}],
    "Compose": [{"output": "P"}],
    "Approve": [{"output": {"choice": "approve", "answered_by": "alice"}}],
}


async def work(tools: Tools, run: str, state: str, agent: str, **result: Any) -> None:
    """Take a state that is ready and deliver this."""
    answer = await tools.ok("acquire_state_lease", workflow_id=run, state=state, owner_agent_id=agent)
    token = answer["lease"]["token"]
    ended: dict[str, Any] = {"new_status": "succeeded"} | result
    await tools.ok("update_workflow_control_plane", workflow_id=run, state=state, lease_token=token, **ended)


async def test_the_page_is_short_and_the_same_on_every_face(tools: Tools) -> None:
    language = (await tools.ok("describe_workflow_language"))["language"]
    assert language == describe()
    assert len(language.encode()) < 6 * 1024
    assert CliRunner().invoke(app, ["workflows", "language"]).output == language
    assert (ROOT / "docs" / "reference" / "language.md").read_text("utf-8") == language, "make reference"


def test_the_page_shows_its_examples_and_names_only_tools_that_exist() -> None:
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)\n```", describe(), re.DOTALL)]
    assert blocks == [example(name) for name in EXAMPLES]
    named = set(re.findall(r"\b(?:[a-z]+_)+(?:workflow|run|task|signal|agents|skillset|language)\b|`\w+`", describe()))
    assert {name.strip("`") for name in named} <= {*CALLS, *(merge.name for merge in MERGES), "agents"}
    assert {"start_run", "validate_workflow", "`answer`"} <= named


@rows("name", EXAMPLES)
async def test_an_example_is_valid_as_it_stands_and_as_a_bare_machine(tools: Tools, name: str) -> None:
    document = example(name)
    for form in (document, document.get("asl", document)):
        answer = await tools.ok("validate_workflow", workflow_json=form)
        assert (answer["ok"], answer["problems"]) == (True, [])


async def test_the_smallest_example_runs_with_the_agent_that_the_call_names(tools: Tools) -> None:
    agents = {"Greet": "greeter-of-the-page"}
    run = (await tools.ok("start_run", workflow_json=example("smallest"), agents_map_json=agents))["workflow_id"]
    await work(tools, run, "Greet", "greeter-of-the-page", output_json={"said": "hello"})
    read = await tools.ok("read_workflow_control_plane", workflow_id=run)
    assert (read["meta"]["status"], read["meta"]["output"]) == ("succeeded", {"said": "hello"})


@rows(("choice", "status"), [("approve", "succeeded"), ("reject", "failed")])
async def test_the_large_example_leaves_out_what_fails_twice_and_asks_before_it_ends(
    operator: Tools, choice: str, status: str
) -> None:
    agents = {"WriteAbstract": "writer-1"}
    started = await operator.ok(
        "start_run", workflow_json=example("programme"), input_json=TALKS, agents_map_json=agents
    )
    run = started["workflow_id"]
    assert "agent of 'Compose': editor-1 (agent_ref)" in started["defaulted"]
    await work(operator, run, "EachTalk/0/WriteAbstract", "writer-1", output_json={"text": "how leases end"})
    vague = {"new_status": "failed", "error_name": "TooVague"}
    await work(operator, run, "EachTalk/1/WriteAbstract", "writer-1", **vague)
    again = {"workflow_id": run, "state": "EachTalk/1/WriteAbstract", "owner_agent_id": "writer-1"}
    while (holding := await operator.call("acquire_state_lease", **again)).code == "not_ready":
        pass
    token = holding["lease"]["token"]
    holder = {"workflow_id": run, "state": "EachTalk/1/WriteAbstract", "lease_token": token}
    await operator.ok("update_workflow_control_plane", **holder, **vague)
    read = await operator.ok("read_workflow_control_plane", workflow_id=run, states_json=["Compose"])
    assert read["inputs"]["Compose"] == {"texts": ["how leases end"]}
    await work(operator, run, "Compose", "editor-1", output_json=["one talk"])
    answer = {"workflow_id": run, "state": "Approve", "choice": choice, "agent_id": "alice"}
    await operator.ok("answer_human_task", **answer)
    meta = (await operator.ok("read_workflow_control_plane", workflow_id=run))["meta"]
    assert meta["status"] == status
    if status == "succeeded":
        assert meta["output"] == {"programme": ["one talk"], "by": "alice"}
    else:
        assert meta["error"] == "NoProgramme"


def test_the_large_example_handles_one_talk_several_and_none() -> None:
    for count, texts in ((1, ["a"]), (2, ["a", "b"])):
        details = simulate(example("programme"), {"talks": TALKS["talks"][:count]}, MOCKED)
        assert details["status"] == "SUCCEEDED"
        entered = [event for event in details["trace"] if event["path"] == "Compose" and "input" in event]
        assert entered[0]["input"] == {"texts": texts}
    assert simulate(example("programme"), {"talks": []}, MOCKED)["error"] == "NoProgramme"


async def test_python_is_refused_by_every_tool_that_takes_a_workflow(operator: Tools) -> None:
    flow = (ROOT / "workflows" / "order_flow.py").read_text("utf-8")
    (problem,) = (await operator.call("validate_workflow", workflow_json=flow)).payload["problems"]
    assert (problem["code"], "Python" in problem["message"]) == ("invalid_json", True)
    assert "`dcf compile FILE.py`" in problem["hint"]
    schedule = {"name": "never", "every_s": 60}
    for tool, more in (("create_workflow_control_plane", {}), ("start_run", {}), ("create_schedule", schedule)):
        refused = await operator.refused("invalid_argument", tool, workflow_json=flow, **more)
        assert "workflow_json is Python" in refused.error
        assert "`dcf compile FILE.py`" in str(refused.payload["hint"])
        assert "describe_workflow_language" in str(refused.payload["hint"])
