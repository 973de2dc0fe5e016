"""Workflows drawn from a seed, each with its input and what must come of it.

The expectation is computed here, with the drawing, and not by dcf; `tests/lab` compares it with dcf's.
"""

import random
from dataclasses import dataclass
from typing import Any

from lab.expectation import Breaks, Expected, Value
from lab.pieces import Drawer


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow document, its input and the expectation, and the workflows of the child runs that it starts."""

    seed: int
    definition: dict[str, Any]
    run_input: Value
    expected: Expected
    children: tuple[dict[str, Any], ...] = ()

    @property
    def has_callbacks(self) -> bool:
        """True if any of its states waits for a callback."""
        return ".waitForTaskToken" in str(self.definition)


def draw(seed: int) -> Workflow:
    """Return the workflow of a seed."""
    drawer = Drawer(luck=random.Random(f"workflow {seed}"), seed=seed)
    piece = drawer.chain(0, drawer.luck.choice((1, 2, 2, 3)))
    states = dict(piece.states)
    play = piece.play
    if drawer.luck.random() < 0.12:
        play = drawer.doomed(states, piece)
    else:
        states[piece.last] = states[piece.last] | {"End": True}
    expected = Expected()
    run_input = {"n": seed % 1000}
    try:
        expected.output = play(expected, "", run_input)
    except Breaks as broken:
        expected.status, expected.error = "failed", broken.error
    return Workflow(
        seed=seed,
        definition={"workflow_name": f"lab-{seed}", "asl": {"StartAt": piece.first, "States": states}},
        run_input=run_input,
        expected=expected,
        children=tuple(drawer.children),
    )
