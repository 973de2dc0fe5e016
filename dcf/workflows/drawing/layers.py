"""Places the nodes of one graph: in layers from top to bottom, with few crossings and no overlaps. Knows only sizes.

An arrow that passes layers, or has a label, gets a slot in each layer it passes, so that no line crosses a node and no
label a line. Arrows to the same node share slots.
"""

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.records import record

COLUMN_GAP: Final = 26.0
LAYER_GAP: Final = 34.0
BEND_WIDTH: Final = 6.0
_SWEEPS: Final = 8
_PASSES: Final = 30
_STRAIGHT: Final = 8.0
"""Weight of the pull between the pieces of one long line, compared with 1 between nodes."""

MAX_SLOTS: Final = 10_000
_EFFORT: Final = 30_000
"""Most slots moved in all rounds together: large pictures get fewer rounds."""

_OPEN, _DONE = 1, 2


@record(frozen=True, slots=True, kw_only=True)
class Wire:
    """An arrow as the layout sees it. `label` is the width and height of its label, if any."""

    source: int
    target: int
    label: tuple[float, float] | None
    dashed: bool


@dataclass(slots=True, kw_only=True)
class Slot:
    """A place in a layer: of node `node`, of the label of wire `wire`, or of a line that passes."""

    rank: int
    width: float
    height: float
    node: int | None = None
    wire: int | None = None
    x: float = 0.0
    top: float = 0.0


@record(frozen=True, slots=True, kw_only=True)
class Link:
    """A piece of a line between neighbouring layers. `up`: it leads upwards; `last`: it ends at a node."""

    upper: int
    lower: int
    dashed: bool
    up: bool
    last: bool


@dataclass(slots=True, kw_only=True)
class LayerPlan:
    """The result: slots (nodes first), links, each layer's slots from left to right, each layer's top and bottom."""

    slots: list[Slot]
    links: list[Link] = field(default_factory=list)
    layers: list[list[int]] = field(default_factory=list)
    bands: list[tuple[float, float]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def arrange(sizes: Sequence[tuple[float, float]], wires: Sequence[Wire]) -> LayerPlan:
    """Place all nodes. `wires` must not lead from a node to itself. Raise InvalidArgument beyond MAX_SLOTS."""
    back = _leading_back(len(sizes), wires)
    ranks = _ranks(len(sizes), wires, back)
    plan = LayerPlan(slots=[Slot(rank=ranks[at], width=w, height=h, node=at) for at, (w, h) in enumerate(sizes)])
    _thread(plan, wires, back)
    if len(plan.slots) > MAX_SLOTS:
        raise InvalidArgument("The workflow is too entangled to be drawn.", "Draw it as text.")
    _order(plan)
    _place_across(plan)
    _place_down(plan)
    return plan


def _leading_back(count: int, wires: Sequence[Wire]) -> set[int]:
    """Return the wires that close a cycle, found by depth-first search from the first node."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for index, wire in enumerate(wires):
        leaving[wire.source].append(index)
    back: set[int] = set()
    seen = [0] * count
    for root in range(count):
        stack = [] if seen[root] else [(root, iter(leaving[root]))]
        while stack:
            node, rest = stack[-1]
            seen[node] = _OPEN
            at = next(rest, None)
            if at is None:
                seen[node] = _DONE
                stack.pop()
            elif seen[wires[at].target] == _OPEN:
                back.add(at)
            elif not seen[wires[at].target]:
                stack.append((wires[at].target, iter(leaving[wires[at].target])))
    return back


def _ranks(count: int, wires: Sequence[Wire], back: set[int]) -> list[int]:
    """Return each node's layer: below all nodes that lead to it. A wire with a label needs a layer in between."""
    below: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    waiting = [0] * count
    for at, wire in enumerate(wires):
        upper, lower = (wire.target, wire.source) if at in back else (wire.source, wire.target)
        below[upper].append((lower, 1 if wire.label is None else 2))
        waiting[lower] += 1
    ranks = [0] * count
    ready = deque(at for at in range(count) if not waiting[at])
    while ready:
        node = ready.popleft()
        for lower, distance in below[node]:
            ranks[lower] = max(ranks[lower], ranks[node] + distance)
            waiting[lower] -= 1
            if not waiting[lower]:
                ready.append(lower)
    return ranks


def _thread(plan: LayerPlan, wires: Sequence[Wire], back: set[int]) -> None:
    """Add the slots and links of every wire in the layers between its ends."""
    shared: dict[tuple[int, int, bool], int] = {}
    links: dict[tuple[int, int, bool], Link] = {}
    for at, wire in enumerate(wires):
        up = at in back
        route = [wire.source]
        for rank in _between(plan.slots[wire.source].rank, plan.slots[wire.target].rank):
            if wire.label is not None and len(route) == 1:
                width, height = wire.label
                plan.slots.append(Slot(rank=rank, width=width, height=height, wire=at))
                route.append(len(plan.slots) - 1)
                continue
            key = (wire.target, rank, wire.dashed)
            if key not in shared:
                shared[key] = len(plan.slots)
                plan.slots.append(Slot(rank=rank, width=BEND_WIDTH, height=0.0))
            route.append(shared[key])
        route.append(wire.target)
        for here, there in pairwise(route):
            upper, lower = (there, here) if up else (here, there)
            last = there == wire.target
            links.setdefault(
                (upper, lower, wire.dashed), Link(upper=upper, lower=lower, dashed=wire.dashed, up=up, last=last)
            )
    plan.links = list(links.values())


def _between(first: int, last: int) -> range:
    return range(first + 1, last) if first < last else range(first - 1, last, -1)


def _order(plan: LayerPlan) -> None:
    """Order each layer for few crossings: sort by the neighbours' mean place, downwards and upwards; keep the best."""
    layers: list[list[int]] = [[] for _ in range(max(slot.rank for slot in plan.slots) + 1)]
    for at in _from_the_top(plan):
        layers[plan.slots[at].rank].append(at)
    above, below = _neighbours(plan)
    best, fewest = [list(layer) for layer in layers], _crossings(layers, below)
    for sweep in range(min(_SWEEPS, _EFFORT // len(plan.slots))):
        if not fewest:
            break
        down = sweep % 2 == 0
        for layer in layers[1:] if down else layers[-2::-1]:
            _sort_by_neighbours(layer, layers, above if down else below, plan)
        crossings = _crossings(layers, below)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    plan.layers = best


def _from_the_top(plan: LayerPlan) -> Iterator[int]:
    """Yield the slots depth first, so that connected ones stay together."""
    _, below = _neighbours(plan)
    seen: set[int] = set()
    for root in sorted(range(len(plan.slots)), key=lambda at: plan.slots[at].rank):
        stack = [root]
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                yield at
                stack += reversed(below[at])


def _neighbours(plan: LayerPlan) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in plan.slots]
    below: list[list[int]] = [[] for _ in plan.slots]
    for link in plan.links:
        above[link.lower].append(link.upper)
        below[link.upper].append(link.lower)
    return above, below


def _sort_by_neighbours(layer: list[int], layers: list[list[int]], near: list[list[int]], plan: LayerPlan) -> None:
    place = {at: index for other in (layers[_rank_near(layer, near, plan)],) for index, at in enumerate(other)}
    own = {at: index for index, at in enumerate(layer)}
    mean = {
        at: sum(place[neighbour] for neighbour in near[at]) / len(near[at]) if near[at] else float(own[at])
        for at in layer
    }
    layer.sort(key=lambda at: (mean[at], own[at]))


def _rank_near(layer: list[int], near: list[list[int]], plan: LayerPlan) -> int:
    return next((plan.slots[near[at][0]].rank for at in layer if near[at]), plan.slots[layer[0]].rank)


def _crossings(layers: list[list[int]], below: list[list[int]]) -> int:
    """Return the number of pairs of links that cross."""
    total = 0
    for layer, under in pairwise(layers):
        place = {at: index for index, at in enumerate(under)}
        seen: list[int] = []
        for at in layer:
            targets = sorted(place[target] for target in below[at])
            total += sum(len(seen) - bisect_left(seen, target + 1) for target in targets)
            for target in targets:
                insort(seen, target)
    return total


def _place_across(plan: LayerPlan) -> None:
    """Move each slot towards the mean place of its neighbours, as far as the adjacent slots allow."""
    above, below = _neighbours(plan)
    for layer in plan.layers:
        _settle(plan, layer, [0.0] * len(layer))
    passes = min(_PASSES, 2 + _EFFORT // len(plan.slots))
    for turn in range(passes):
        for layer in plan.layers if turn % 2 == 0 else reversed(plan.layers):
            near = above if turn % 2 == 0 else below
            if turn >= passes - 2:
                near = [first + second for first, second in zip(above, below, strict=True)]
            positions = [_pulled(plan, at, near[at]) for at in layer]
            _settle(plan, layer, positions)
    _straighten(plan, above, below)
    left = min(slot.x - slot.width / 2 for slot in plan.slots)
    for slot in plan.slots:
        slot.x -= left
    plan.width = max(slot.x + slot.width / 2 for slot in plan.slots)


def _straighten(plan: LayerPlan, above: list[list[int]], below: list[list[int]]) -> None:
    """Make long lines vertical where there is room."""
    neighbours = {
        at: (before, after)
        for layer in plan.layers
        for before, at, after in zip([None, *layer], layer, [*layer[1:], None], strict=False)
    }
    for top, slot in enumerate(plan.slots):
        if slot.node is not None or _sole(plan, above[top]) is not None:
            continue
        run: list[int] = []
        least, most = -math.inf, math.inf
        at: int | None = top
        while at is not None:
            low, high = _room(plan, at, *neighbours[at])
            if max(low, least) > min(high, most):
                _align(plan, run, least, most)
                run, least, most = [], -math.inf, math.inf
            run.append(at)
            least, most = max(low, least), min(high, most)
            at = _sole(plan, below[at])
        _align(plan, run, least, most)


def _sole(plan: LayerPlan, near: list[int]) -> int | None:
    """Return the only neighbour on a side if it is a piece of a line too; otherwise None."""
    return near[0] if len(near) == 1 and plan.slots[near[0]].node is None else None


def _room(plan: LayerPlan, at: int, before: int | None, after: int | None) -> tuple[float, float]:
    """Return the lowest and highest x that a slot may be moved to."""
    slot, low, high = plan.slots[at], -math.inf, math.inf
    if before is not None:
        low = plan.slots[before].x + (plan.slots[before].width + slot.width) / 2 + COLUMN_GAP
    if after is not None:
        high = plan.slots[after].x - (plan.slots[after].width + slot.width) / 2 - COLUMN_GAP
    return min(low, slot.x), max(high, slot.x)


def _align(plan: LayerPlan, run: list[int], least: float, most: float) -> None:
    centre = sum(plan.slots[at].x for at in run) / len(run)
    for at in run:
        plan.slots[at].x = min(max(centre, least), most)


def _pulled(plan: LayerPlan, at: int, near: list[int]) -> float:
    """Return the x that a slot's neighbours pull it to."""
    slot = plan.slots[at]
    total, mass = (slot.x, 1.0) if not near else (0.0, 0.0)
    for other in (plan.slots[slot] for slot in near):
        weight = _STRAIGHT if slot.node is None and other.node is None else 1.0
        total, mass = total + weight * other.x, mass + weight
    return total / mass


def _settle(plan: LayerPlan, layer: list[int], targets: list[float]) -> None:
    """Place a layer as near to the wanted places as its order and the gaps allow (pool adjacent violators)."""
    slots = [plan.slots[at] for at in layer]
    offset, offsets = 0.0, []
    for before, slot in zip([None, *slots], slots, strict=False):
        offset += 0.0 if before is None else (before.width + slot.width) / 2 + COLUMN_GAP
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []
    for target, shift, slot in zip(targets, offsets, slots, strict=True):
        weight = 1.0 if slot.node is not None else _STRAIGHT / 2
        total, mass, count = (target - shift) * weight, weight, 1
        while pools and pools[-1][0] / pools[-1][1] > total / mass:
            other = pools.pop()
            total, mass, count = total + other[0], mass + other[1], count + other[2]
        pools.append((total, mass, count))
    places = [total / mass for total, mass, count in pools for _ in range(count)]
    for slot, place, shift in zip(slots, places, offsets, strict=True):
        slot.x = place + shift


def _place_down(plan: LayerPlan) -> None:
    top = 0.0
    for layer in plan.layers:
        height = max(plan.slots[at].height for at in layer)
        plan.bands.append((top, top + height))
        for at in layer:
            plan.slots[at].top = top + (height - plan.slots[at].height) / 2
        top += height + LAYER_GAP
    plan.height = top - LAYER_GAP
