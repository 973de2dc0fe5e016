"""The files that the page of a run leads to: whole values and the whole history."""

import pytest

from dcf.application.application import Application
from dcf.asl.state_paths import join
from dcf.features.artifacts.model import ArtifactKind, PartGiven
from dcf.values.refusal import Refusal
from dcf.web.site import build_site
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import task
from tests.support.world import World
from tests.web import run_stories as stories
from tests.web.run.run_visitor import Visitor

pytestmark = pytest.mark.anyio


@pytest.fixture
def visitor(application: Application) -> Visitor:
    return Visitor(build_site(application))


@rows(
    ("part", "content"),
    [("input", {"tank": 0}), ("error", "Broken: the tank is empty")],
)
async def test_a_value_of_a_state_is_a_file_that_no_browser_shows_as_a_page(
    agents: World, visitor: Visitor, part: str, content: object
) -> None:
    run = stories.failed(agents)
    answer = await visitor.get(f"/ui/runs/{run}/value?state=Fill&part={part}")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith('attachment; filename="')
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"].startswith("application/json" if part == "input" else "text/plain")
    assert (answer.json() if part == "input" else answer.text) == content


async def test_instructions_and_values_of_the_run_are_files_too(agents: World, visitor: Visitor) -> None:
    made = stories.held(agents, run_input={"n": 7})
    details = await visitor.get(f"/ui/runs/{made.run}/value?state=Draft&part=instructions")
    assert details.text == "Write about bees."
    assert (await visitor.get(f"/ui/runs/{made.run}/value?part=input")).json() == {"n": 7}


@rows("query", ["part=secret", "part=output", "part=error&state=Look", "part=input&state=None", ""])
async def test_what_there_is_not_is_no_file(agents: World, visitor: Visitor, query: str) -> None:
    answer = await visitor.get(f"/ui/runs/{stories.failed(agents)}/value?{query}")
    assert answer.status_code in {400, 404}
    assert "content-disposition" not in answer.headers


async def test_the_history_is_one_json_document(agents: World, visitor: Visitor) -> None:
    run = stories.long_chain(agents, 300, done=300)
    answer = await visitor.get(f"/ui/runs/{run}/history.json")
    document = answer.json()
    assert (document["workflow_id"], len(document["events"])) == (run, len(agents.events(run)))
    assert [event["id"] for event in document["events"]] == [event.event_id for event in agents.events(run)]
    assert answer.headers["content-disposition"] == f'attachment; filename="{run}-history.json"'


@rows("path", ["/ui/runs/none/history.json", "/ui/runs/none/value?part=input"])
async def test_files_of_a_run_that_there_is_not_are_not_found(visitor: Visitor, path: str) -> None:
    assert (await visitor.get(path)).status_code == 404


async def test_the_name_of_a_file_is_nothing_but_plain_characters(agents: World, visitor: Visitor) -> None:
    name = 'a"b/../c;é'
    run = agents.create(workflow({name: task()}), run_input={})
    page = await visitor.run(run, state=join("", name))
    answer = await visitor.get(page.part("panel").links["Download"])
    assert answer.headers["content-disposition"] == f'attachment; filename="{run}-a_b_2F.._2Fc__-input.json"'


async def test_an_artifact_of_a_state_is_a_file_of_no_type(
    agents: World, application: Application, visitor: Visitor
) -> None:
    made = stories.held(agents)
    data = b"<script>alert(1)</script>" * 2_000
    kind = ArtifactKind(name="../<b>page.html", content_type="text/html", state="Draft", agent_id="ann", metadata={})
    put = application.artifacts.put(PartGiven(workflow_id=made.run, artifact_id="a-1", kind=kind, data=data))
    assert not isinstance(put, Refusal), put
    panel = (await visitor.run(made.run, state="Draft")).part("panel")
    answer = await visitor.get(panel.links["../<b>page.html"])
    assert answer.content == data
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="__b_page.html"'
    assert (await visitor.get(f"/ui/runs/{made.run}/artifacts/none")).status_code in {400, 404}
