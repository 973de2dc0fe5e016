"""A worker process of the lab: one agent that receives or claims states, and works on them by its habits.

It may be frozen or killed at any moment. Its file of calls records its work.
"""

import asyncio
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ClassVar

from dcf.errors import DcfError
from dcf.store.connection.waiting_clients import WaitingClients
from dcf.store.events.inbox import Inbox
from dcf.store.events.inbox_waits import InboxReader
from lab.expectation import CHECKED, FIX, GATED, NEVER, answer_of
from lab.habits import Habit, habit_of
from lab.http_verbs import HttpVerbs, connected
from lab.process import Place, opened
from lab.recording import HELD_UP, Recorder
from lab.server_time import FACTOR
from lab.verbs import Content, Heard, OwnVerbs, Recorded

THREADS = 3
_MOST_STALE = 200
_GATHERED = 3
_GIVING_BACK = 0.7
_FROM_ENDED = 0.1
_LOOKS = 12
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """Input of a worker process: its name, the runs by id with their seeds, and those of them it claims from.

    An honest worker never writes two different results with one lease: where Redis loses writes, the second may count.
    """

    agent: str
    place: Place
    calls: Path
    seeds: Mapping[str, int]
    claimed: tuple[str, ...]
    number: int
    honest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A lease that this process has, or had. `over`: it is known that the lease ended.

    `brought`: it came with a completion; the state is then completed in the same way.
    """

    run: str
    state: str
    token: str
    content: Content | None
    over: bool = False
    brought: bool = False


def main(duty: Duty) -> None:
    """Work until killed."""
    recorder = Recorder(duty.calls, duty.agent)
    if duty.place.server_urls:
        with connected(duty.place.server_urls, duty.place.api_keys.get(duty.agent)) as there:
            worker = Worker(duty=duty, verbs=Recorded(there, recorder, duty.agent))
            worker.begin()
            worker.listen_over_http(there)
    with opened(duty.place) as dcf:
        verbs = Recorded(OwnVerbs(dcf.plane, dcf.notifications), recorder, duty.agent)
        worker = Worker(duty=duty, verbs=verbs, inbox=dcf.inbox)
        worker.begin()
        asyncio.run(worker.listen(InboxReader(dcf.inbox, WaitingClients(dcf.connections, duty.place.url).news)))


@dataclass(kw_only=True)
class Worker:
    """One agent.

    `told` are events of its inbox, `stale` the leases that it may come back with too late, `over` the runs that have
    ended as it heard.
    """

    duty: Duty
    verbs: Recorded
    inbox: Inbox | None = None
    told: SimpleQueue[tuple[str, Any]] = field(default_factory=SimpleQueue)
    stale: deque[Held] = field(default_factory=lambda: deque(maxlen=_MOST_STALE))
    over: set[str] = field(default_factory=set)
    claimed_ttl_s: ClassVar[int] = 5

    def __post_init__(self) -> None:
        self.luck = random.Random(f"{self.duty.agent} {self.duty.number}")
        self.twins = ThreadPoolExecutor(THREADS)

    def begin(self) -> None:
        """Start the threads that work."""
        for number in range(THREADS):
            threading.Thread(target=self.work, args=(number,), daemon=True).start()

    def listen_over_http(self, there: HttpVerbs) -> None:
        """Wait for events with the tool, without end; each call acknowledges the event before."""
        last: dict[str, str] = {}
        while True:
            try:
                answer = there.call("await_workflow_event", lease=False, agent_id=self.duty.agent, timeout_s=1, **last)
            except DcfError:
                time.sleep(0.05)
                continue
            last = {"ack_message_id": answer["message_id"]} if answer.get("message_id") else {}
            if last:
                self.told.put((answer["message_id"], answer["event"]))

    async def listen(self, reader: InboxReader) -> None:
        """Wait for events, without end."""
        while True:
            try:
                message = await reader.next(self.duty.agent, 1.0)
            except DcfError:
                await asyncio.sleep(0.05)
                continue
            if message is not None:
                self.told.put((message.message_id, message.event))

    def work(self, number: int) -> None:
        """Work on the states that this agent is notified of or claims, without end."""
        luck = random.Random(f"{self.duty.agent} {number}")
        while True:
            try:
                message_id, event = self.told.get(timeout=0.02 + 0.05 * luck.random())
            except Empty:
                self.claim(luck)
                continue
            self.hear(message_id, event)
            if luck.random() < 0.15:
                self.come_back(luck)

    def claim(self, luck: random.Random) -> None:
        """Claim from a run. Rarely claim from a run that has ended."""
        run = luck.choice(self.duty.claimed or ("",))
        if run and (run not in self.over or luck.random() < _FROM_ENDED):
            self.take(run, "")

    def hear(self, message_id: str, event: Any) -> None:
        """Handle one event and acknowledge it."""
        run, state = event["workflow_id"], event.get("target_state")
        if event["type"] == "workflow_event" and event["reason"] != "cancelled" and self.seed_of(run) is not None:
            self.take(run, state)
        if self.inbox is None:
            return
        with suppress(DcfError):
            self.inbox.acknowledge(self.duty.agent, message_id)

    def seed_of(self, run: str) -> int | None:
        """Return the seed of a run, or of the one that started it; None for one of another batch."""
        return self.duty.seeds.get(run, self.duty.seeds.get(run.rpartition("-")[0]))

    def take(self, run: str, state: str) -> None:
        """Take a state, or any of the run, and treat it by habit; then what came with its completion."""
        token, ttl_s = f"lab-{uuid.uuid4().hex}", self.term_s(run, state)
        heard = self.verbs.surely(lambda: self.verbs.acquire(run, state, token, ttl_s), 3.0)
        if heard.code == "terminal" and not state:
            self.over.add(run)
        work = deque([(heard, token, ttl_s)])
        while work:
            heard, token, ttl_s = work.popleft()
            if not heard.is_ok:
                continue
            holding = replace(self.held(run, heard, token), brought=heard.brought)
            if not self.may_work(holding, heard.epoch or 0):
                continue
            habit = habit_of(self.seed_of(run) or 0, holding.state, heard.attempt)
            if habit.name == "gathering":
                gather = self.gather(holding, ttl_s)
            else:
                details = self.treat(holding, habit, ttl_s)
                gather = [] if details is None else [details]
            for details in gather:
                if details.is_ok and details.claimed is not None:
                    work.append((_brought(details.claimed), details.claimed["token"], self.claimed_ttl_s))

    def term_s(self, run: str, state: str) -> int:
        """Return for how long to lease a state, or any."""
        return habit_of(self.seed_of(run) or 0, state, 1).ttl_s if state else self.claimed_ttl_s

    def may_work(self, holding: Held, epoch: int) -> bool:
        """Return True if the state can be treated now."""
        return True

    @staticmethod
    def held(run: str, heard: Heard, token: str) -> Held:
        """Return the lease, with what its holder will write."""
        kind, answer = answer_of(heard.state.rpartition("/")[2], heard.given)
        content = {"ok": {"output": answer}, "error": {"error": answer}, NEVER: None}[kind]
        return Held(run=run, state=heard.state, token=token, content=content)

    def treat(self, document: Held, habit: Habit, ttl_s: int) -> Heard | None:
        """Do what the habit says; the answer to a completion."""
        self.stale.append(document)
        if habit.name == "vanishing":
            return None
        if habit.name == "giving back":
            if not self.verbs.surely(
                lambda: self.verbs.release(document.run, document.state, document.token)
            ).is_unknown:
                self.end(document)
            return None
        if habit.name == "asking" and self.ask(document):
            return None
        document = self.prepare(document, habit, ttl_s)
        return None if document.content is None else self.finish(document, document.content, habit)

    def ask(self, holding: Held) -> bool:
        """Ask people about the state; return True if it was released for the answer, or that is not known."""
        give_back, request = self.luck.random() < _GIVING_BACK, uuid.uuid4().hex
        heard = self.verbs.surely(
            lambda: self.verbs.ask(holding.run, holding.state, holding.token, request, give_back=give_back)
        )
        if give_back and heard.is_ok:
            self.end(holding)
        return give_back and (heard.is_ok or heard.is_unknown)

    def correct(self, holding: Held, content: Content) -> None:
        """Correct the result at once, and once more when what follows may be taken; that depends on neither."""
        output = content.get("output")
        if isinstance(output, dict):
            self.correct_once(holding, {**output, FIX: 1}, uuid.uuid4().hex)
            time.sleep(self.luck.uniform(0, 0.2))
            self.correct_once(holding, {**output, FIX: 2}, uuid.uuid4().hex)

    def correct_once(self, holding: Held, output: Any, request: str) -> None:
        """Correct the result, until the effect is known."""
        self.verbs.surely(lambda: self.verbs.correct(holding.run, holding.state, holding.token, output, request))

    def gather(self, holding: Held, ttl_s: int) -> list[Heard]:
        """Take further states of the run, and complete all of them at once; the answers."""
        hand = [holding]
        for _ in range(_GATHERED):
            token = f"lab-{uuid.uuid4().hex}"
            heard = self.verbs.acquire(holding.run, "", token, ttl_s)
            if not heard.is_ok:
                break
            hand.append(self.held(holding.run, heard, token))
        self.stale.extend(hand)
        results = [(hand.state, hand.token, hand.content) for hand in hand if hand.content is not None]
        answers: list[Heard] = []
        for _ in range(20 if results else 0):
            answers = self.verbs.complete_all(holding.run, results, self.claimed_ttl_s)
            if not any(heard.is_unknown for heard in answers):
                break
            time.sleep(0.02)
        return answers

    def prepare(self, holding: Held, habit: Habit, ttl_s: int) -> Held:
        """Do what comes before the completion, and return the lease that is completed."""
        verbs, run, state, token = self.verbs, holding.run, holding.state, holding.token
        if habit.botches and state.rpartition("/")[2].startswith((CHECKED, GATED)):
            verbs.complete(run, state, token, {"output": {"n": "no number"}})
        match habit.name:
            case "oversleeping":
                time.sleep((ttl_s + 1) / FACTOR)
            case "renewing":
                for _ in range(2):
                    verbs.renew(run, state, token)
                for line in (1, 1, 2):
                    verbs.log(run, state, token, line)
            case "intruding":
                self.intrude(holding)
            case "writing":
                for _ in range(2):
                    verbs.write(run, state, token, {"part": 1}, "first")
                verbs.write(run, state, token, {"part": 2}, "second")
            case "twice":
                return self.acquire_again(holding, ttl_s)
        return holding

    def acquire_again(self, holding: Held, ttl_s: int) -> Held:
        """Acquire with the same token. After a power loss this may be a new lease, of a round before."""
        heard = self.verbs.acquire(holding.run, holding.state, holding.token, ttl_s)
        again = self.held(holding.run, heard, holding.token) if heard.is_ok else holding
        return replace(again, brought=holding.brought)

    def finish(self, holding: Held, content: Content, habit: Habit) -> Heard | None:
        """Complete the state: once, twice, twice at once, or with something else as well."""
        verbs = self.verbs
        claim = self.claimed_ttl_s if habit.name == "claiming" or holding.brought else None

        def complete() -> Heard:
            return verbs.complete(holding.run, holding.state, holding.token, content, claim)

        twin = self.twins.submit(complete) if habit.name == "at once" else None
        heard = verbs.surely(complete)
        if twin is not None:
            twin.result()
        if habit.name == "twice":
            complete()
        if heard.code in HELD_UP:
            heard = self.wait_for_verdicts(holding, content, heard)
        if heard.is_unknown or heard.code in HELD_UP:
            return heard
        self.end(holding)
        if habit.name == "correcting" and heard.is_ok:
            self.correct(holding, content)
        if habit.name == "changing its mind" and not self.duty.honest:
            verbs.complete(holding.run, holding.state, holding.token, {"output": "something else"})
        if habit.tells and heard.is_ok:
            verbs.tell(holding.run, holding.state)
        return heard

    def wait_for_verdicts(self, holding: Held, content: Content, heard: Heard) -> Heard:
        """Ask for a while for the verdict on a result, and write it again if it was sent back; some never ask."""
        for look in range(_LOOKS if self.luck.random() < 0.8 else 0):
            output = content.get("output")
            if heard.code == "needs_work" and isinstance(output, dict):
                content = {"output": {**output, FIX: look}}
            elif heard.code not in HELD_UP and not heard.is_unknown:
                break
            time.sleep(_LOOK_S)
            heard = self.verbs.complete(holding.run, holding.state, holding.token, content)
        return heard

    def end(self, holding: Held) -> None:
        """Note that a lease is known to have ended, so that whatever is written with it must be refused."""
        if not self.duty.honest:
            self.stale.append(replace(holding, over=True))

    def intrude(self, holding: Held) -> None:
        """Try forbidden calls: a forged token, another's name, a second lease."""
        forged = f"lab-{uuid.uuid4().hex}"
        self.verbs.write(holding.run, holding.state, forged, "forged", "forged")
        self.verbs.complete(holding.run, holding.state, forged, {"output": "forged"})
        self.verbs.release(holding.run, holding.state, forged)
        self.verbs.acquire(holding.run, holding.state, forged, 5)
        self.verbs.acquire(holding.run, holding.state, f"lab-{uuid.uuid4().hex}", 5, agent="a stranger")

    def come_back(self, luck: random.Random) -> None:
        """Come back with an old lease, as a worker that missed all later events."""
        with suppress(IndexError):
            come_back(self.verbs, luck.choice(self.stale), luck)


def _brought(claimed: Mapping[str, Any]) -> Heard:
    """Return a lease that came with a completion, as if it had been acquired."""
    heard = Heard(code="ok", state=claimed["state"], epoch=claimed["epoch"], given=claimed["given"], attempt=1)
    return replace(heard, brought=True)


def come_back(verbs: Recorded, holding: Held, luck: random.Random) -> None:
    """Make one call with a lease that may be long gone."""
    task_choice = luck.choice(("renew", "release", "write", "complete", "other", "correct"))
    if task_choice == "renew":
        verbs.renew(holding.run, holding.state, holding.token)
    elif task_choice == "release":
        verbs.release(holding.run, holding.state, holding.token)
    elif task_choice == "write":
        verbs.write(holding.run, holding.state, holding.token, {"late": True}, "late")
    elif task_choice == "other" and holding.over:
        verbs.complete(holding.run, holding.state, holding.token, {"output": "late"})
    elif task_choice == "correct" and holding.content is not None and isinstance(holding.content.get("output"), dict):
        verbs.correct(
            holding.run, holding.state, holding.token, {**holding.content["output"], FIX: 3}, uuid.uuid4().hex
        )
    elif holding.content is not None:
        verbs.complete(holding.run, holding.state, holding.token, holding.content)
