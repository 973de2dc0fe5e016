"""Errands in addition to the drawn runs: a kind tries each once for each seed, while its faults strike.

A kind that needs more than the drawn runs derives from `Errands`. An errand brings back its evidence, and rules of
`lab/case_rules.py` judge it. Errands call tools over HTTP, as users do, and repeat a call until its answer is known.
"""

import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from dcf.core.access.model import Scope
from dcf.errors import PASSING, DcfError
from dcf.store.access.api_keys import AccessKeys
from lab.http_verbs import HttpVerbs, connected
from lab.process import Dcf, patiently

if TYPE_CHECKING:
    from lab.kind import Kind

Evidence = TypeVar("Evidence")

_PATIENCE_S: Final = 90.0
"""Seconds in which no errand ends, after which what is still open counts as standing still."""

_SCOPES: Final = (Scope.READ, Scope.WORK, Scope.PLAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The means that errands work with. `ended` is set when their batch ends, well or not."""

    dcf: Dcf
    kind: "Kind"
    seeds: Sequence[int]
    ended: threading.Event


class Errands(ABC, Generic[Evidence]):
    """The errands of a batch: one for each seed, a few at the same time."""

    at_once = 4
    rules: Sequence[Callable[[Any], Iterator[str]]] = ()

    def __init__(self, bench: Bench) -> None:
        self.dcf = bench.dcf
        self.kind = bench.kind
        self.over = threading.Event()
        self._ended = bench.ended
        self._threads = ThreadPoolExecutor(self.at_once)
        self._begun = {seed: self._threads.submit(self._unless_ended, seed) for seed in bench.seeds}
        self._noted: list[Evidence] = []

    @abstractmethod
    def errand(self, seed: int) -> Evidence | None:
        """Do the errand of a seed; None if the faults left nothing to judge."""

    def eventually(self, holds: Callable[[], bool], seconds: float, every_s: float = 0.03) -> bool:
        """Look until something holds; whether it did in time, and before the batch ended."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if holds():
                    return True
            except DcfError as error:
                if error.code not in PASSING:
                    raise
            if self._ended.wait(every_s):
                break
        return False

    def _unless_ended(self, seed: int) -> Evidence | None:
        return None if self._ended.is_set() else self.errand(seed)

    def note(self, evidence: Evidence) -> None:
        """Keep what a strike saw, to be judged like what an errand brings back."""
        self._noted.append(evidence)

    @property
    def done(self) -> int:
        """How many errands have ended and brought evidence."""
        return len(self._noted) + sum(1 for errand in self._begun.values() if _has_evidence(errand))

    def wait(self, seconds: float) -> None:
        """Wait until all have ended, but no longer than this."""
        wait(self._begun.values(), max(0.0, seconds))

    def judge(self) -> list[str]:
        """Let them end now that everything is well; return the rules that were broken, each with its seed."""
        self.over.set()
        self._wait_while_some_end()
        self._threads.shutdown(wait=False, cancel_futures=True)
        broken = [f"seed {seed}: {sentence}" for seed, item in self._begun.items() for sentence in self._judged(item)]
        return [*broken, *(sentence for ordered_dict in self._noted for sentence in self._broken(ordered_dict))]

    def _wait_while_some_end(self) -> None:
        before = -1
        while (ended := sum(item.done() for item in self._begun.values())) not in {before, len(self._begun)}:
            before = ended
            self.wait(_PATIENCE_S)

    def _broken(self, evidence: Evidence) -> Iterator[str]:
        for rule in self.rules:
            yield from (f"{rule.__name__}: {sentence}" for sentence in rule(evidence))

    def _judged(self, errand: Future[Evidence | None]) -> Iterator[str]:
        if not errand.done() or errand.cancelled():
            yield "the errand did not end"
        elif (error := errand.exception()) is not None:
            yield f"the errand failed: {''.join(traceback.format_exception(error))}"
        elif (result := errand.result()) is not None:
            yield from self._broken(result)

    @contextmanager
    def calls(self, **quotas: int) -> Iterator["Calls"]:
        """Yield calls to the servers with a new API key that has these quotas."""
        keys = AccessKeys(self.dcf.connections)
        made = patiently(lambda: keys.create(_SCOPES, agent_id=None, label=None, life_s=None, quotas=quotas or None))
        with connected(self.kind.workplace().server_urls, made.text) as there:
            yield Calls(there, made.text, made.record.key_id)


class NoErrands(Errands[Evidence]):
    """Of a kind whose strikes note all that is to be judged, or that tries the drawn runs alone."""

    at_once = 1

    def __init__(self, bench: Bench) -> None:
        super().__init__(replace(bench, seeds=()))

    def errand(self, seed: int) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of tools with one API key, each repeated at all servers until its answer is known."""

    there: HttpVerbs
    api_key: str
    key_id: str = ""

    def surely(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """Call a tool; raise when it was invalid, or no answer came in time."""
        return dict(patiently(lambda: self.there.call(tool, **arguments)))

    def once(self, tool: str, **arguments: Any) -> Mapping[str, Any] | None:
        """Call a tool; return None if its effect is unknown."""
        try:
            return self.there.call(tool, **arguments)
        except DcfError as error:
            if error.code in PASSING:
                return None
            raise


def _has_evidence(errand: Future[Any]) -> bool:
    return errand.done() and not errand.cancelled() and errand.exception() is None and errand.result() is not None
