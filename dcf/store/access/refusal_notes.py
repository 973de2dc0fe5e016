"""Notes refused calls, probing and log-ins in the audit trail, at a bounded rate: an attack makes few entries.

The first refusal of a kind is noted at once, and its repetitions at most once a minute, with how many there were.
Nothing here changes what a caller is answered, and no secret is kept: of a key only the id, which is its public part.
"""

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dcf.core.access.model import KEY_CALLER, Caller, key_id_of
from dcf.errors import DcfError, Forbidden, NotFound
from dcf.store.access.api_keys import AccessKeys
from dcf.store.access.audit_trail import AuditTrail
from dcf.values.text_pieces import clip

log = logging.getLogger(__name__)

_AGAIN_S: Final = 60.0
"""Seconds between two notes of the same refusal."""
_LOOK_UP_S: Final = 0.05
"""Seconds between two look-ups of why a key was not valid."""
_SUBJECTS: Final = 10_000
_LONGEST: Final = 300

_ID: Final = re.compile(r"(?!dcf_|lease-)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z", re.ASCII)

About = Mapping[str, str]


@dataclass(slots=True)
class Pace:
    """Says which refusals to note: of each subject the first, and then one a minute."""

    monotonic: Callable[[], float] = time.monotonic
    _noted: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, subject: str) -> int | None:
        """Return how often it happened since the last note, this time included; None if it is not to be noted now."""
        with self._lock:
            now = self.monotonic()
            at, left_out = self._noted.get(subject, (now - _AGAIN_S, 0))
            if now - at < _AGAIN_S:
                self._noted[subject] = (at, left_out + 1)
                return None
            self._noted[subject] = (now, 0)
            self._noted.move_to_end(subject)
            if len(self._noted) > _SUBJECTS:
                self._noted.popitem(last=False)
            return left_out + 1


class RefusalNotes:
    """The refusals that this process makes."""

    def __init__(self, trail: AuditTrail, keys: AccessKeys, pace: Pace | None = None) -> None:
        self._trail = trail
        self._keys = keys
        self._pace = pace or Pace()
        self._looked_at = float("-inf")

    def refused(self, caller: Caller, call: str, error: DcfError, about: About) -> Callable[[], None] | None:
        """Return what notes that this caller may not make a call; None if that is not to be noted now.

        A caller who is bound to a project, and names what is not in it, looks for what is elsewhere: that is noted as
        well. Others may read whatever there is.
        """
        is_probing = isinstance(error, NotFound) and caller.project is not None
        if not is_probing and not isinstance(error, Forbidden):
            return None
        times = self._pace.admit(f"{caller.name} {call} {error.code}")
        if times is None:
            return None
        note = {"why": clip(error.message, _LONGEST), **_without_secrets(about), "times": str(times)}
        return lambda: self._write(lambda: self._trail.note_refusal(caller.name, call, note, error.code))

    def logged_in(self, caller: Caller) -> None:
        """Note that a session of the page begins."""
        self._write(lambda: self._trail.note_login(caller.name, "ok", {}))

    def logged_out(self, caller: Caller) -> None:
        """Note that a session of the page ends, since its holder says so."""
        self._write(lambda: self._trail.note_login(caller.name, "ok", {}, "log out"))

    def exported(self, by: str, call: str, workflow_id: str) -> None:
        """Note that somebody takes a copy of a whole run. It is given to them also where that cannot be recorded."""
        self._write(lambda: self._trail.note_read(by, call, {"workflow_id": workflow_id}))

    def failed_login(self, text: str) -> None:
        """Note that a key opened nothing: it is wrong, expired, revoked or unknown, or no key at all."""
        key_id = key_id_of(text)
        try:
            why = "malformed" if key_id is None else self._reason(text)
        except DcfError:
            why = "unchecked"
        whose = key_id if why in {"wrong", "expired", "revoked"} else None
        times = self._pace.admit(f"log in {why} {whose}")
        if times is not None:
            about = {"times": str(times)} | ({} if key_id is None else {"key_id": key_id})
            by = None if whose is None else f"{KEY_CALLER}{whose}"
            self._write(lambda: self._trail.note_login(by, why, about))

    def _reason(self, text: str) -> str:
        now = self._pace.monotonic()
        if now - self._looked_at < _LOOK_UP_S:
            return "unchecked"
        self._looked_at = now
        return self._keys.why_refused(text)

    def _write(self, note: Callable[[], None]) -> None:
        try:
            note()
        except DcfError as error:
            log.warning("audit: a refusal, log-in or export is not recorded: %s", error.code)


def _without_secrets(about: About) -> dict[str, str]:
    """Return the ids among the facts; anything else, and what may be a key or a lease token, is not kept."""
    return {name: value if _ID.match(value) else "(not kept)" for name, value in about.items()}
