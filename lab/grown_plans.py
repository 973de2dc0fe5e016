"""The plan of a run that grows, drawn from a seed: additions and their times, seals, rewinds, and the end.

The wrong additions that the planner tries are drawn here too. No other module uses their units.
"""

import random
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from lab.crews import AGENTS
from lab.expectation import GATED

Unit: TypeAlias = dict[str, Any]
Op: TypeAlias = Literal["grow", "misgrow", "seal", "race", "rewind", "pause", "block"]
End: TypeAlias = Literal["seal", "close", "force"]

STRAY: Final = "Stray"
"""First word of the names of units that are added with others that are wrong, so that none of them may be there."""

SHAPE: Final = "shape"
REVIEW: Final = "review"
"""The gates of units: a schema, and another agent."""

CRITERION: Final = "It is right."
MOST_REWORKS: Final = 3
_SCHEMA: Final = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
_GATES: Final = [
    {"name": SHAPE, "kind": "schema", "schema": _SCHEMA, "max_attempts": MOST_REWORKS},
    {"name": REVIEW, "kind": "review", "criteria": [CRITERION], "max_attempts": MOST_REWORKS, "timeout_s": 30},
]
_SUFFIX: Final = "-grown"
_EVERY: Final = 8
_REMAINDER: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that the planner does: with these units, or with the unit or group of this name."""

    op: Op
    units: tuple[Unit, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps of one run, how it ends, and the input of each unit that may be worked on."""

    steps: tuple[Step, ...]
    end: End
    inputs: dict[str, list[Any]] = field(default_factory=dict)


def grown_run(run: str, seed: int) -> str | None:
    """Return the id of the run that grows next to the drawn run of a seed; None if the seed has no such run."""
    return f"{run}{_SUFFIX}" if seed % _EVERY == _REMAINDER else None


def draw_plan(seed: int, *, lossy: bool = False) -> Plan:
    """Return the plan of a seed. `lossy`: acknowledged units may be lost, so no name counts as taken."""
    return _Drawer(seed, lossy=lossy).plan()


class _Drawer:
    """Draws the steps of one run."""

    def __init__(self, seed: int, *, lossy: bool) -> None:
        self._luck = random.Random(f"grown {seed}")
        self._seed = seed
        self._lossy = lossy
        self._count = 0
        self._steps: list[Step] = []
        self._units: list[str] = []
        self._groups: list[str] = []

    def plan(self) -> Plan:
        luck = self._luck
        for _ in range(luck.choice((2, 3, 3))):
            self._steps.append(Step(op="grow", units=tuple(self._batch())))
            self._steps += [self._wrong()] if luck.random() < 0.6 else []
            self._steps += [Step(op="rewind", name=luck.choice(self._units))] if luck.random() < 0.5 else []
            self._steps += [Step(op=luck.choice(("pause", "block")))] if luck.random() < 0.4 else []
        for group in luck.sample(self._groups, len(self._groups)):
            late = self._unit(group, ())
            is_race = luck.random() < 0.6
            self._steps.append(Step(op="race" if is_race else "seal", name=group, units=(late,) if is_race else ()))
        end: End = luck.choice(("seal", "close", "close", "force"))
        inputs = {unit["name"]: [unit["input"]] for step in self._steps for unit in step.units if "input" in unit}
        return Plan(steps=tuple(self._steps), end=end, inputs=inputs)

    def _batch(self) -> list[Unit]:
        """Return units that are added with one call: some in a new group, some below another."""
        luck, known = self._luck, [*self._units, *self._groups]
        batch: list[Unit] = []
        group = None
        if luck.random() < 0.7:
            group = self._name("Group")
            waits = luck.sample(known, min(len(known), luck.choice((0, 0, 1))))
            batch.append({"name": group, "kind": "group", "depends_on": waits})
        for _ in range(luck.choice((1, 2, 3))):
            waits = luck.sample(known, min(len(known), luck.choice((0, 1, 1, 2))))
            unit = self._unit(group if luck.random() < 0.7 else None, waits)
            batch.append(unit)
            known.append(unit["name"])
            if luck.random() < 0.2:
                batch.append(self._unit(None, waits) | {"parent": unit["name"]})
        self._units += [item["name"] for item in batch if "kind" not in item]
        self._groups += [] if group is None else [group]
        return batch

    def _unit(self, group: str | None, waits: Any) -> Unit:
        luck = self._luck
        (word,) = luck.choices(("Work", "Bad", GATED), (5, 2, 3))
        name = self._name(word)
        agents = luck.sample(AGENTS, luck.randint(0, len(AGENTS)))
        unit: Unit = {"name": name, "input": {"n": self._seed % 1000 + self._count}, "depends_on": list(waits)}
        unit |= {"gates": _GATES} if word == GATED else {}
        return unit | ({"agents": agents} if agents else {}) | ({} if group is None else {"group": group})

    def _wrong(self) -> Step:
        """Return units of which one is wrong, so that none may be added."""
        stray, other = self._name(STRAY), self._name(STRAY)
        taken = {"name": self._luck.choice(self._units), "title": "another"}
        wrongs: list[tuple[Unit, ...]] = [
            ({"name": stray}, {"name": other, "depends_on": ["Nowhere"]}),
            ({"name": stray, "depends_on": [other]}, {"name": other, "depends_on": [stray]}),
            ({"name": stray}, {"name": stray, "title": "another"}),
            ({"name": stray}, {"name": other, "group": self._units[0]}),
        ]
        wrongs += [] if self._lossy else [({"name": stray}, taken)]
        return Step(op="misgrow", units=self._luck.choice(wrongs))

    def _name(self, word: str) -> str:
        self._count += 1
        return f"{word}_{self._count}"
