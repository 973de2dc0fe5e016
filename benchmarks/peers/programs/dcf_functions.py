"""The functions that `dcf worker` serves: one for every Task of the shapes, each a step that does nothing."""

import json
import os
from collections.abc import Callable

from benchmarks.peers.programs.parts import Notes, Options
from benchmarks.peers.programs.shapes import TAIL, WIDTH
from dcf.worker import task

_LONGEST_CHAIN = 1000
_HAND_OVERS = 120
_MOST_DIAMONDS = 45
_NOTES = Notes(Options(**json.loads(os.environ["DCF_BENCH_OPTIONS"])))


def _step(node: int) -> Callable[[object], object]:
    def step(value: object) -> object:  # noqa: ARG001 - what dcf hands over
        _NOTES.carry_out(node)
        return {"way": 7}

    return step


def _score(item: object) -> object:
    _NOTES.carry_out(item if isinstance(item, int) else 0)
    return {"way": 7}


_hands_over = _NOTES.options.queues > 1
for _node in range(_HAND_OVERS if _hands_over else _LONGEST_CHAIN):
    task(f"S{_node:04d}")(_step(_node))
for _number in range(0 if _hands_over else _MOST_DIAMONDS):
    for _name in (f"D{_number:02d}", f"D{_number:02d}j", *(f"D{_number:02d}b{side:03d}" for side in range(WIDTH))):
        task(_name)(_step(0))
for _number in range(TAIL):
    task(f"T{_number:02d}")(_step(0))
task("Score")(_score)
