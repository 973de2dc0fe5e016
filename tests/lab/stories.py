"""A history of one run in which everything is right, to be broken in one place by each test of a rule."""

from collections import Counter
from dataclasses import replace
from typing import Any

from lab.evidence import Happening, Story
from lab.expectation import Expected
from lab.recording import Call

OUTPUT = {"n": 2}
TOKEN = "lease-of-ann"
EPOCH = 100


def happening(type_: str, state: str = "", **data: Any) -> Happening:
    return Happening(type=type_, state=state, data=data)


def numbered(*happenings: Happening) -> tuple[Happening, ...]:
    return tuple(replace(happening, number=number) for number, happening in enumerate(happenings))


def call(op: str, start: float, code: str | None = "ok", **more: Any) -> Call:
    """A call that took half a second."""
    subject = {"run": "r", "agent": "ann", "state": "Work_1", "token": TOKEN} | more
    return Call(op=op, start=start, end=None if code is None else start + 0.5, code=code, **subject)


HAPPENINGS = numbered(
    happening("RunCreated"),
    happening("StateEntered", "Work_1", epoch=1),
    happening("RunStarted"),
    happening("NotificationSent", "Work_1", agent="ann", epoch=1),
    happening("LeaseAcquired", "Work_1", epoch=EPOCH, owner="ann", attempt=1),
    happening("LeaseRenewed", "Work_1", epoch=EPOCH),
    happening("StateUpdated", "Work_1", epoch=EPOCH),
    happening("StateSucceeded", "Work_1", epoch=EPOCH),
    happening("RunSucceeded"),
    happening("NotificationSent", agent="the planner"),
    happening("RunFinalized"),
)

CALLS = (
    call("acquire", 1, epoch=EPOCH, given={"n": 1}),
    call("renew", 2, epoch=EPOCH),
    call("write", 3, content=["first", {"part": 1}]),
    call("complete", 4, content={"output": OUTPUT}),
    call("complete", 5, content={"output": OUTPUT}, repeated=True),
    call("complete", 6, "already_completed", content={"output": "other"}),
    call("renew", 7, "terminal", after_end=True),
)


def document(status: str = "succeeded", epoch: int = EPOCH, **more: Any) -> dict[str, Any]:
    return {"status": status, "attempts": 1, "lease": {"epoch": epoch}, **more}


def right() -> Story:
    """Ann was notified, took the state, renewed, wrote a part, completed, and the run ended."""
    return Story(
        run="r",
        seed=1,
        expected=Expected(output=OUTPUT, inputs={"Work_1": [{"n": 1}]}, done=Counter({"Work_1": 1})),
        calls=CALLS,
        happenings=HAPPENINGS,
        meta={"status": "succeeded", "output": OUTPUT},
        agents=frozenset({"ann", "bob"}),
        documents={"Work_1": document()},
        documents_later={"Work_1": document()},
        planner_notices=("run_finished",),
    )


def with_call(*calls: Call, **more: Any) -> Story:
    """The right story, and these calls as well."""
    return replace(right(), calls=tuple(sorted((*CALLS, *calls), key=lambda item: item.start)), **more)


def with_happening(*happenings: Happening, before: str, **more: Any) -> Story:
    """The right story, with this put before the first happening of a type."""
    place = next(number for number, item in enumerate(HAPPENINGS) if item.type == before)
    return replace(right(), happenings=numbered(*HAPPENINGS[:place], *happenings, *HAPPENINGS[place:]), **more)


def without(*types: str) -> Story:
    """The right story, without happenings of these types."""
    return replace(right(), happenings=numbered(*(item for item in HAPPENINGS if item.type not in types)))


def ended(**meta: Any) -> Story:
    """The right story with another end."""
    result: dict[str, Any] = {"status": "succeeded", "output": OUTPUT} | meta
    return replace(right(), meta=result)
