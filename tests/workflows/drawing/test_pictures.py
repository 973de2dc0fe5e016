import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcf.asl.machine import Machine
from dcf.asl.syntax.parsing import parse_machine
from dcf.errors import InvalidArgument
from dcf.workflows.drawing import PAGE_STYLE, STYLE, Share, draw_mermaid, draw_svg, draw_text
from dcf.workflows.drawing.layout import NOTE_SIZE, Box, Label, Panel, Rect, kind_text, lay_out, picture_size
from dcf.workflows.drawing.scene import MAX_STATES, scene_of
from dcf.workflows.drawing.statuses import Standing
from dcf.workflows.drawing.words import width_of
from tests.support.tables import rows

Json = Any

HOSTILE = [
    '"><script>alert(1)</script>',
    "]]> & <!-- <![CDATA[",
    'a"] --> b; click c "javascript:x"',
    "%%{init: {'theme':'dark'}}%%",
    "end",
    "`**bold**`",
    "\u202egnp.exe",
    "\x1b[31mred",
    "line\nbreak\x00null",
    "日本語の長い名前" * 5,
    "a/b%2Fc",
    "#quot;",
    "W" * 80,
]


def compiled(document: Json) -> Machine:
    machine, problems = parse_machine(document)
    assert machine is not None, problems
    return machine


def task(following: str | None = None, **fields: Json) -> Json:
    return {"Type": "Task", **({"End": True} if following is None else {"Next": following}), **fields}


def choice(default: str, *targets: str) -> Json:
    rules = [{"Variable": "$.n", "NumericEquals": at, "Next": target} for at, target in enumerate(targets)]
    return {"Type": "Choice", "Choices": rules, "Default": default}


def caught(target: str) -> Json:
    return [{"ErrorEquals": ["States.ALL"], "Next": target}]


EVERYTHING = compiled(
    {
        "StartAt": "Receive",
        "States": {
            "Receive": task("Route", Catch=caught("Failed"), Retry=[{"ErrorEquals": ["Busy"]}]),
            "Route": choice("Each", "Both", "Receive", "Route"),
            "Both": {
                "Type": "Parallel",
                "Branches": [
                    {"StartAt": "One", "States": {"One": task()}},
                    {"StartAt": "Two", "States": {"Two": task("Three"), "Three": {"Type": "Succeed"}}},
                ],
                "Catch": caught("Failed"),
                "Next": "Each",
            },
            "Each": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "Pick", "States": {"Pick": task()}},
                "Next": "Pause",
            },
            "Pause": {"Type": "Wait", "Seconds": 1, "Next": "Finish"},
            "Finish": {"Type": "Pass", "End": True},
            "Failed": {"Type": "Fail"},
        },
    }
)


@st.composite
def machines(draw: st.DrawFn, depth: int = 2, prefix: str = "s") -> Json:
    """A machine in which every state can be reached: each leads to the next one, and anywhere besides."""
    names = [f"{prefix}{at}" for at in range(draw(st.integers(1, 7)))]
    states: dict[str, Json] = {}
    for at, name in enumerate(names):
        following = names[at + 1] if at + 1 < len(names) else None
        kind = draw(st.sampled_from(["Task", "Choice", "Parallel", "Map", "Wait"]))
        if kind == "Choice" and following is not None:
            states[name] = choice(following, *draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)))
        elif kind == "Wait":
            states[name] = task(following) | {"Type": "Wait", "Seconds": 1}
        else:
            states[name] = task(following)
            if draw(st.booleans()):
                states[name]["Catch"] = caught(draw(st.sampled_from(names)))
            if kind == "Parallel" and depth:
                inner = [draw(machines(depth - 1, f"{name}b{branch}")) for branch in range(draw(st.integers(1, 2)))]
                states[name] |= {"Type": "Parallel", "Branches": inner}
            elif kind == "Map" and depth:
                states[name] |= {"Type": "Map", "ItemProcessor": draw(machines(depth - 1, f"{name}i"))}
    return {"StartAt": names[0], "States": states}


def panels(panel: Panel) -> Iterator[Panel]:
    yield panel
    for box in panel.boxes:
        for inner in box.panels:
            yield from panels(inner)


def overlap(first: Rect, other: Rect) -> bool:
    return (
        first.x < other.x + other.width
        and other.x < first.x + first.width
        and first.y < other.y + other.height
        and other.y < first.y + first.height
    )


def within(inner: Rect, outer: Rect) -> bool:
    slack = 0.01
    return (
        inner.x >= outer.x - slack
        and inner.y >= outer.y - slack
        and inner.x + inner.width <= outer.x + outer.width + slack
        and inner.y + inner.height <= outer.y + outer.height + slack
    )


def plate(label: Label) -> Rect:
    return Rect(x=label.x - label.width / 2, y=label.y - 8, width=label.width, height=16)


def touches(point: tuple[float, float], rect: Rect) -> bool:
    x, y = point
    near_x = min(abs(x - rect.x), abs(x - rect.x - rect.width)) < 0.01
    near_y = min(abs(y - rect.y), abs(y - rect.y - rect.height)) < 0.01
    inside_x = rect.x - 0.01 <= x <= rect.x + rect.width + 0.01
    inside_y = rect.y - 0.01 <= y <= rect.y + rect.height + 0.01
    return (near_x and inside_y) or (near_y and inside_x)


@given(machines())
def test_nothing_overlaps_no_line_crosses_a_node_and_every_arrow_ends_on_one(document: Json) -> None:
    picture = lay_out(scene_of(compiled(document)))
    for panel in panels(picture):
        solid = [box.rect for box in panel.boxes] + [plate(label) for label in panel.labels]
        assert not [pair for pair in combinations(solid, 2) if overlap(*pair)]
        assert all(within(rect, panel.rect) for rect in solid)
        assert all(within(inner.rect, box.rect) for box in panel.boxes for inner in box.panels)
        assert not [
            pair for box in panel.boxes for pair in combinations([p.rect for p in box.panels], 2) if overlap(*pair)
        ]
        for line in panel.lines:
            if line.head:
                assert any(touches(line.points[-1], box.rect) for box in panel.boxes)
            assert line.loop or not any(crosses(line.points, box.rect) for box in panel.boxes)


def crosses(points: Any, rect: Rect) -> bool:
    """Whether the bounds of a straight piece, or of the curve, lie partly inside the box."""
    inner = Rect(x=rect.x + 0.1, y=rect.y + 0.1, width=rect.width - 0.2, height=rect.height - 0.2)
    for (x1, y1), (x2, y2) in pairwise(points):
        if overlap(Rect(x=min(x1, x2), y=min(y1, y2), width=abs(x1 - x2) + 0.01, height=abs(y1 - y2) + 0.01), inner):
            return True
    return False


@settings(max_examples=30)
@given(machines())
def test_the_same_machine_gives_the_same_picture(document: Json) -> None:
    first, other = compiled(document), compiled(document)
    assert draw_svg(first) == draw_svg(other)
    assert draw_mermaid(first) == draw_mermaid(other)
    assert draw_text(first) == draw_text(other)


def test_a_picture_is_as_large_as_what_is_in_it() -> None:
    picture = lay_out(scene_of(EVERYTHING))
    width, height = picture_size(picture)
    right = max(box.rect.x + box.rect.width for box in picture.boxes)
    bottom = max(box.rect.y + box.rect.height for box in picture.boxes)
    assert right < width
    assert bottom == pytest.approx(height - 20)


def test_every_state_is_a_group_that_says_its_name_and_status() -> None:
    statuses = {"Receive": "succeeded", "Both": "running", "Both/1/Two": "failed", "Each/0/Pick": "running"}
    root = ET.fromstring(draw_svg(EVERYTHING, statuses | {"Each/7/Pick": "failed"}, title="Orders"))
    groups = {group.get("data-state"): group for group in root.iter() if group.get("data-state")}
    labels = {path: group.get("aria-label") for path, group in groups.items()}
    assert labels["Receive"] == "Receive: succeeded"
    assert labels["Both/1/Two"] == "Two: failed"
    assert labels["Each/0/Pick"] == "Pick: 1 failed, 1 running"
    assert labels["Finish"] == "Finish: Pass"
    assert groups["Each/0/Pick"].get("data-status") == "failed"
    assert all(group.get("role") == "graphics-symbol" for group in groups.values())
    assert [child.tag.rpartition("}")[2] for child in root][:2] == ["title", "desc"]
    assert root.get("aria-label") == "Orders"


def test_an_svg_is_dark_where_the_page_is_and_may_leave_its_style_to_the_page() -> None:
    assert "prefers-color-scheme:dark" in draw_svg(EVERYTHING)
    assert STYLE in draw_svg(EVERYTHING)
    assert "<style" not in draw_svg(EVERYTHING, style=False)
    assert "style=" not in draw_svg(EVERYTHING, style=False)
    assert "light-dark(" in PAGE_STYLE
    assert "prefers-color-scheme" not in PAGE_STYLE


@rows("name", HOSTILE)
def test_hostile_names_are_only_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.asl.syntax.parsing.hidden_in", lambda _: None)  # a picture relies on its own check
    rule = {"Variable": "$.a", "StringEquals": name, "Next": name}
    states = {
        "First": {"Type": "Choice", "Choices": [rule]},
        name: task(Catch=caught("Last")),
        "Last": {"Type": "Fail"},
    }
    machine = compiled({"StartAt": "First", "States": states})
    drawn = draw_svg(machine, {name: name}, title=name)
    root = ET.fromstring(drawn)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "g", "path", "polygon", "text", "tspan", "circle"}
    assert not any(key.startswith("on") or "href" in key for element in root.iter() for key in element.attrib)
    assert {element.get("data-state") for element in root.iter()} >= {"First", "Last"}
    for text in (drawn, draw_mermaid(machine, {name: name}), draw_text(machine, {name: name})):
        assert all(character.isprintable() or character == "\n" for character in text)
    for line in draw_mermaid(machine, {name: name}).splitlines():
        assert line.count('"') in {0, 2}
        assert not re.search(r"[`;%{}<>]", re.sub(r"#\d+;|<br/>|\{\{|\}\}|-\.?->", "", line))


def test_the_outline_shows_where_every_state_leads() -> None:
    assert draw_text(EVERYTHING, {"Receive": "running"}).splitlines()[:8] == [
        "Receive  (Task ↻)  ▶ running",
        "  → Route",
        "  ⇢ Failed   [any error]",
        "Route  (Choice)",
        "  → Both   [$.n = 0]",
        "  → Receive   [$.n = 1]",
        "  → Route   [$.n = 2]",
        "  → Each   [otherwise]",
    ]
    assert "  │   Pick  (Task)" in draw_text(EVERYTHING)


def test_mermaid_nests_what_is_nested_and_dashes_what_is_caught() -> None:
    chart = draw_mermaid(EVERYTHING, {"Receive": "failed"})
    assert chart.startswith("flowchart TD\n")
    assert chart.count("subgraph") == chart.count("  end\n") == 5
    assert '-.->|"any error"|' in chart
    assert ":::failed" in chart


@rows(
    ("rule", "words"),
    [
        ({"Variable": "$.a", "NumericGreaterThanEquals": 5}, "$.a ≥ 5"),
        ({"Variable": "$.a", "StringLessThanPath": "$.b"}, "$.a < $.b"),
        ({"Variable": "$.a", "IsTimestamp": False}, "$.a is not a timestamp"),
        ({"Variable": "$.a", "IsPresent": False}, "$.a is absent"),
        ({"Variable": "$.a", "StringMatches": "x*"}, '$.a matches "x*"'),
        ({"Not": {"Variable": "$.a", "IsNull": True}}, "not ($.a is null)"),
        (
            {"Or": [{"Variable": "$.a", "IsNull": True}, {"And": [{"Variable": "$.b", "BooleanEquals": True}]}]},
            "$.a is null or ($.b = true)",
        ),
    ],
)
def test_a_rule_is_told_in_few_signs(rule: Json, words: str) -> None:
    states = {"C": {"Type": "Choice", "Choices": [{**rule, "Next": "E"}]}, "E": {"Type": "Succeed"}}
    assert f"[{words}]" in draw_text(compiled({"StartAt": "C", "States": states}))


def test_a_jsonata_rule_shows_its_expression() -> None:
    states = {
        "C": {"Type": "Choice", "Choices": [{"Condition": "{% $states.input.n > 1 %}", "Next": "E"}]},
        "E": {"Type": "Succeed"},
    }
    machine = compiled({"QueryLanguage": "JSONata", "StartAt": "C", "States": states})
    assert "[$states.input.n > 1]" in draw_text(machine)


def test_a_machine_too_large_to_be_looked_at_is_refused() -> None:
    names = [f"s{at}" for at in range(MAX_STATES + 1)]
    states = {name: task(following) for name, following in zip(names, [*names[1:], None], strict=True)}
    with pytest.raises(InvalidArgument, match="is not drawn"):
        draw_svg(compiled({"StartAt": "s0", "States": states}))


def test_a_machine_too_entangled_to_be_looked_at_is_refused_in_bounded_time() -> None:
    names = [f"s{at}" for at in range(400)]
    states = {
        name: choice(names[at + 1], *(names[(at * 37 + step * 101) % 400] for step in range(3)))
        for at, name in enumerate(names[:-1])
    }
    machine = compiled({"StartAt": "s0", "States": states | {"s399": {"Type": "Succeed"}}})
    with pytest.raises(InvalidArgument, match="too entangled"):
        draw_svg(machine)
    assert draw_text(machine).count("otherwise") == 399


def test_boxes_keep_their_place_while_a_run_goes_on() -> None:
    bare = re.sub(r"<desc>.*?</desc>", "", draw_svg(EVERYTHING))
    running = re.sub(r"<desc>.*?</desc>", "", draw_svg(EVERYTHING, {"Receive": "succeeded", "Route": "cancelled"}))
    places = re.compile(r"<(?:rect|polygon|path) [^>]*>")
    assert places.findall(bare) == places.findall(running)


def test_a_box_knows_what_it_shows() -> None:
    box = next(box for box in lay_out(scene_of(EVERYTHING)).boxes if box.node.path == "Both")
    assert isinstance(box, Box)
    assert [panel.title for panel in box.panels] == ["branch 0", "branch 1"]


SCORES = {f"Each/{at}/Pick": "succeeded" for at in range(12)} | {"Each": "running", "Each/12/Pick": "running"}
FAILED = SCORES | {"Each/13/Pick": "failed"}
SHARE = {"Each": Share(size=40, done=12, failed=1)}


def line_of(text: str, name: str) -> str:
    return next(line.strip(" │") for line in text.splitlines() if line.strip(" │").startswith(f"{name}  "))


def test_all_iterations_of_a_map_are_counted_where_it_is_drawn_once() -> None:
    text = draw_text(EVERYTHING, FAILED, SHARE)
    assert line_of(text, "Each") == "Each  (Map)  ▶ running, 12 of 40 done, 1 failed"
    assert line_of(text, "Pick") == "Pick  (Task)  ✘ 1 failed, 1 running, 12 succeeded of 40"
    picture = draw_svg(EVERYTHING, FAILED, SHARE)
    assert ">✘ 1  ▶ 1  ✔ 12 of 40<" in picture
    assert ">▶ running 12 of 40<" in picture
    assert "1  #10004; 12 of 40" in draw_mermaid(EVERYTHING, FAILED, SHARE)


def test_what_is_to_come_again_does_not_look_done() -> None:
    started = {"Each": "running", "Each/0/Pick": "succeeded"}
    assert line_of(draw_text(EVERYTHING, started, SHARE), "Pick") == "Pick  (Task)  · 1 succeeded of 40"
    assert 'data-state="Each/0/Pick" data-status="pending"' in draw_svg(EVERYTHING, started, SHARE)
    over = started | {"Each": "succeeded"}
    assert 'data-state="Each/0/Pick" data-status="succeeded"' in draw_svg(EVERYTHING, over, SHARE)


def test_a_map_of_one_item_is_told_like_any_state() -> None:
    text = draw_text(EVERYTHING, {"Each": "running", "Each/0/Pick": "running"}, {"Each": Share(size=1)})
    assert line_of(text, "Pick") == "Pick  (Task)  ▶ running"


def test_iterations_of_a_map_inside_a_map_are_counted_over_all_of_them() -> None:
    inner = {"Type": "Map", "ItemProcessor": {"StartAt": "Cell", "States": {"Cell": task()}}, "End": True}
    outer = {"Type": "Map", "ItemProcessor": {"StartAt": "Row", "States": {"Row": inner}}, "End": True}
    machine = compiled({"StartAt": "a/b", "States": {"a/b": outer}})
    statuses = {
        "a%2Fb": "running",
        "a%2Fb/0/Row": "succeeded",
        "a%2Fb/1/Row": "running",
        "a%2Fb/1/Row/2/Cell": "failed",
    }
    shares = {"a%2Fb": Share(size=2, done=1), "a%2Fb/0/Row": Share(size=3, done=3), "a%2Fb/1/Row": Share(size=4)}
    text = draw_text(machine, statuses, shares)
    assert line_of(text, "a/b") == "a/b  (Map)  ▶ running, 1 of 2 done"
    assert line_of(text, "Row") == "Row  (Map)  ▶ 1 running, 1 succeeded of 2"
    assert line_of(text, "Cell") == "Cell  (Task)  ✘ 1 failed of 7"


@rows("number", [1, 999, 1_000, 9_949, 9_950, 99_999, 999_999, 40_000_000])
def test_counts_never_grow_out_of_their_box(number: int) -> None:
    statuses = {f"Each/{at}/Pick": status for at, status in enumerate(["failed", "running", "cancelled", "succeeded"])}
    graph = scene_of(EVERYTHING)
    standing = Standing(graph, statuses | {"Each": "succeeded"}, {"Each": Share(size=number, done=number)})
    standing._counts["Each/0/Pick"] = Counter(dict.fromkeys(("failed", "running", "cancelled", "succeeded"), number))
    outer = next(box for box in lay_out(graph).boxes if box.node.path == "Each")
    for box in (outer, outer.panels[0].boxes[0]):
        note = f"{kind_text(box.node)} · {standing.signs(box.node.path)}"
        assert width_of(note, NOTE_SIZE) <= box.rect.width
