"""The page of a run whose names, values, errors, notes and addresses were written by somebody hostile."""

from urllib.parse import urlencode

import pytest

from dcf.application.application import Application
from dcf.asl.state_paths import join
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry, EntryAdded
from dcf.features.questions.asking import Ask
from dcf.web.site import build_site
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World
from tests.web.run.run_visitor import Visitor

pytestmark = pytest.mark.anyio

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e\x1b[31m{{ 7*7 }}"
NAME = "<b>&\"'/%{{7*7}}</title>"
FORBIDDEN = (
    "<script>",
    "<img src=x",
    "<b>&",
    "onerror=alert(2)>",
    "style=",
    "javascript:",
    "</title>/",
    ">49<",
    "\u202e",
    "\x1b",
)


def run_of(world: World) -> str:
    """A run with hostile text wherever it can stand."""
    brief = {"Instructions": HOSTILE, "Comment": HOSTILE}
    states = {
        NAME: task("Each", **brief),
        "Each": each({f"in {NAME}": task()}, following="Both", ToleratedFailureCount=9),
        "Both": parallel({f"left {NAME}": task()}, {f"right {NAME}": task()}),
    }
    document = {**workflow(states), "workflow_name": "<i>name"}
    run = world.create(document, run_input={"order": HOSTILE}, tags=("<img src=x>",), planner="pat")
    first = join("", NAME)
    token = world.acquire(run, first, "w")
    entry = AddEntry(kind=EntryKind.LOG, text=HOSTILE, agent="w", key="k1", state=first)
    assert isinstance(world.journal.add_journal_entry(run, entry), EntryAdded)
    world.complete(run, first, token, [HOSTILE, HOSTILE])
    for at in range(2):
        inner = join(f"Each/{at}", f"in {NAME}")
        token = world.acquire(run, inner, "w")
        if at:
            world.fail(run, inner, token, HOSTILE, HOSTILE)
        else:
            world.complete(run, inner, token, HOSTILE)
    right = join("Both/1", f"right {NAME}")
    world.talking.ask_question(run, Ask(state=right, token=world.acquire(run, right, "w"), text=HOSTILE))
    left = join("Both/0", f"left {NAME}")
    world.fail(run, left, world.acquire(run, left, "w"), HOSTILE, HOSTILE)
    return run


async def test_hostile_text_is_shown_in_every_tab_and_panel_and_never_obeyed(
    agents: World, application: Application
) -> None:
    visitor = Visitor(build_site(application))
    run = run_of(agents)
    chosen = [None, *agents.every_doc(run)]
    assert len(chosen) >= 7
    for state in chosen:
        for tab in ({"tab": "graph"}, {"tab": "timeline"}, {"tab": "table"}, {"tab": "events"}, {"inside": "Each"}):
            view = {"tab": "table", **tab, **({"state": state} if state else {})}
            page = await visitor.run(run, **view)
            for text in FORBIDDEN:
                assert text not in page.html, (view, text)
    assert "&lt;script&gt;alert(1)" in (await visitor.run(run, state=join("", NAME))).html


@rows("name", ["tab", "state", "inside", "part", "row", "sort", "type", "before", "after", "idle"])
async def test_hostile_parameters_are_refused_or_shown_as_text(
    agents: World, application: Application, name: str
) -> None:
    visitor = Visitor(build_site(application))
    run = agents.create(workflow({"A": task()}))
    for tab in ("graph", "timeline", "table", "events"):
        for value in (HOSTILE, "-1", "9" * 30, "\u0661", "../..", "\u0000", "%"):
            answer = await visitor.get(f"/ui/runs/{run}?{_query({'tab': tab, name: value})}")
            assert answer.status_code in {200, 400, 404}, (tab, value, answer.status_code)
            for text in FORBIDDEN:
                assert text not in answer.text, (tab, value, text)


async def test_a_value_of_megabytes_is_cut_on_the_page_and_whole_in_its_file(
    agents: World, application: Application
) -> None:
    visitor = Visitor(build_site(application))
    run = agents.create(workflow({"A": task("B"), "B": task()}), run_input={"blob": "x" * 900_000})
    page = await visitor.run(run, state="A")
    assert len(page.html) < 100_000
    assert "more characters" in page.part("panel").text
    whole = await visitor.get(page.part("panel").links["Download"])
    assert whole.json() == {"blob": "x" * 900_000}


def _query(parameters: dict[str, str]) -> str:
    return urlencode(parameters)
