"""Logs of a plain Redis that a power loss tore in the middle of a transaction, and that were not repaired.

Redis 8.2.3 drops such a transaction when it loads the log, but leaves its beginning in the file and writes on behind
it. At the next start that beginning is applied: the documents of a run, say, without its timers and notifications.
"""

import os
import random
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Created
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.creation import Create
from dcf.errors import DcfError
from dcf.runs.clock.lost_timers import set_timer
from dcf.runs.clock.sweep import Sweep
from dcf.store.lists.checks import Listings
from lab.case_rules import a_run_goes_on_after_a_torn_log
from lab.evidence import read_left, read_meta
from lab.extras import Errands
from lab.process import Dcf, Place, opened, patiently
from lab.redis_servers import LabRedis
from lab.server_time import SharedTime
from lab.verbs import OwnVerbs

_RUN: Final = "torn"
_AGENT: Final = "ann"
_WRITES: Final = (b"JSON.SET", b"JSON.MSET", b"SET", b"MSET")
"""Commands that write documents of states, in all forms."""
_CHAIN: Final = {
    "workflow_name": "lab-torn",
    "asl": {
        "StartAt": "A",
        "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}},
    },
}
_ROUNDS: Final = 120
_PAUSE_S: Final = 0.05
_STEPPED: Final = {40: 3600, 80: 86_400}
"""Rounds at which the time steps forward by these seconds, so that rare looks happen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TornLog:
    """The outcome of a run whose log was torn: `torn` are its commands, `kept` those of them that stay."""

    torn: str
    kept: int
    status: str | None
    left: tuple[str, ...] = ()


class TornLogs(Errands[TornLog]):
    """A run on a Redis of its own, whose log is torn in the transaction that makes a Task ready."""

    at_once = 2
    rules = (a_run_goes_on_after_a_torn_log,)

    def errand(self, seed: int) -> TornLog | None:
        """Begin a run, tear its log, start Redis twice, and let the clock and a worker continue."""
        luck, home = random.Random(f"torn {seed}"), self.kind.home / f"torn-{seed}"
        torn = luck.choice(("start", "completion"))
        with LabRedis(home, "--appendonly", "yes", "--appendfsync", "always") as server:
            place = Place(url=f"redis://127.0.0.1:{server.port}", time_file=home / "time")
            with opened(place) as dcf:
                _begin(dcf, torn)
            server.kill()
            stored = tear(server.log(), luck)
            if stored is None:
                return None
            server.start()
            with opened(place) as dcf:
                _create(dcf, f"other-{uuid.uuid4().hex}")  # so that the log continues
            server.kill()
            server.start()
            with opened(place) as dcf:
                _go_on(dcf, SharedTime(place.time_file))
            client = server.client()
            return TornLog(
                torn=torn, kept=stored, status=read_meta(client, _RUN).get("status"), left=read_left(client, _RUN)
            )


def _create(dcf: Dcf, run: str) -> None:
    wish = Create(
        workflow_id=run,
        definition=read_definition(_CHAIN),
        run_input={},
        agents=dict.fromkeys("AB", (_AGENT,)),
        planner_agent_id=None,
        retention_s=3600,
        max_attempts=10,
    )
    created = patiently(lambda: dcf.plane.create(wish))
    assert isinstance(created, Created), created


def _begin(dcf: Dcf, torn: str) -> None:
    _create(dcf, _RUN)
    patiently(lambda: dcf.plane.kick_off(_RUN, "start"))
    if torn == "completion":
        _work(dcf)


def _work(dcf: Dcf, *, state: str = "") -> None:
    """Take a state of the run, any or the one in the agent's notification, and complete it."""
    verbs, token = OwnVerbs(dcf.plane, dcf.notifications), uuid.uuid4().hex
    heard = verbs.acquire(_RUN, state, _AGENT, token, 60)
    if heard.is_ok:
        verbs.complete(_RUN, heard.state, token, {"output": {}}, None)


def _go_on(dcf: Dcf, shared: SharedTime) -> None:
    """Look at the run as a clock and its sweep, and work as its agent, until it has ended or much time has passed."""
    sweep = Sweep(Listings(dcf.connections, prefixes=()), rearm=partial(set_timer, dcf.plane))
    for number in range(_ROUNDS):
        shared.step(_STEPPED.get(number, 0))
        with suppress(DcfError):  # the next round repeats what failed
            dcf.clock.pulse()
            sweep.step()
            _work(dcf)
            for message in dcf.inbox.waiting(_AGENT, 10):
                if isinstance(message.event, dict) and message.event.get("workflow_id") == _RUN:
                    _work(dcf, state=str(message.event.get("target_state")))
            meta = dcf.plane.read(_RUN, ()).meta
            if meta is not None and meta.status is not RunStatus.RUNNING:
                return
        time.sleep(_PAUSE_S)


def tear(log: Path, luck: random.Random) -> int | None:
    """Cut the log in the last transaction that wrote documents of the run; return how many of its commands stay whole.

    The cut is behind the documents and before the end; None if there is nothing between.
    """
    commands = list(_commands(log.read_bytes()))
    ends = [at for at, (name, *_) in enumerate(commands) if name == b"EXEC" and at]
    for end in reversed(ends):
        begin = max(at for at in range(end) if commands[at][0] == b"MULTI")
        whole = commands[begin + 1 : end]
        writes = [at for at, (name, _, text) in enumerate(whole) if name in _WRITES and _is_state(text)]
        if writes and writes[-1] + 1 < len(whole):
            number = luck.randint(writes[-1] + 1, len(whole) - 1)
            os.truncate(log, whole[number][1] + 3)
            return number
    return None


def _is_state(text: bytes) -> bool:
    return f"cp:wf:{_RUN}:state:".encode() in text


def _commands(log: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield each command of a log: its name, where it begins, and its text."""
    at = 0
    while at < len(log):
        begin, (count, at) = at, _number(log, at)
        words = list[bytes]()
        for _ in range(count):
            length, at = _number(log, at)
            words.append(log[at : at + length])
            at += length + 2
        yield words[0].upper(), begin, log[begin:at]


def _number(log: bytes, at: int) -> tuple[int, int]:
    """Read a line of a mark and a number; return the number, and where the line ends."""
    end = log.index(b"\r\n", at)
    return int(log[at + 1 : end]), end + 2
