"""Pictures in which each state is a link, and pictures of a part of a large workflow."""

import json
import re
from html import unescape
from xml.etree import ElementTree as ET

from dcf.core.definitions.model import read_definition
from dcf.workflows.drawing.links import Links, following
from dcf.workflows.drawing.scene import Graph, nodes_in, part_of, scene_of
from dcf.workflows.drawing.statuses import Standing
from dcf.workflows.drawing.svg import draw_graph, draw_svg
from tests.support.tables import rows
from tests.support.workflows.machines import Document, fan, loop, numbered_chain, workflow
from tests.support.workflows.scopes import each, parallel, task

NESTED = workflow({"A": task("P"), "P": parallel({"L": task()}, {"M": each({"<i>": task()})})})


def graph_of(document: Document) -> Graph:
    return scene_of(read_definition(document).machine)


def linked(graph: Graph, chosen: str | None = None, **names: str) -> str:
    links = Links(to=lambda path: f"?state={path}&x=\"'<", names=names, following=following(graph), chosen=chosen)
    return draw_graph(graph, Standing(graph, {}), style=False, links=links)


@rows("document", [NESTED, fan(4), loop(), numbered_chain(9)])
def test_every_state_is_in_one_link_which_holds_no_other(document: Document) -> None:
    graph = graph_of(document)
    tree = ET.fromstring(linked(graph))
    result = [
        [item.attrib["data-state"] for item in link.iter() if "data-state" in item.attrib]
        for link in tree.iter()
        if link.tag.endswith("}a")
    ]
    assert sorted(result) == sorted([node.path] for node in nodes_in(graph) if node.path)


def test_the_boxes_of_a_linked_picture_are_those_of_the_plain_one() -> None:
    machine = read_definition(NESTED).machine
    plain = draw_svg(machine, {"A": "running"}, style=False)
    graph = scene_of(machine)
    shown = draw_graph(graph, Standing(graph, {"A": "running"}), style=False, links=Links(to=lambda _: "#"))
    for tag in ("rect", "polygon", "path", "text"):
        assert re.findall(f"<{tag}[^>]*>", shown) == re.findall(f"<{tag}[^>]*>", plain)


def test_arrow_keys_have_the_ways_of_the_workflow() -> None:
    result = following(graph_of(loop()))
    assert result["Work"] == ("Check",)
    assert set(result["Enough"]) == {"Finish", "Work"}
    assert following(graph_of(NESTED))["P"] == ("P/0/L", "P/1/M")
    ways = [json.loads(unescape(item)) for item in re.findall('data-next="([^"]*)"', linked(graph_of(fan(3))))]
    assert ["Pick"] in ways


def test_the_chosen_state_is_marked_and_names_are_those_that_were_given() -> None:
    svg = linked(graph_of(NESTED), "A", A="A: running, held by <ann>")
    assert len(re.findall('aria-current="true"', svg)) == 1
    assert 'aria-label="A: running, held by &lt;ann&gt;"' in svg


def test_the_parts_of_a_large_graph_have_each_state_once_and_no_arrow_between_them() -> None:
    graph = graph_of(numbered_chain(95))
    parts = [part_of(graph, first, 20) for first in range(0, len(graph.nodes), 20)]
    assert [node for part in parts for node in part.graph.nodes] == list(graph.nodes)
    for part in parts:
        assert len(part.graph.nodes) <= 20
        assert len(part.graph.arrows) == len(part.graph.nodes) - 1
        assert ET.fromstring(linked(part.graph)) is not None


def test_a_part_leaves_out_what_is_inside_a_node_that_is_too_large_alone() -> None:
    inner = {f"I{at}": task(f"I{at + 1}") if at < 29 else task() for at in range(30)}
    graph = graph_of(workflow({"P": parallel(inner, {"L": task()}, following="Q"), "Q": task()}))
    (node,) = [node for node in part_of(graph, 0, 20).graph.nodes if node.path == "P"]
    assert node.groups == ()
    (stored,) = [node for node in part_of(graph, 0, 40).graph.nodes if node.path == "P"]
    assert len(stored.groups) == 2
