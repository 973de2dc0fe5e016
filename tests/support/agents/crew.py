"""A crew with prepared answers that takes one run to its end, by the calls that agents and the clock make.

Which state is taken next, who dies and what is called twice is drawn from a seed; how the run ends must not depend
on it. No call waits: when no agent can work, time advances to the next entry of the timer loop.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dcf.asl.state_paths import split
from dcf.core.completing.conclusion import Conclusion
from dcf.core.documents.answers import Created, Leased, Owed, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.core.leasing.lease import Acquire
from dcf.core.lifecycle.creation import Create
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.agents.mocks import Answer, Mocks
from tests.support.trouble import CALM, Fate, Killer, Trouble
from tests.support.world import World, new_token

FOR_EVER_S = 200_000_000
"""Longer than any TimeoutSeconds, for holders that never lose their lease."""

_MOST_STEPS = 20_000
_MOST_IDLE = 300
_ENDS = {RunStatus.SUCCEEDED: "SUCCEEDED", RunStatus.FAILED: "FAILED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A lease of one of the crew."""

    state: str
    owner: str
    token: str
    given: Any

    @property
    def name(self) -> str:
        return split(self.state)[1]


@dataclass(slots=True, kw_only=True)
class Crew:
    """Works on one run. `luck` None means one agent that takes what comes first and answers at once."""

    world: World
    run: str
    mocks: Mocks = field(default_factory=Mocks)
    luck: random.Random | None = None
    agents: Sequence[str] = ("ann",)
    hands: int = 1
    ttl_s: int = FOR_EVER_S
    trouble: Trouble = CALM
    held: list[Held] = field(default_factory=list)
    lost: list[Held] = field(default_factory=list)
    done: list[tuple[Held, dict[str, Any]]] = field(default_factory=list)
    task_calls: list[dict[str, Any]] = field(default_factory=list)
    fate: Fate = field(init=False)
    idle: int = 0

    def __post_init__(self) -> None:
        killer = self.world.before_commit
        self.fate = Fate(
            luck=self.luck or random.Random(0),
            trouble=self.trouble,
            killer=killer if isinstance(killer, Killer) else None,
        )

    def create(self, wish: Create) -> None:
        """Create the run and give the start signal, again and again if the planner dies over it."""
        while True:
            created = self.fate.call(lambda: isinstance(self.world.plane.create(wish), Created))
            if created is not None or (self.exists() and self.fate.strikes(0.5)):
                break
        assert created is not False
        while self.fate.call(lambda: isinstance(self.world.plane.kick_off(self.run, "start"), Owed)) is None:
            pass

    def exists(self) -> bool:
        return self.world.store.definition(self.run) is not None

    def finish(self) -> dict[str, Any]:
        """Work until the run has ended; return how it ended."""
        for _ in range(_MOST_STEPS):
            if not self.step():
                return self.ending()
        raise AssertionError(f"the run continues after {_MOST_STEPS} steps")

    def step(self) -> bool:
        """Take a state, or answer for one, or let time pass; return True if the run continues."""
        if self.held and (len(self.held) >= self.hands or self.fate.strikes(0.5)):
            self.answer(self.held.pop(self.fate.luck.randrange(len(self.held))))
            return True
        taken = self.take()
        if taken is not None:
            self.idle = 0
            (self.lost if self.fate.strikes(self.trouble.vanished) else self.held).append(taken)
            return True
        if self.held:
            self.answer(self.held.pop())
            return True
        if self.answer_from_outside():
            return True
        return self.world.run_status(self.run) is RunStatus.RUNNING and self.let_time_run()

    # Working

    def take(self) -> Held | None:
        """Lease a ready state: what the run offers, or any of those that are open."""
        owner, token = self.fate.luck.choice(self.agents), new_token()
        states = [""]
        if self.luck is not None and self.luck.random() < 0.5:
            states = list(ahead.timers(self.world, self.run))
            self.luck.shuffle(states)
        for state in states:
            wish = Acquire(state=state, owner=owner, token=token, ttl_s=self.ttl_s)
            leased = self.fate.call(lambda wish=wish: self.lease(wish))  # type: ignore[misc]
            if isinstance(leased, Leased):
                return Held(state=leased.state, owner=owner, token=token, given=leased.given)
        return None

    def lease(self, wish: Acquire) -> Any:
        """Claim, or acquire the state that is named, if it is one; as the tools, with its input in any case."""
        if wish.state and wish.state not in self.world.known(self.run, wish.state):
            return None
        plane = self.world.plane
        answer = plane.acquire(self.run, wish) if wish.state else plane.claim(self.run, wish)
        if isinstance(answer, Leased) and answer.given is None:
            return replace(answer, given=self.world.given(self.run, answer.state))
        return answer

    def answer(self, document: Held) -> None:
        """Do what was prepared for this call; its answer is used up only if it took effect."""
        answer = self.mocks.take(document.name, document.given)
        self.task_calls.append({"state": document.name, "path": document.state, "input": document.given})
        request = self.request(document, answer)
        if request is None:
            return  # its time will run out
        if self.luck is not None and self.luck.random() < 0.4:
            request |= {"owner": document.owner, "claim_ttl_s": self.ttl_s}
        write = self.fate.call(lambda: self.write(document, request))
        if write is None and self.fate.strikes(0.5):  # the agent is back and asks again
            write = self.write(document, request)
        if write is not None:
            self.done.append((document, request))
            self.go_on(document, write)
        elif self.holds(document):
            self.mocks.give_back(document.name, answer)
            self.task_calls.pop()
            self.lost.append(document)

    def answer_from_outside(self) -> bool:
        """Answer for a state that waits without an agent; return True if there was such a state."""
        for path, doc in self.world.docs(self.run).items():
            if not doc.waits_outside:
                continue
            value = self.world.given(self.run, path)
            name = split(path)[1]
            answer = self.mocks.take(name, value)
            self.task_calls.append({"state": name, "path": path, "input": value})
            if "output" not in answer and (answer.get("timed_out") or answer.get("never")):
                return False  # its time will run out
            wish = Conclusion(
                state=path,
                epoch=doc.lease.epoch,
                by="outside",
                failed="output" not in answer,
                output=answer.get("output"),
                error=answer.get("error"),
                cause=answer.get("cause"),
            )
            self.world.outside.conclude(self.run, wish)
            return True
        return False

    def go_on(self, before: Held, updated: Updated | Refusal) -> None:
        """Hold what the completion leased as well."""
        claimed = updated.claimed if isinstance(updated, Updated) else None
        if claimed is not None and claimed.doc.lease.token is not None:
            value = self.world.given(self.run, claimed.state) if claimed.given is None else claimed.given
            document = Held(state=claimed.state, owner=before.owner, token=claimed.doc.lease.token, given=value)
            self.held.append(document)

    def request(self, holding: Held, answer: Answer) -> dict[str, Any] | None:
        """The output of the holder; None if it never completes although its time is limited."""
        if "output" in answer:
            return {"status": Status.SUCCEEDED, "output": answer["output"]}
        if answer.get("timed_out") or answer.get("never"):
            doc = self.world.doc(self.run, holding.state)
            if doc.deadline is not None or doc.heartbeat_s is not None:
                return None
            answer = {"error": "States.Timeout", **answer}
        return {"status": Status.FAILED, "error": answer.get("error"), "cause": answer.get("cause")}

    def write(self, holding: Held, request: dict[str, Any]) -> Updated | Refusal:
        return self.world.update(self.run, holding.state, holding.token, **request)

    def holds(self, holding: Held) -> bool:
        result = self.world.known(self.run, holding.state).get(holding.state)
        return result is not None and result.lease.token == holding.token

    # Time

    def let_time_run(self) -> bool:
        """Advance to the next time at which the timer loop must look, and let it look."""
        self.idle += 1
        until_next = ahead.until_next(self.world, self.run)
        if not until_next and self.fate.deaths and self.idle < _MOST_IDLE:
            return True  # who could have taken a state died over it: the next one comes
        where = f"{self.world.statuses(self.run)}; listed: {ahead.timers(self.world, self.run)}; lost: {self.lost}"
        assert until_next, f"the run is stuck: {where}"
        assert self.idle < _MOST_IDLE, f"the clock goes round in circles: {where}"
        for member in until_next:
            self.fate.call(lambda member=member: ahead.look_at(self.world, self.run, member))  # type: ignore[misc]
        return True

    # Outcomes

    def ending(self) -> dict[str, Any]:
        meta = self.world.meta(self.run)
        outcome = {"status": _ENDS[RunStatus(meta["status"])], "trace": trace(self.world, self.run)}
        result = ("output",) if outcome["status"] == "SUCCEEDED" else ("error", "cause")
        return {**outcome, **{name: meta.get(name) for name in result}, "task_calls": self.task_calls}


def trace(world: World, run: str) -> list[dict[str, Any]]:
    """The states entered, left, tried again and failed, as far as the run's history tells."""
    trace: list[dict[str, Any]] = []
    inside: set[str] = set()

    def note(event: str, path: str) -> None:
        trace.append({"event": event, "state": split(path)[1], "path": path})

    for happening in world.history_of(run):
        path = happening.state or ""
        if happening.type not in {"StateEntered", "StateSucceeded", "StateFailed", "StateRetried"}:
            continue
        if path not in inside:
            inside.add(path)
            note("entered", path)
        if happening.type == "StateRetried":
            note("retried", path)
        elif happening.type != "StateEntered":
            inside.discard(path)
            well = happening.type == "StateSucceeded" or "caught_by" in happening.data
            note("exited" if well else "failed", path)
    return trace
