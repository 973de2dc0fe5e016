"""One search over definitions, findings, journals, artifacts and outputs: ranked, and honest about what it saw."""

import json
import secrets
from dataclasses import replace
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.features.search import operations as searching
from dcf.features.search.ranking import MOST_HITS
from tests.tools.access import ask, key_of
from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio


async def started(tools: Tools, **more: Any) -> str:
    run = f"run-{secrets.token_hex(4)}"
    await new_run(tools, run, TWO_TASKS, agents_map_json={"A": "ann", "B": "ben"}, **more)
    return run


async def write(tools: Tools, run: str, text: str, kind: str = "note", **more: Any) -> str:
    entry = {"agent_id": "ann", "kind": kind, "text": text, **more}
    return str((await tools.ok("add_journal_entry", workflow_id=run, **entry))["entry"])


async def complete(tools: Tools, run: str, output: Any) -> None:
    answer = await tools.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="ann")
    written = {
        "lease_token": answer["work"]["lease_token"],
        "new_status": "succeeded",
        "output_json": json.dumps(output),
    }
    await tools.ok("update_workflow_control_plane", workflow_id=run, state="A", **written)


def word() -> str:
    return f"w{secrets.token_hex(5)}"


async def test_everything_that_says_a_word_is_found_the_best_first(operator: Tools) -> None:
    mark, run = word(), await started(operator)
    finding = await operator.ok(
        "add_finding", title=f"Prices {mark}", text="They are net.", severity="low", category="pricing"
    )
    entry = await write(operator, run, f"We take {mark} prices.", kind="decision", details_json={"chosen": "net"})
    await complete(operator, run, {"total": f"1.00 {mark}"})
    named = await operator.ok("put_artifact", workflow_id=run, name=f"{mark}.md", content="# Prices", state="A")
    more = {"note": f"{mark} AKIAIOSFODNN7EXAMPLE"}
    described = await operator.ok("put_artifact", workflow_id=run, name="other.md", content="# Net", metadata_json=more)
    payload = (await operator.ok("search", query=f"{mark}")).payload
    assert [result["type"] for result in payload["results"]] == ["artifact", "finding", "journal", "artifact", "output"]
    scores = [result["score"] for result in payload["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(
        0 < result["score"] <= 1 and mark in f"{result['title']} {result['snippet']}" for result in payload["results"]
    )
    by_type = {result["type"]: result for result in payload["results"]}
    assert by_type["finding"]["id"] == finding["finding"]["finding_id"]
    assert (by_type["journal"]["id"], by_type["journal"]["workflow_id"]) == (entry, run)
    assert (by_type["output"]["state"], by_type["output"]["id"]) == ("A", f"{run}/A")
    stored = [result for result in payload["results"] if result["type"] == "artifact"]
    assert [item["id"] for item in stored] == [item["artifact"]["artifact_id"] for item in (named, described)]
    assert [(item["workflow_id"], item.get("state")) for item in stored] == [(run, "A"), (run, None)]
    assert "AKIAIOSFODNN7EXAMPLE" not in stored[1]["snippet"]
    assert payload["covered"]["runs"] > 0
    assert payload["provenance"]["trust"] == "untrusted data"


async def test_nothing_found_is_an_empty_list_and_no_text_is_an_error(operator: Tools) -> None:
    for query in (word(), "c++", "foo-bar AND (", '"unbalanced', "***", "'; DROP TABLE findings"):
        answer = await operator.ok("search", query=f"{query} {word()}")
        assert answer["results"] == []
    assert (await operator.ok("search", query="!!!"))["results"] == []


async def test_types_run_phrase_and_limit_narrow_the_search(operator: Tools) -> None:
    mark, run, other = word(), await started(operator), await started(operator)
    for number in range(3):
        await write(operator, run, f"{mark} alpha beta {number}")
    await write(operator, other, f"{mark} beta alpha")
    everywhere = await operator.ok("search", query=mark, types_json=["journal"])
    assert len(everywhere["results"]) == 4
    assert len((await operator.ok("search", query=mark, limit=2))["results"]) == 2
    assert (await operator.ok("search", query=mark, types_json=["output"]))["results"] == []
    phrase = await operator.ok("search", query=f'{mark} "beta alpha"')
    assert [result["workflow_id"] for result in phrase["results"]] == [other]
    here = (await operator.ok("search", query=mark, workflow_id=run)).payload
    assert {result["workflow_id"] for result in here["results"]} == {run}
    assert here["covered"] == {
        "runs": 1,
        "all_runs": True,
        "whole_journals": True,
        "all_artifacts": True,
        "whole_outputs": True,
        "all_units": True,
    }
    await operator.refused("invalid_argument", "search", query=mark, types_json=["gossip"])
    await operator.refused("unknown_run", "search", query=mark, workflow_id="no-such-run")


async def test_a_key_of_a_project_finds_nothing_of_another(application: Application, operator: Tools) -> None:
    mine, theirs, mark = f"p-{secrets.token_hex(4)}", f"p-{secrets.token_hex(4)}", word()
    runs = [await started(operator, project=project) for project in (mine, theirs)]
    for run in runs:
        await write(operator, run, mark)
    bound = replace(key_of(Scope.READ), project=mine)
    payload = (await ask(application, bound, "search", query=mark)).payload
    assert [result["workflow_id"] for result in payload["results"]] == [runs[0]]


async def test_a_secret_in_an_output_or_a_journal_is_not_shown(operator: Tools) -> None:
    mark, run = word(), await started(operator)
    await complete(operator, run, {"note": mark, "key": "AKIAIOSFODNN7EXAMPLE"})
    await write(operator, run, f"{mark}: the key is AKIAIOSFODNN7EXAMPLE")
    results = (await operator.ok("search", query=mark, workflow_id=run))["results"]
    assert {result["type"] for result in results} == {"journal", "output"}
    assert not [result for result in results if "AKIAIOSFODNN7EXAMPLE" in result["snippet"]]


async def test_the_newest_runs_are_looked_through_and_the_answer_says_that_there_are_more(operator: Tools) -> None:
    mark, project = word(), f"p-{secrets.token_hex(4)}"
    oldest = await started(operator, project=project)
    await write(operator, oldest, mark)
    newer = [await started(operator, project=project) for _ in range(searching.MOST_RUNS)]
    await write(operator, newer[0], mark)
    payload = (await operator.ok("search", query=mark, project=project)).payload
    assert [result["workflow_id"] for result in payload["results"]] == [newer[0]]
    assert (payload["covered"]["runs"], payload["covered"]["all_runs"]) == (searching.MOST_RUNS, False)
    named = await operator.ok("search", query=mark, workflow_id=oldest)
    assert [result["workflow_id"] for result in named["results"]] == [oldest]


async def test_a_search_has_so_many_results_at_most(operator: Tools) -> None:
    mark, run = word(), await started(operator)
    for number in range(MOST_HITS + 1):
        await write(operator, run, f"{mark} {number}")
    answer = await operator.ok("search", query=mark, workflow_id=run, limit=MOST_HITS)
    assert len(answer["results"]) == MOST_HITS
    await operator.refused("invalid_argument", "search", query=mark, limit=MOST_HITS + 1)
