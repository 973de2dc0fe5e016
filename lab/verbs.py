"""The verbs of the lab's workers, each call recorded: in their own process, or (`http_verbs`) at a server of MCP.

An answer says the same either way. Failures that say nothing about the call have a code that begins with `!`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from dcf.asl.tasks.askees import Askees
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased, NothingReady, Released, Updated
from dcf.core.documents.model import Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.leasing.lease import Acquire, Release, Renew
from dcf.errors import PASSING, DcfError
from dcf.features.questions.asking import Ask
from dcf.features.questions.correcting import Corrections
from dcf.features.questions.corrections import Correct
from dcf.features.questions.operations import Talking
from dcf.features.task_log.operations import TaskLog
from dcf.features.task_log.rules import LogEvent, Logged
from dcf.runs.control_plane import ControlPlane
from dcf.runs.notifying.notifications import Notifications
from dcf.values.refusal import Refusal
from lab.expectation import PEOPLE
from lab.recording import Recorder

QUESTION = "May I?"
ANSWERED_WITHIN_S = 40
"""Seconds, of the lab's time, after which a question is given up."""

Content: TypeAlias = dict[str, Any]
"""The result of a completion: {"output": ...} or {"error": ...}."""

Hand: TypeAlias = Sequence[tuple[str, str, Content]]
"""States that a worker holds, each with its token and what the worker will write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The answer of a call. `claimed` is the state that a completion leased as well: its path, token, epoch, input.

    `brought`: this is not an answer of its own, but such a state.
    """

    code: str
    state: str = ""
    epoch: int | None = None
    attempt: int = 0
    repeated: bool = False
    given: Any = None
    claimed: dict[str, Any] | None = None
    brought: bool = False

    @property
    def is_ok(self) -> bool:
        """Return True if the call took effect, now or before."""
        return self.code == "ok"

    @property
    def is_unknown(self) -> bool:
        """Return True if the answer does not say whether the call took effect."""
        return self.code.startswith("!")


class Verbs(Protocol):
    """The calls of a worker. `state` is a path."""

    def acquire(self, run: str, state: str, agent: str, token: str, ttl_s: int) -> Heard:
        """Take a state, or any (an empty `state`)."""

    def renew(self, run: str, state: str, token: str) -> Heard:
        """Extend the lease."""

    def log(self, run: str, state: str, token: str, line: int) -> Heard:
        """Write a line into the history."""

    def release(self, run: str, state: str, token: str) -> Heard:
        """Give the state back."""

    def write(self, run: str, state: str, token: str, part: Any, request_id: str) -> Heard:
        """Write a part of the output."""

    def ask(self, run: str, state: str, token: str, request_id: str, *, give_back: bool) -> Heard:
        """Ask the people of the lab."""

    def correct(self, run: str, state: str, token: str, output: Any, request_id: str) -> Heard:
        """Correct a result."""

    def complete(self, run: str, state: str, token: str, content: Content, claim_ttl_s: int | None) -> Heard:
        """Write the result."""

    def complete_all(self, run: str, hand: Hand, claim_ttl_s: int) -> list[Heard]:
        """Write several results at once, and ask for as many leases; each answer has one of those that came."""

    def tell(self, run: str, state: str) -> Heard:
        """Tell the agents of the states after this one."""


class OwnVerbs:
    """Calls of dcf in this process."""

    def __init__(self, plane: ControlPlane, notifications: Notifications) -> None:
        self._plane = plane
        self._notifications = notifications

    def acquire(self, run: str, state: str, agent: str, token: str, ttl_s: int) -> Heard:
        """Take a state, or any."""
        wish = Acquire(state=state, owner=agent, token=token, ttl_s=ttl_s)
        answer = self._plane.acquire(run, wish) if state else self._plane.claim(run, wish)
        if isinstance(answer, Leased) and answer.given is None:
            value = self._plane.read(run, (answer.state,)).inputs.get(answer.state)
            return _leased(answer, value)
        return _leased(answer, answer.given) if isinstance(answer, Leased) else _refused(answer)

    def renew(self, run: str, state: str, token: str) -> Heard:
        """Extend the lease."""
        answer = self._plane.renew(run, Renew(state=state, token=token))
        return _leased(answer, None) if isinstance(answer, Leased) else _refused(answer)

    def log(self, run: str, state: str, token: str, line: int) -> Heard:
        """Write a line into the history."""
        request = LogEvent(state=state, token=token, number=line, message="of the lab")
        answer = TaskLog(self._plane).log_event(run, request)
        if isinstance(answer, Logged):
            return Heard(code="ok", state=state, repeated=answer.repeated)
        return _refused(answer)

    def release(self, run: str, state: str, token: str) -> Heard:
        """Give the state back."""
        answer = self._plane.release(run, Release(state=state, token=token))
        if isinstance(answer, Released):
            return Heard(code="ok", state=state, repeated=answer.outcome == "lease_already_clear")
        return _refused(answer)

    def write(self, run: str, state: str, token: str, part: Any, request_id: str) -> Heard:
        """Write a part of the output."""
        request = Update(state=state, token=token, has_output=True, output=part, request_id=request_id)
        return _updated(self._plane.update(run, request))

    def ask(self, run: str, state: str, token: str, request_id: str, *, give_back: bool) -> Heard:
        """Ask the people of the lab."""
        people = Askees(people=PEOPLE)
        wish = Ask(state=state, token=token, text=QUESTION, to=people, give_back=give_back, timeout_s=ANSWERED_WITHIN_S)
        return operated(Talking(self._plane).ask_question(run, wish, request_id=request_id), state)

    def correct(self, run: str, state: str, token: str, output: Any, request_id: str) -> Heard:
        """Correct a result."""
        wish = Correct(state=state, output=output, token=token)
        return operated(Corrections(self._plane).correct_result(run, wish, request_id=request_id), state)

    def complete(self, run: str, state: str, token: str, content: Content, claim_ttl_s: int | None) -> Heard:
        """Write the result."""
        request = Update(state=state, token=token, claim_ttl_s=claim_ttl_s, **_result(content))
        return self._whole(run, _updated(self._plane.update(run, request)))

    def complete_all(self, run: str, hand: Hand, claim_ttl_s: int) -> list[Heard]:
        """Write several results at once."""
        requests = [
            Update(state=state, token=token, claim_ttl_s=claim_ttl_s, claim_most=len(hand), **_result(content))
            for state, token, content in hand
        ]
        answers = self._plane.update_all(run, requests)
        claims = iter([lease for answer in answers if isinstance(answer, Updated) for lease in answer.claims])
        heard = [_updated(answer, claims) for answer in answers]
        return [self._whole(run, item) for item in heard]

    def _whole(self, run: str, heard: Heard) -> Heard:
        if heard.claimed is None or heard.claimed["given"] is not None:
            return heard
        return replace(heard, claimed=heard.claimed | self._claimed_before(run, **heard.claimed))

    def _claimed_before(self, run: str, state: str, token: str, **_: Any) -> dict[str, Any]:
        """Read what the answer to a repetition lacks, as the tool does: the input, and the epoch if it is held."""
        result = self._plane.read(run, (state,))
        lease = result.states[state].lease
        return {"epoch": lease.epoch if lease.is_held_with(token) else 0, "given": result.inputs.get(state)}

    def tell(self, run: str, state: str) -> Heard:
        """Tell the agents of the states after this one."""
        self._notifications.notify_next(run, state)
        return Heard(code="ok", state=state)


def operated(answer: RunAnswer | Refusal, state: str) -> Heard:
    """Return what is heard of a request about a run."""
    if isinstance(answer, RunAnswer):
        return Heard(code="ok", state=state, repeated=answer.repeated)
    return _refused(answer)


def _leased(answer: Leased, value: Any) -> Heard:
    return Heard(
        code="ok",
        state=answer.state,
        epoch=answer.doc.lease.epoch,
        attempt=answer.doc.attempts,
        repeated=answer.outcome == "lease_already_held",
        given=value,
    )


def _refused(answer: Refusal | NothingReady) -> Heard:
    return Heard(code="nothing_ready" if isinstance(answer, NothingReady) else answer.code)


def _result(content: Content) -> dict[str, Any]:
    if "error" in content:
        return {"status": Status.FAILED, "error": content["error"], "cause": "as drawn"}
    return {"status": Status.SUCCEEDED, "has_output": True, "output": content["output"]}


def _updated(answer: Updated | Refusal, claims: Iterator[Leased] | None = None) -> Heard:
    """Return what was heard, with the next of these leases, or with that of the answer."""
    if not isinstance(answer, Updated):
        return _refused(answer)
    claimed, lease = None, answer.claimed if claims is None else next(claims, None)
    if lease is not None:
        holding = lease.doc.lease
        claimed = {"state": lease.state, "token": holding.token, "epoch": holding.epoch, "given": lease.given}
    return Heard(code="ok", epoch=answer.doc.lease.epoch, repeated=answer.repeated, claimed=claimed)


class Recorded:
    """Makes calls and notes them. `surely` repeats a call until its outcome is known."""

    def __init__(self, verbs: Verbs, recorder: Recorder, agent: str) -> None:
        self.verbs = verbs
        self.agent = agent
        self.recorder = recorder

    def acquire(self, run: str, state: str, token: str, ttl_s: int, agent: str | None = None) -> Heard:
        """Take a state, or any."""
        taker = agent or self.agent
        note = {"state": state, "token": token, "content": taker}
        return self.noted("acquire", run, note, lambda: self.verbs.acquire(run, state, taker, token, ttl_s))

    def renew(self, run: str, state: str, token: str) -> Heard:
        """Extend the lease."""
        note = {"state": state, "token": token}
        return self.noted("renew", run, note, lambda: self.verbs.renew(run, state, token))

    def log(self, run: str, state: str, token: str, line: int) -> Heard:
        """Write a line into the history."""
        note = {"state": state, "token": token, "content": line}
        return self.noted("log", run, note, lambda: self.verbs.log(run, state, token, line))

    def release(self, run: str, state: str, token: str) -> Heard:
        """Give the state back."""
        note = {"state": state, "token": token}
        return self.noted("release", run, note, lambda: self.verbs.release(run, state, token))

    def write(self, run: str, state: str, token: str, part: Any, request_id: str) -> Heard:
        """Write a part of the output."""
        note = {"state": state, "token": token, "content": [request_id, part]}
        return self.noted("write", run, note, lambda: self.verbs.write(run, state, token, part, request_id))

    def ask(self, run: str, state: str, token: str, request_id: str, *, give_back: bool) -> Heard:
        """Ask the people of the lab."""
        note = {"state": state, "token": token, "content": {"request": request_id}}
        return self.noted("ask", run, note, lambda: self.verbs.ask(run, state, token, request_id, give_back=give_back))

    def correct(self, run: str, state: str, token: str, output: Any, request_id: str) -> Heard:
        """Correct a result."""
        note = {"state": state, "token": token, "content": {"request": request_id, "output": output}}
        return self.noted("correct", run, note, lambda: self.verbs.correct(run, state, token, output, request_id))

    def complete(self, run: str, state: str, token: str, content: Content, claim_ttl_s: int | None = None) -> Heard:
        """Write the result."""
        note = {"state": state, "token": token, "content": content}
        return self.noted("complete", run, note, lambda: self.verbs.complete(run, state, token, content, claim_ttl_s))

    def complete_all(self, run: str, hand: Hand, claim_ttl_s: int) -> list[Heard]:
        """Write several results at once; each is noted as a call of its own."""
        numbers = [
            self.recorder.begin("complete", run, state=state, token=token, content=content)
            for state, token, content in hand
        ]
        try:
            answers = self.verbs.complete_all(run, hand, claim_ttl_s)
        except DcfError as error:
            answers = [_failure(error)] * len(hand)
        for number, heard in zip(numbers, answers, strict=True):
            details = {"code": heard.code, "epoch": heard.epoch, "repeated": heard.repeated, "given": heard.given}
            self.recorder.end(number, **details, claimed=heard.claimed)
        return answers

    def tell(self, run: str, state: str) -> Heard:
        """Tell the agents of the states after this one."""
        return self.noted("tell", run, {"state": state}, lambda: self.verbs.tell(run, state))

    def surely(self, call: Callable[[], Heard], patience_s: float = 15.0) -> Heard:
        """Repeat a call until its outcome is known, or patience ends."""
        until = time.monotonic() + patience_s
        while True:
            heard = call()
            if not heard.is_unknown or time.monotonic() > until:
                return heard
            time.sleep(0.02)

    def noted(self, op: str, run: str, note: dict[str, Any], call: Callable[[], Heard]) -> Heard:
        """Make a call, and note that it begins and what it was answered."""
        number = self.recorder.begin(op, run, **note)
        heard = _heard(call)
        answer = {"code": heard.code, "epoch": heard.epoch, "repeated": heard.repeated, "given": heard.given}
        where = {"state": heard.state} if op == "acquire" and heard.state else {}
        self.recorder.end(number, **answer, **where, claimed=heard.claimed)
        return heard


def _heard(call: Callable[[], Heard]) -> Heard:
    try:
        return call()
    except DcfError as error:
        return _failure(error)


def _failure(error: DcfError) -> Heard:
    return Heard(code=f"!{error.code}" if error.code in PASSING else error.code)
