"""Expressions that want all memory, or never end: each must fail its own state, and nothing else."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from dcf.errors import DcfError
from dcf.store.keys.table import RunKeys
from lab.case_rules import a_bomb_ends_its_state_alone
from lab.deployments import Deployment
from lab.evidence import read_meta
from lab.extras import Bench, Errands

_ENDED_S: Final = 20.0

Draw: TypeAlias = Callable[[random.Random], str]


def _product(luck: random.Random) -> str:
    size = luck.choice((2_000, 3_000))
    return f"$count([1..{size}].[1..{size}])"


def _cube(luck: random.Random) -> str:
    size = luck.choice((1_000, 9_000))
    return f"$count([1..{size}].[1..{size}].[1..{size}])"


def _sum(luck: random.Random) -> str:
    return f"$sum([1..{luck.choice((999_999, 9_999_999))}])"


def _doubled(luck: random.Random) -> str:
    times = luck.randint(24, 34)
    return f'($f := function($s, $n) {{ $n = 0 ? $s : $f($s & $s, $n - 1) }}; $length($f("aaaaaaaa", {times})))'


def _padded(luck: random.Random) -> str:
    return f'$length($pad("x", {luck.choice((10**7, 10**8, 10**9))}))'


def _backtracking(luck: random.Random) -> str:
    return f'$contains("{"a" * luck.randint(28, 60)}!", /^(a+)+$/)'


def _endless(luck: random.Random) -> str:
    return f"($f := function($n) {{ $f($n + {luck.randint(1, 9)}) }}; $f(0))"


def _nested(luck: random.Random) -> str:
    depth = luck.choice((200, 2_000, 20_000))
    return "[" * depth + "1" + "]" * depth


def _joined(luck: random.Random) -> str:
    return f'$length($join([1..{luck.choice((10**6, 9 * 10**6))}].("{"a" * 100}")))'


_DRAWN: Final[tuple[Draw, ...]] = (_product, _cube, _sum, _doubled, _padded, _backtracking, _endless, _nested, _joined)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bomb:
    """The end of an expression's run, how many servers died meanwhile, and the growth of the largest in bytes."""

    expression: str
    code: str
    status: str | None
    error: str | None
    died: int
    grew: int


class Bombs(Errands[Bomb]):
    """Runs of one state each, whose Output is a bomb. Of what a server dies is a guess among a few."""

    at_once = 4
    rules = (a_bomb_ends_its_state_alone,)

    def __init__(self, bench: Bench, deployment: Deployment) -> None:
        self._deployment = deployment
        self._reviving = threading.Lock()
        self._died = 0
        super().__init__(bench)

    def errand(self, seed: int) -> Bomb:
        """Start a run with a bomb: behind a Wait, so that a clock meets it, or at once, so that a caller does."""
        run, luck = f"lab-bomb-{seed}", random.Random(f"bomb {seed}")
        expression = _DRAWN[seed % len(_DRAWN)](luck)
        client = self._deployment.client()
        died, before = self._revive(), self._deployment.peak()
        with self._deployment.calls() as calls:
            wish = {"workflow_json": _machine(expression, waits=luck.random() < 0.5), "workflow_id": run}
            try:
                answer = calls.once("start_run", **wish)
                code = "nobody answered" if answer is None else str(answer["code"])
            except DcfError as failure:
                code = failure.code
            if code != "invalid_workflow":
                self.eventually(lambda: read_meta(client, run).get("status") in {"failed", "succeeded"}, _ENDED_S)
        grew = self._deployment.peak() - before
        meta, died = read_meta(client, run), self._revive() - died
        if meta.get("status") == "running":  # so that it does not strike the next one
            client.delete(*client.keys(RunKeys(run).of("*")))
        status, error = meta.get("status"), meta.get("error")
        return Bomb(expression=expression, code=code, status=status, error=error, died=died, grew=grew)

    def _revive(self) -> int:
        """Start servers again that have died; return how many ever did."""
        with self._reviving:
            self._died += self._deployment.revive()
            return self._died


def _machine(expression: str, *, waits: bool) -> dict[str, Any]:
    bomb = {"Type": "Pass", "Output": f"{{% {expression} %}}", "End": True}
    before = {"W": {"Type": "Wait", "Seconds": 1, "Next": "P"}}
    states: dict[str, Any] = {**(before if waits else {}), "P": bomb}
    return {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states}
