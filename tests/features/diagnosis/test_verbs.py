"""explain_run and read_run_events as a client calls them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.features.export.form import LONGEST_CONTENT
from dcf.tools.mcp.server import build_server
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.tools.calls import TWO_TASKS, Tools, lease_on, new_run

pytestmark = pytest.mark.anyio


async def test_a_run_that_was_not_started_is_explained_and_its_remedy_is_a_call(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    answer = await tools.ok("explain_run", workflow_id=run_id)
    (finding,) = answer["findings"]
    assert (answer["run_status"], answer["stuck"], finding["cause"]) == ("running", False, "not_started")
    call = finding["remedy"]["call"]
    await tools.ok(call["tool"], **call["arguments"])
    answer = await tools.ok("explain_run", workflow_id=run_id)
    assert answer["findings"][0]["cause"] == "not_taken"
    answer = await tools.ok("explain_run", workflow_id=run_id, state="B")
    assert answer["findings"][0]["evidence"]["waits_for"] == ["A"]
    assert "State 'B' waits for A." in answer["status"]


async def test_no_lease_token_stands_in_an_explanation_or_in_the_events(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    secret = f"secret-{run_id}-token"
    await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="worker-1", lease_token=secret)
    explained = await tools.ok("explain_run", workflow_id=run_id)
    answer = await tools.ok("read_run_events", workflow_id=run_id)
    assert "worker-1" in explained.text
    assert "LeaseAcquired" in answer.text
    assert secret not in explained.text + answer.text


async def test_events_come_in_pages_by_state_and_type(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    whole = (await tools.ok("read_run_events", workflow_id=run_id))["events"]
    first = await tools.ok("read_run_events", workflow_id=run_id, limit=1)
    rest = await tools.ok("read_run_events", workflow_id=run_id, cursor=first["next_cursor"])
    assert first["events"] + rest["events"] == whole
    newest = await tools.ok("read_run_events", workflow_id=run_id, newest_first=True)
    assert newest["events"] == whole[::-1]
    of_a = await tools.ok("read_run_events", workflow_id=run_id, states_json=["A"], types_json='["StateEntered"]')
    assert [(event["type"], event["state"]) for event in of_a["events"]] == [("StateEntered", "A")]
    nothing = await tools.ok("read_run_events", workflow_id=run_id, until="2001-01-01T00:00:00Z")
    assert nothing["events"] == []


async def test_a_page_has_a_thousand_events_at_most(tools: Tools, run_id: str) -> None:
    states: dict[str, dict[str, object]] = {
        f"S{number}": {"Type": "Pass", "Next": f"S{number + 1}"} for number in range(2000)
    }
    states["S2000"] = {"Type": "Task", "End": True}
    await new_run(tools, run_id, {"asl": {"StartAt": "S0", "States": states}}, agents_map_json={})
    page = await tools.ok("read_run_events", workflow_id=run_id, limit=1000)
    assert len(page["events"]) == 1000
    assert page["next_cursor"] == page["events"][-1]["id"]


@rows("wrong", [{"cursor": "x"}, {"since": "noon"}, {"types_json": "{}"}])
async def test_arguments_that_mean_nothing_are_refused(tools: Tools, run_id: str, wrong: dict[str, object]) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    await tools.refused("invalid_argument", "read_run_events", workflow_id=run_id, **wrong)


async def test_a_run_that_is_not_there_is_unknown(tools: Tools) -> None:
    await tools.refused("unknown_run", "explain_run", workflow_id="no-such-run")
    await tools.refused("unknown_run", "read_run_events", workflow_id="no-such-run")


async def test_the_pages_of_an_export_together_have_everything_once(tools: Tools, run_id: str) -> None:
    states = {"Each": each({"Both": parallel({"L": task()}, {"R": task()})}, "End"), "End": task()}
    await new_run(tools, run_id, workflow(states), input_json=[0, 1], agents_map_json={})
    whole = await tools.ok("export_run", workflow_id=run_id)
    assert whole["next_cursor"] is None
    inside = [f"Each/{index}/{part}" for index in (0, 1) for part in ("Both", "Both/0/L", "Both/1/R")]
    assert list(whole["states"]) == ["Each", *inside, "End"]
    assert whole["head"]["meta"]["workflow_id"] == run_id
    paged = await in_pages(tools, run_id)
    assert (list(paged["states"]), paged["events"]) == (list(whole["states"]), whole["events"])


LISTS = ("events", "journal", "artifacts")


async def in_pages(tools: Tools, run_id: str) -> dict[str, Any]:
    """All parts of an export but its head, read part by part."""
    page = await tools.ok("export_run", workflow_id=run_id, limit=1)
    assert page["head"]["meta"]["workflow_id"] == run_id
    in_pages: dict[str, Any] = {"states": {}, **{name: [] for name in LISTS}}
    while True:
        in_pages["states"] |= page["states"]
        for name in LISTS:
            in_pages[name] += page[name]
        if page["next_cursor"] is None:
            return in_pages
        page = await tools.ok("export_run", workflow_id=run_id, limit=1, cursor=page["next_cursor"])
        assert page["head"] is None


async def test_an_export_has_the_usage_the_journal_and_the_artifacts_of_a_run(
    replica: Callable[..., Application], tmp_path: Path, run_id: str
) -> None:
    store = {"artifact_store": f"dir:{tmp_path / 'kept'}", "artifact_inline_bytes": 2 * LONGEST_CONTENT}
    async with Client(build_server(replica(**store))) as client:
        tools = await Tools.of(client)
        await new_run(tools, run_id, TWO_TASKS)
        done = {"workflow_id": run_id, "state": "A", "lease_token": await lease_on(tools, run_id)}
        done |= {"new_status": "succeeded"}
        await tools.ok("update_workflow_control_plane", **done, usage_json={"tokens_in": 7, "model": "m"})
        for number in range(2):
            value = {"workflow_id": run_id, "kind": "log", "agent_id": "worker-1", "key": f"k{number}"}
            await tools.ok("add_journal_entry", **value, text=f"Line {number}.")
        long = [(name, "x" * size * LONGEST_CONTENT + "x", "text") for name, size in (("c", 1), ("d", 2))]
        for name, content, kind in (("a", "short", "text"), ("b", "/w==", "binary"), *long):
            value = {"workflow_id": run_id, "name": name, "content": content, "content_type": kind}
            await tools.ok("put_artifact", **value)
        whole = await tools.ok("export_run", workflow_id=run_id)
        assert whole["head"]["usage"]["total"]["tokens_in"] == 7
        assert whole["head"]["usage"]["models"]["m"]["tokens_in"] == 7
        assert whole["states"]["A"]["usage"]["tokens_in"] == 7
        assert [item["text"] for item in whole["journal"]] == ["Line 0.", "Line 1."]
        short, binary, *left_out = whole["artifacts"]
        assert (short["name"], short["size"], short["content"]) == ("a", 5, "short")
        assert (binary["content"], binary["encoding"]) == ("/w==", "base64")
        assert [item["name"] for item in left_out if "content" not in item] == ["c", "d"]
        assert [item["content_left_out"].partition(":")[0] for item in left_out] == [
            f"It has more than {LONGEST_CONTENT} bytes",
            "It is kept outside Redis",
        ]
        paged = await in_pages(tools, run_id)
        assert [paged[name] for name in LISTS] == [whole[name] for name in LISTS]


@rows("wrong", ["x", "state:Nowhere", "state:Each/0/Other", "event:x", "entry:x", "artifact:x", "state:"])
async def test_an_export_goes_on_only_where_a_page_ended(tools: Tools, run_id: str, wrong: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    await tools.refused("invalid_argument", "export_run", workflow_id=run_id, cursor=wrong)
