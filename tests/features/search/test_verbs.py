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
    held = await tools.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="ann")
    written = {"lease_token": held["work"]["lease_token"], "new_status": "succeeded", "output_json": json.dumps(output)}
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
    found = (await operator.ok("search", query=f"{mark}")).payload
    assert [one["type"] for one in found["results"]] == ["artifact", "finding", "journal", "artifact", "output"]
    scores = [one["score"] for one in found["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < one["score"] <= 1 and mark in f"{one['title']} {one['snippet']}" for one in found["results"])
    by_type = {one["type"]: one for one in found["results"]}
    assert by_type["finding"]["id"] == finding["finding"]["finding_id"]
    assert (by_type["journal"]["id"], by_type["journal"]["workflow_id"]) == (entry, run)
    assert (by_type["output"]["state"], by_type["output"]["id"]) == ("A", f"{run}/A")
    kept = [one for one in found["results"] if one["type"] == "artifact"]
    assert [one["id"] for one in kept] == [one["artifact"]["artifact_id"] for one in (named, described)]
    assert [(one["workflow_id"], one.get("state")) for one in kept] == [(run, "A"), (run, None)]
    assert "AKIAIOSFODNN7EXAMPLE" not in kept[1]["snippet"]
    assert found["covered"]["runs"] > 0
    assert found["provenance"]["trust"] == "untrusted data"


async def test_nothing_found_is_an_empty_list_and_no_text_is_an_error(operator: Tools) -> None:
    for query in (word(), "c++", "foo-bar AND (", '"unbalanced', "***", "'; DROP TABLE findings"):
        found = await operator.ok("search", query=f"{query} {word()}")
        assert found["results"] == []
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
    assert [one["workflow_id"] for one in phrase["results"]] == [other]
    here = (await operator.ok("search", query=mark, workflow_id=run)).payload
    assert {one["workflow_id"] for one in here["results"]} == {run}
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
    found = (await ask(application, bound, "search", query=mark)).payload
    assert [one["workflow_id"] for one in found["results"]] == [runs[0]]


async def test_a_secret_in_an_output_or_a_journal_is_not_shown(operator: Tools) -> None:
    mark, run = word(), await started(operator)
    await complete(operator, run, {"note": mark, "key": "AKIAIOSFODNN7EXAMPLE"})
    await write(operator, run, f"{mark}: the key is AKIAIOSFODNN7EXAMPLE")
    found = (await operator.ok("search", query=mark, workflow_id=run))["results"]
    assert {one["type"] for one in found} == {"journal", "output"}
    assert not [one for one in found if "AKIAIOSFODNN7EXAMPLE" in one["snippet"]]


async def test_the_newest_runs_are_looked_through_and_the_answer_says_that_there_are_more(operator: Tools) -> None:
    mark, project = word(), f"p-{secrets.token_hex(4)}"
    oldest = await started(operator, project=project)
    await write(operator, oldest, mark)
    newer = [await started(operator, project=project) for _ in range(searching.MOST_RUNS)]
    await write(operator, newer[0], mark)
    found = (await operator.ok("search", query=mark, project=project)).payload
    assert [one["workflow_id"] for one in found["results"]] == [newer[0]]
    assert (found["covered"]["runs"], found["covered"]["all_runs"]) == (searching.MOST_RUNS, False)
    named = await operator.ok("search", query=mark, workflow_id=oldest)
    assert [one["workflow_id"] for one in named["results"]] == [oldest]


async def test_a_search_has_so_many_results_at_most(operator: Tools) -> None:
    mark, run = word(), await started(operator)
    for number in range(MOST_HITS + 1):
        await write(operator, run, f"{mark} {number}")
    found = await operator.ok("search", query=mark, workflow_id=run, limit=MOST_HITS)
    assert len(found["results"]) == MOST_HITS
    await operator.refused("invalid_argument", "search", query=mark, limit=MOST_HITS + 1)
