"""The rules about states that usage limits park: no attempt is counted for a limit, and no state fails of one."""

import re
import time
from collections.abc import Iterator
from typing import Final

from dcf.core.documents.codec import read_state
from lab.evidence import Happening, Story
from lab.server_time import FACTOR

_OF_LIMITS: Final = ("DCF.AccountLimit", "DCF.AccountUnusable")
_PARKED: Final = re.compile(r"usage limit|account \S+ was closed")
"""Begins the reason of a release that counts no attempt."""

_MARGIN: Final = 200_000
_UNANSWERED_S: Final = 1
"""A call without an answer takes effect within this time."""

_KNOWN: Final = 2
"""An account knows this number of its closures."""


def no_state_fails_of_a_limit(story: Story) -> Iterator[str]:
    """No state ends with an error of an account: the lab's limits are shorter than a visit may be parked."""
    for happening in story.of("StateFailed", "StateRetried"):
        if happening.data.get("error") in _OF_LIMITS:
            yield happening.told()


def limits_count_no_attempt(story: Story) -> Iterator[str]:
    """A state has no more attempts counted than leases of this visit that ended in another way than by a limit."""
    for path, document in story.documents.items():
        if not document.get("parked") or story.is_free:
            continue
        counted = read_state(document).tries
        leases = _counted_leases(story, path)
        if counted > leases:
            yield f"{path} has {counted} attempts counted, and {leases} of its leases did not end by a limit"


def _counted_leases(story: Story, path: str) -> int:
    count = 0
    for happening in story.happenings:
        if happening.state != path:
            continue
        if happening.type in {"StateEntered", "StateRetried"}:
            count = 0
        elif happening.type == "LeaseAcquired":
            count += 1
        elif is_parking(happening.type, str(happening.data.get("reason", ""))):
            count -= 1
    return count


def a_lease_lost_at_a_limit_is_not_counted(story: Story) -> Iterator[str]:
    """A lease that is lost while the account of its holder is closed is released, and not taken over."""
    last: dict[str, Happening] = {}
    for happening in story.of("LeaseAcquired"):
        before, last[happening.state] = last.get(happening.state), happening
        if before is None or not happening.data.get("takeover"):
            continue
        earliest, latest = _expiry_of(story, before)
        taken = happening.at_ms * 1000
        closed = [span for span in story.closures.get(str(before.data.get("owner")), ()) if span[0] < taken][-_KNOWN:]
        if any(begin + _MARGIN < earliest and latest + _MARGIN < end for begin, end in closed):
            yield f"counted, although the account was closed when the lease before it ended: {happening.told()}"


def _expiry_of(story: Story, granted: Happening) -> tuple[int, int]:
    """Return when a lease ended at the earliest and at the latest, in microseconds of the machine."""
    term = int(granted.data.get("ttl_s", 0)) * 1_000_000 // FACTOR
    ahead = time.time() - time.monotonic()
    signs = [
        int(((call.end or call.start + _UNANSWERED_S) + ahead) * 1_000_000)
        for call in story.calls
        if not call.is_refused and call.state == granted.state and story.epochs.get(call.token or "") == granted.epoch
    ]
    begin = granted.at_ms * 1000
    return begin + term, max([begin, *signs]) + term


def is_parking(kind: str, reason: str) -> bool:
    """Return True for an entry of a history that says that a usage limit parks a state."""
    return kind == "LeaseReleased" and _PARKED.match(reason) is not None


PARKING_RULES: Final = (
    no_state_fails_of_a_limit,
    limits_count_no_attempt,
    a_lease_lost_at_a_limit_is_not_counted,
)
