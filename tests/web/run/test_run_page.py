"""The page of a run over ASGI: what its head, its tabs and its panel say of runs in which something has happened."""

import json
import re

import pytest

from dcf.application.application import Application
from dcf.core.access.model import local_caller
from dcf.web.site import build_site
from dcf.web.visit import Visit
from tests.support.tables import rows
from tests.support.workflows.growing import Server
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World
from tests.web import run_stories as stories
from tests.web.run.run_visitor import Page, Visitor

pytestmark = pytest.mark.anyio

TABS = ("graph", "timeline", "table", "events")


@pytest.fixture
def visitor(application: Application) -> Visitor:
    return Visitor(build_site(application))


def facts(page: Page) -> dict[str, str]:
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page.html, re.DOTALL)
    return {name: Page(value).text for name, value in pairs}


def bars(page: Page, state: str) -> list[str]:
    """The texts of the bars of a state in the timeline."""
    row = re.search(rf'<tr data-key="{state}".*?</tr>', page.html, re.DOTALL)
    assert row is not None
    return re.findall(r'<rect class="seg[^>]*><title>(.*?)</title>', row[0])


async def test_the_head_says_how_a_run_stands_how_far_it_is_and_why_it_does_not_move(
    agents: World, visitor: Visitor
) -> None:
    head = (await visitor.run(stories.held(agents).run)).part("head")
    worktree_facts = facts(head.part("facts"))
    assert (worktree_facts["states"], worktree_facts["attempts"]) == ("1 of 2 ended", "2")
    assert {"created", "running for"} <= worktree_facts.keys()
    assert 'aria-label="Progress: 1 succeeded, 1 running"' in head.html
    assert head.has("▶ running", "Now:")


async def test_the_why_section_has_every_finding_with_its_evidence_and_what_helps(
    agents: World, visitor: Visitor
) -> None:
    run = agents.create(chain("A", "B"))
    why = (await visitor.run(run)).part("why")
    (finding, *_) = agents.diagnosis.explain(run).findings
    assert why.has("Now:", finding.sentence, finding.remedy.sentence, str(finding.cause))
    for name, value in finding.evidence.items():
        assert value is None or name.replace("_", " ") in facts(why)


async def test_a_failed_run_names_the_failed_states_with_their_causes_first(agents: World, visitor: Visitor) -> None:
    run = stories.failed(agents)
    for tab in TABS:
        page = await visitor.run(run, tab=tab)
        errors = page.part("failures")
        assert errors.has("Broken", "the tank is empty", "Fill ✘ failed")
        assert page.html.index('class="failures"') < page.html.index('class="tabs"')
        chosen = await visitor.page(errors.links["Fill"])
        assert chosen.part("panel").has("Fill", "Broken: the tank is empty")


async def test_runs_around_a_run_are_linked_both_ways(agents: World, visitor: Visitor) -> None:
    above, below = stories.parent(agents)
    page = await visitor.run(above, state="Inner")
    assert below in (await visitor.page(page.part("head").links["list"])).text
    child = await visitor.page(page.part("panel").links[below])
    back = await visitor.page(child.part("head").links[f"{above} in Inner"])
    assert back.part("panel").has("Inner", "waits for its child run")


async def test_a_rerun_and_what_it_repeats_are_linked(
    agents: World, visitor: Visitor, application: Application
) -> None:
    run = stories.failed(agents)
    again = Visit(application=application, caller=local_caller(operator=True)).ask("rerun", workflow_id=run)[
        "workflow_id"
    ]
    page = await visitor.run(run)
    assert page.links[again] == f"/ui/runs/{again}"
    assert (await visitor.page(page.links[again])).part("head").links[run] == f"/ui/runs/{run}"


@pytest.mark.parametrize("tab", TABS)
async def test_the_chosen_state_is_marked_in_every_tab_and_stays_chosen_from_tab_to_tab(
    agents: World, visitor: Visitor, tab: str
) -> None:
    run = stories.held(agents).run
    page = await visitor.run(run, tab=tab, state="Draft")
    assert page.part("panel").has("Draft")
    for other in TABS:
        assert "state=Draft" in page.links[other]
    marks = re.findall(r'<(\w+)[^>]*aria-current="true"[^>]*>(.*?)</', page.html, re.DOTALL)
    if tab == "events":
        assert page.has("Only events of Draft.")
    else:
        assert len(marks) == 1
        assert "Draft" in marks[0][1]


async def test_every_state_of_the_picture_is_a_link_that_says_how_it_stands(agents: World, visitor: Visitor) -> None:
    page = await visitor.run(stories.held(agents).run)
    view = page.part("view")
    assert {"Fetch: succeeded, attempt 1", "Draft: running, attempt 1, held by ann"} == view.links.keys()
    assert 'data-next="[&quot;Draft&quot;]"' in view.html
    assert re.search(r'<a class="dcf-link"[^>]*><g class="dcf-state dcf-running"[^>]*data-state="Draft"', view.html)
    chosen = await visitor.page(view.links["Draft: running, attempt 1, held by ann"])
    assert chosen.part("panel").has("held by ann, 59 min")


async def test_states_in_a_parallel_are_links_and_those_in_a_map_lead_to_its_iterations(
    agents: World, visitor: Visitor
) -> None:
    view = (await visitor.run(stories.nested(agents))).part("view")
    alone = await visitor.page(next(link for text, link in view.links.items() if "Alone" in text))
    assert alone.part("panel").has("Deep/1/Alone")
    page = await visitor.page(next(link for text, link in view.links.items() if text.startswith("One")))
    assert page.part("view").has("Map, 2 iterations")


async def test_the_timeline_shows_tries_that_failed_and_the_time_until_the_next(
    agents: World, visitor: Visitor
) -> None:
    page = await visitor.run(stories.retried(agents), tab="timeline")
    shown = bars(page, "Call")[-2:]
    assert [bar.split(" ")[0] for bar in shown] == ["working", "backing"]
    assert "attempt 1 by cal, failed" in shown[0]
    assert shown[1].endswith("so far")
    assert "backing off" in page.part("view").text, "the same in words"


async def test_the_timeline_shows_who_lost_a_state_and_who_took_it_over(agents: World, visitor: Visitor) -> None:
    page = await visitor.run(stories.taken_over(agents), tab="timeline")
    shown = bars(page, "A")
    assert len(shown) >= 3, shown
    assert "by lou, lost lease" in shown[-3]
    assert shown[-2].startswith("lost lease")
    assert "attempt 2 by max" in shown[-1]


async def test_the_timeline_does_not_say_that_an_agent_works_whose_lease_is_over(
    agents: World, visitor: Visitor
) -> None:
    shown = bars(await visitor.run(stories.lost(agents), tab="timeline"), "A")
    assert "by lou, lost lease" in shown[-2]
    assert shown[-1].startswith("lost lease"), shown
    assert "so far" in shown[-1]


async def test_a_lost_lease_is_said_where_the_state_is(agents: World, visitor: Visitor) -> None:
    page = await visitor.run(stories.lost(agents), state="A")
    assert "lease lost by lou" in page.part("panel").text
    assert any("lease lost by lou" in text for text in page.part("view").links)


async def test_idle_time_can_be_folded_and_unfolded_and_what_came_first_stays_first(
    agents: World, visitor: Visitor
) -> None:
    page = await visitor.run(stories.idle(agents), tab="timeline")
    assert "idle time, folded" not in page.html
    folded = await visitor.page(page.links["Fold idle time"])
    assert "idle time, folded" in folded.html
    for item in (page, folded):
        begins = [
            float(x) for x in re.findall(r'<rect class="seg working[^>]* x="([0-9.]+)"', item.part("timeline").html)
        ]
        assert begins == sorted(begins)
        assert len(begins) == 2
    unfolded = await visitor.page(folded.links["Show idle time at full length"])
    assert "idle time, folded" not in unfolded.html


async def test_the_table_is_sorted_by_any_column_both_ways(agents: World, visitor: Visitor) -> None:
    run = agents.create(chain("B", "A", "C"))
    agents.do(run, "B")
    agents.acquire(run, "A", "ann")

    def order(page: Page) -> list[str]:
        return re.findall(r'<tr data-key="(\w)"', page.html)

    page = await visitor.run(run, tab="table")
    assert order(page) == ["B", "A", "C"]
    up = await visitor.page(page.links["state"])
    assert order(up) == ["A", "B", "C"]
    assert 'aria-sort="ascending"' in up.html
    assert order(await visitor.page(up.links["state ▲"])) == ["C", "B", "A"]
    assert order(await visitor.page(page.links["status"])) == ["A", "C", "B"], "the most urgent first"
    for column in ("attempts", "started", "ended", "took", "now", "last error"):
        assert sorted(order(await visitor.page(page.links[column]))) == ["A", "B", "C"]
    assert (await visitor.get(f"/ui/runs/{run}?tab=table&sort=nonsense")).status_code == 400


async def test_events_are_filtered_by_state_and_type_and_shown_as_they_are_stored(
    agents: World, visitor: Visitor
) -> None:
    run = stories.held(agents).run
    finished = await visitor.run(run, tab="events", type="LeaseAcquired")
    assert len(re.findall("<tr data-key", finished.html)) == 2
    item = await visitor.run(run, tab="events", type="LeaseAcquired", state="Draft")
    assert len(re.findall("<tr data-key", item.html)) == 1
    view = item.part("view").html
    raw = json.loads(Page(view[view.index("<pre>") : view.index("</pre>")]).text)
    assert (raw["type"], raw["state"], raw["owner"]) == ("LeaseAcquired", "Draft", "ann")
    assert (await visitor.run(run, tab="events", type="Nonsense")).has("No event is like that")


async def test_events_come_in_pages_that_lead_to_and_fro(agents: World, visitor: Visitor) -> None:
    run = stories.long_chain(agents, 90, done=90)
    total = len(agents.events(run))

    def ids(page: Page) -> list[str]:
        return re.findall(r'<tr data-key="([^"]+)"', page.html)

    pages = [await visitor.run(run, tab="events")]
    while "Older events" in pages[-1].links:
        pages.append(await visitor.page(pages[-1].links["Older events"]))
    seen = [item for page in pages for item in ids(page)]
    assert len(seen) == len(set(seen)) == total
    assert len(pages) > 2
    back = await visitor.page(pages[2].links["Newer events"])
    assert ids(back) == ids(pages[1])
    assert ids(await visitor.page(back.links["Older events"])) == ids(pages[2])
    assert ids(await visitor.page(pages[1].links["Newest"])) == ids(pages[0])


async def test_the_iterations_of_a_map_are_a_grid_with_counts_and_the_failed_ones_first(
    agents: World, visitor: Visitor
) -> None:
    run = stories.mapped(agents)
    table = await visitor.run(run, tab="table")
    grid = await visitor.page(table.links["inside"])
    view = grid.part("view")
    assert view.has("Map, 200 iterations", "✘ 1 failed", "✔ 3 succeeded", "196 not ended", "Failed lately")
    cells = re.findall(r'aria-label="Iteration (\d+): (\w+)', view.html)
    assert cells[0] == ("3", "failed")
    assert dict(cells)["0"] == "succeeded"
    assert dict(cells)["5"] == "running"
    assert dict(cells)["199"] == "pending"
    chosen = await visitor.page(view.links["3 ✘"])
    assert chosen.part("panel").has("Each/3/Score", "NoScore: there was nothing to score")
    assert chosen.part("view").has("Map, 200 iterations"), "the grid stays open"


async def test_the_grid_of_a_map_comes_in_pages(agents: World, visitor: Visitor) -> None:
    run = stories.mapped(agents, 450)
    grid = await visitor.run(run, tab="table", inside="Each")
    link = grid.links["401 to 450"]
    last = (await visitor.page(link)).part("view")
    assert re.findall(r'<li data-key="(\d+)"', last.html)[-50:] == [str(at) for at in range(400, 450)]


async def test_the_branches_of_a_parallel_are_a_grid_too(agents: World, visitor: Visitor) -> None:
    run = stories.branched(agents)
    grid = (await visitor.run(run, tab="table", inside="Both")).part("view")
    assert grid.has("Parallel, 2 branches")
    assert "Branch 0: succeeded" in grid.html
    assert "Branch 1: running" in grid.html
    assert (await visitor.get(f"/ui/runs/{run}?tab=table&inside=Both%2F0%2FLeft")).status_code == 400


async def test_an_iteration_whose_failure_was_caught_has_succeeded(agents: World, visitor: Visitor) -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Mend"}]
    run = agents.create(workflow({"Each": each({"S": task("Mend", Catch=catch), "Mend": task()})}), run_input=[1, 2])
    agents.fail(run, "Each/0/S", agents.acquire(run, "Each/0/S"))
    grid = (await visitor.run(run, tab="table", inside="Each")).part("view")
    assert "Iteration 0: pending" in grid.html, "it is to be mended"
    agents.do(run, "Each/0/Mend")
    assert "Iteration 0: succeeded" in (await visitor.run(run, tab="table", inside="Each")).part("view").html


async def test_the_panel_says_who_holds_a_state_and_what_it_is_to_do(agents: World, visitor: Visitor) -> None:
    panel = (await visitor.run(stories.held(agents).run, state="Draft")).part("panel")
    worktree_facts = facts(panel)
    assert worktree_facts["assigned to"] == "ann"
    assert worktree_facts["now"].startswith("held by ann, 59 min")
    assert worktree_facts["skills"] == "skill://style@1.0.0"
    assert panel.has("Instructions Write about bees.", '"topic": "bees"')


async def test_no_page_and_no_file_has_the_token_of_a_lease(agents: World, visitor: Visitor) -> None:
    made = stories.held(agents)
    paths = [f"/ui/runs/{made.run}?tab={tab}&state=Draft" for tab in TABS]
    paths += [f"/ui/runs/{made.run}/history.json", f"/ui/runs/{made.run}/value?part=input&state=Draft"]
    for path in paths:
        answer = await visitor.get(path)
        assert answer.status_code == 200
        assert made.token not in answer.text, path


async def test_the_panel_shows_gates_with_what_was_judged(agents: World, visitor: Visitor) -> None:
    panel = (await visitor.run(stories.judged(agents), state="Write")).part("panel")
    assert panel.has("review waits for its verdict failed 1 times", "name the book", '"text": "second"')


async def test_the_panel_shows_questions_and_whether_they_are_answered(agents: World, visitor: Visitor) -> None:
    panel = (await visitor.run(stories.asking(agents), state="Draft")).part("panel")
    assert panel.has("Which bees? asked by ann", "▶ waits for an answer")
    assert facts(panel)["now"] == "waits for an answer"


async def test_the_panel_shows_the_journal_and_the_usage_of_a_state(agents: World, visitor: Visitor) -> None:
    panel = (await visitor.run(stories.documented(agents), state="Draft")).part("panel")
    assert panel.has("Only honey bees.", "1200 tokens in, 340 out", '"text": "Bees hum."')


async def test_a_state_that_nothing_has_reached_says_so(agents: World, visitor: Visitor) -> None:
    run = agents.create(workflow({"Each": each({"S": task()})}), run_input=[])
    panel = (await visitor.run(run, state="Each/7/S")).part("panel")
    assert panel.has("Nothing has reached this state yet.")


async def test_a_cancelled_run_says_so_everywhere(agents: World, visitor: Visitor) -> None:
    run = stories.cancelled(agents)
    for tab in TABS:
        page = await visitor.run(run, tab=tab, state="Draft")
        assert page.part("head").has("◼ cancelled")
        assert page.part("panel").has("◼ cancelled")


async def test_a_run_that_grows_is_shown_from_its_first_moment_with_every_unit(agents: World, visitor: Visitor) -> None:
    server = Server(agents)
    run = server.open()
    for tab in TABS:
        assert (await visitor.run(run, tab=tab)).part("head").has("0 of 0 ended")
    server.add(run, {"name": "one"}, {"name": "two", "depends_on": ["one"]})
    assert len((await visitor.run(run)).part("view").links) == 2
    agents.do(run, "one")
    server.add(run, {"name": "three"})
    page = await visitor.run(run, tab="table", state="three")
    assert re.findall(r'<tr data-key="(\w+)"', page.html) == ["one", "two", "three"]
    assert page.part("panel").has("three")


async def test_a_paused_run_says_so_and_offers_nothing_as_ready(agents: World, visitor: Visitor) -> None:
    run = agents.create(chain("A"), agents={"A": "ann"})
    agents.lifecycle.pause(run, reason="lunch")
    page = await visitor.run(run, state="A")
    assert page.part("head").has("◐ paused")
    assert facts(page.part("panel"))["now"] == "paused"


STORIES = ("retried", "taken_over", "lost", "failed", "mapped", "branched", "nested", "judged", "asking", "documented")


@rows("story", STORIES)
async def test_every_link_of_every_tab_leads_to_a_page_that_is_there(
    agents: World, visitor: Visitor, story: str
) -> None:
    run = getattr(stories, story)(agents)
    state = next(path for path, doc in agents.every_doc(run).items() if doc.attempts or doc.scope)
    links = {
        link
        for tab in (*({"tab": tab} for tab in TABS), {"tab": "table", "inside": "Each" if story == "mapped" else ""})
        for link in (await visitor.run(run, state=state, **tab)).links.values()
    }
    inner = {link for link in links if link.startswith("/ui/runs/")}
    for link in sorted(inner)[:60]:
        assert (await visitor.get(link)).status_code == 200, link
    assert {link for link in links if not link.startswith("/ui/")} == {"#main"}
