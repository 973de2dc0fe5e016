"""Sends the signals that states of the lab's runs wait for, or will: from two processes, with the same requests.

A signal for a waiting state has one request for each visit: both processes send it, and it counts once. Early signals
are sent before any state waits.
"""

import random
import threading
import time
from collections.abc import Mapping

from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.errors import DcfError
from lab.expectation import payload_of
from lab.process import Dcf
from lab.recording import Recorder
from lab.verbs import Heard, Recorded
from lab.workflows import draw

_EARLY = 0.5
_PAUSE_S = 0.1


class Signaller:
    """Sends signals into the runs of some seeds, each call noted."""

    def __init__(self, dcf: Dcf, seeds: Mapping[str, int], recorder: Recorder) -> None:
        self._dcf = dcf
        self._noted = Recorded(None, recorder, "signaller")  # type: ignore[arg-type]  # it makes no worker's calls
        self._luck = random.Random(f"signals {min(seeds.values(), default=0)}")
        self._left = {run: names for run, seed in seeds.items() if (names := _awaited(seed))}

    def work(self, over: threading.Event) -> None:
        """Send signals until the batch ends."""
        pause_s = _PAUSE_S
        while self._left and not over.wait(pause_s):
            began = time.monotonic()
            for run in self._left:
                self.see_to(run)
            pause_s = max(_PAUSE_S, time.monotonic() - began)

    def see_to(self, run: str) -> None:
        """Send what the run waits for, and now and then what it will wait for."""
        try:
            result = self._dcf.plane.read(run)
        except DcfError:
            return  # it is not created yet, or its Redis is struck
        if result.meta is None or result.meta.status is not RunStatus.RUNNING:
            return  # a power loss may take its end back
        early = self._left[run]
        if early and self._luck.random() < _EARLY:
            name = early.pop()
            self.send(run, name, f"{name} early")
        for path, doc in result.states.items():
            if doc.waits_outside and doc.kind == "Signal":
                self.send(run, path.rpartition("/")[2], f"{path}@{doc.lease.epoch}")

    def send(self, run: str, name: str, request_id: str) -> None:
        """Send one signal. A signal without an answer is sent again with the next look."""
        note = {"state": name, "content": {"request": request_id}}

        def call() -> Heard:
            answer = self._dcf.signals.send(run, name, payload_of(name), request_id=request_id)
            if not isinstance(answer, RunAnswer):
                return Heard(code=answer.code)
            return Heard(code="ok", state=name, epoch=answer.answer["number"], repeated=answer.repeated)

        self._noted.noted("signal", run, note, call)


def begin(dcf: Dcf, seeds: Mapping[str, int], recorder: Recorder) -> threading.Event:
    """Send signals on a thread; return what ends that."""
    over = threading.Event()
    threading.Thread(target=Signaller(dcf, seeds, recorder).work, args=(over,), daemon=True).start()
    return over


def _awaited(seed: int) -> list[str]:
    """Return the names of the signals that the states of a run wait for."""
    return [name for name in draw(seed).expected.outside if name.startswith("Signal")]
