"""Answers, by their task tokens, the Tasks of the lab's runs that wait for a callback: from two processes at once.

Tokens are used early (while an agent still holds the state), twice, late and with another answer; heartbeats come in
between. The answer of each call is recorded, and a rule judges it.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.operations import RunAnswer
from dcf.errors import DcfError
from dcf.features.external.callback_operations import Callbacks
from dcf.runs.operating import Operated
from dcf.values.digest import fingerprint
from dcf.values.json_text import Json
from lab.expectation import answer_of
from lab.process import Dcf
from lab.recording import Recorder
from lab.verbs import Heard, Recorded
from lab.workflows import draw

_PAUSE_S = 0.1
_EARLY = 0.2
_LATE = 0.5
_KEPT = 200
_ODD: Json = {"n": 0, "tries": 9}
"""Stands for an input that is not an object: an operator skipped the state before, which left its own input."""


class CallingBack:
    """Answers the Tasks of the runs of some seeds, each call noted."""

    def __init__(self, dcf: Dcf, seeds: Mapping[str, int], recorder: Recorder, *, honest: bool) -> None:
        self._dcf = dcf
        self._honest = honest
        self._callbacks = Callbacks(dcf.plane)
        self._noted = Recorded(None, recorder, "callback")  # type: ignore[arg-type]  # it makes no worker's calls
        self._luck = random.Random(f"callbacks {min(seeds.values(), default=0)}")
        self._runs = [run for run, seed in seeds.items() if draw(seed).has_callbacks]
        self._used: deque[tuple[str, str, str]] = deque(maxlen=_KEPT)

    def work(self, over: threading.Event) -> None:
        """Answer until the batch ends."""
        pause_s = _PAUSE_S
        while self._runs and not over.wait(pause_s):
            began = time.monotonic()
            for run in self._runs:
                self.see_to(run)
            if self._used and not self._honest and self._luck.random() < _LATE:
                self.come_back(*self._luck.choice(self._used))
            pause_s = max(_PAUSE_S, time.monotonic() - began)

    def see_to(self, run: str) -> None:
        """Answer what waits in the run, or will."""
        try:
            result = self._dcf.plane.read(run)
        except DcfError:
            return  # it is not created yet, or its Redis is struck
        if result.meta is None or result.meta.status is not RunStatus.RUNNING:
            return
        for path, doc in result.states.items():
            is_early = doc.lease.token is not None and self._luck.random() < _EARLY
            if doc.visit is not None and (doc.waits_outside or is_early):
                self.answer(run, path, doc, result.inputs.get(path))

    def answer(self, run: str, path: str, doc: StateDoc, value: Json) -> None:
        """Answer as a worker would: fail or succeed, perhaps after a heartbeat."""
        try:
            token = self._callbacks.token_of(run, path, doc)
        except DcfError:
            return
        if token is None:
            return
        if self._luck.random() < _LATE:
            self._call("heartbeat", run, path, token, None, lambda: self._callbacks.heartbeat(token))
        kind, answer = answer_of(path.rpartition("/")[2], value if isinstance(value, dict) else _ODD)
        if kind == "error":
            heard = self._call(
                "callback", run, path, token, answer, lambda: self._callbacks.fail(token, answer, "drawn")
            )
        else:
            heard = self._call("callback", run, path, token, answer, lambda: self._callbacks.succeed(token, answer))
        if heard.is_ok:
            self._used.append((run, path, token))

    def come_back(self, run: str, path: str, token: str) -> None:
        """Use a token that was used before, with another answer: nothing of it may be stored."""
        self._call("callback", run, path, token, "late", lambda: self._callbacks.succeed(token, "late"))

    def _call(self, op: str, run: str, path: str, token: str, answer: Json, call: Callable[[], Operated]) -> Heard:
        note = {"state": path, "content": {"token": fingerprint(token), "answer": answer}}

        def made() -> Heard:
            result = call()
            if not isinstance(result, RunAnswer):
                return Heard(code=result.code)
            return Heard(code="ok", state=path, repeated=result.repeated)

        return self._noted.noted(op, run, note, made)


def begin(
    dcf: Dcf, seeds: Mapping[str, int], recorder: Recorder, over: threading.Event | None = None, *, honest: bool = True
) -> None:
    """Answer on a thread until the batch ends. An honest caller gives a token one answer, which may be lost."""
    work = CallingBack(dcf, seeds, recorder, honest=honest).work
    threading.Thread(target=work, args=(over or threading.Event(),), daemon=True).start()
