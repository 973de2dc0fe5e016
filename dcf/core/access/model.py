"""Callers, scopes and API keys: who makes a call, and what it may do. Pure: draws no random numbers, does no I/O.

A key is `dcf_<id>_<secret>`. Its secret has 256 random bits, so it is stored as one round of SHA-256: slow hashes are
needed only for secrets that can be guessed, such as passwords.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from hmac import compare_digest
from typing import Final

from dcf.core.access.quotas import Account, Amount
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record

SECRET_BYTES = 32
KEY_CALLER = "key:"
"""How the name of a caller with a key begins; the id of the key follows."""
_TEXT = re.compile(r"dcf_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LONGEST_TEXT = 100
_NO_DIGEST = "0" * 64


class Scope(StrEnum):
    """A permission. None includes another; a key lists every scope it grants."""

    READ = "read"
    WORK = "work"
    PLAN = "plan"
    ANSWER = "answer"
    ATTEST = "attest"
    OVERRIDE = "override"
    OPERATE = "operate"
    ADMIN = "admin"


MEANINGS: Mapping[Scope, str] = {
    Scope.READ: "look at runs, skills and documents; every key needs it to connect",
    Scope.WORK: "lease states, write their results, wait for events, load skills",
    Scope.PLAN: "create, start and finalize runs and their agents",
    Scope.ANSWER: "answer tasks that ask people: approve, reject and the like",
    Scope.ATTEST: "report the exit codes of commands that gates wait for, as the helper that ran them",
    Scope.OVERRIDE: "let outputs pass gates that they have not passed, with a reason",
    Scope.OPERATE: "act for others: force a release, ignore assignments, change documents by hand; read health",
    Scope.ADMIN: "write files of the server: generated manifests and stub configuration",
}

FOR_OTHERS = frozenset({Scope.OPERATE, Scope.ANSWER, Scope.OVERRIDE, Scope.ATTEST})
"""Scopes with which a caller acts for somebody else."""


@record(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who makes a call. `name` is written into the history of runs.

    A caller with an `agent_id` may act only as that agent, and for the `groups` that its key names. One with a
    `project` sees and changes only what is of this project. `account` is that of its key; the local user has none.
    `profile` is the system whose tools it is served, in place of dcf's.
    """

    name: str
    scopes: frozenset[Scope]
    agent_id: str | None = None
    groups: frozenset[str] = frozenset()
    local: bool = False
    account: Account | None = None
    profile: str | None = None
    project: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """The stored record of an API key: the key's digest, not the key. Times in server microseconds.

    `quotas` are the key's own, in place of the server's settings. `groups` are those of people that its agent belongs
    to: tasks that ask one of them may be answered with the key. `project` is the only one whose runs it may see.
    `profile` is the system whose tools its callers are served.
    """

    key_id: str
    digest: str
    scopes: tuple[Scope, ...]
    created_at: int
    agent_id: str | None = None
    label: str | None = None
    expires_at: int | None = None
    revoked_at: int | None = None
    quotas: Mapping[str, Amount] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    profile: str | None = None
    project: str | None = None

    def standing(self, now: int) -> str:
        """Return "active", "expired" or "revoked"."""
        return standing(self.expires_at, self.revoked_at, now)

    def caller(self, account: Account | None = None) -> Caller:
        """Return the caller of this key."""
        name = f"{KEY_CALLER}{self.key_id}"
        scopes, groups = frozenset(self.scopes), frozenset(self.groups)
        return Caller(
            name=name,
            scopes=scopes,
            agent_id=self.agent_id,
            groups=groups,
            account=account,
            project=self.project,
            profile=self.profile,
        )


def standing(expires_at: int | None, revoked_at: int | None, now: int) -> str:
    """Return how a key with these times stands: "active", "expired" or "revoked"."""
    if revoked_at is not None:
        return "revoked"
    return "expired" if expires_at is not None and now >= expires_at else "active"


LOCAL = "local"
"""Name of the local user, who needs no key."""

NOBODY = Caller(name="nobody", scopes=frozenset())
"""The caller of a call without authentication; it has no scopes."""


def local_caller(*, operator: bool) -> Caller:
    """Return the user of a local server, who has every scope.

    The scopes that act for others (`FOR_OTHERS`) are the exceptions: they must be asked for (`operator`). Often a model
    starts a server over stdio. It must not answer the tasks of people, nor vouch for its own work.
    """
    scopes = frozenset(Scope) if operator else frozenset(Scope) - FOR_OTHERS
    return Caller(name=LOCAL, scopes=scopes, local=True)


def key_text(key_id: str, secret: str) -> str:
    """Return the key as its owner gets it; it is shown once."""
    return f"dcf_{key_id}_{secret}"


def key_id_of(text: str) -> str | None:
    """Return the id in a key; None if the text is not of the form of a key."""
    match = _TEXT.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    return None if match is None else match[1]


def digest_of(text: str) -> str:
    """Return the digest of a key. Only the digest is stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def admit(text: str, record: ApiKey | None, now: int, account: Account | None = None) -> Caller | None:
    """Return the caller of this key; None if it is wrong, expired or revoked. All cases take the same time."""
    same = compare_digest(digest_of(text), _NO_DIGEST if record is None else record.digest)
    if record is None or not same or record.standing(now) != "active":
        return None
    return record.caller(account)


def why_refused(text: str, record: ApiKey | None, now: int) -> str:
    """Return why this key is not valid: unknown, wrong, expired or revoked."""
    if record is None:
        return "unknown"
    return record.standing(now) if compare_digest(digest_of(text), record.digest) else "wrong"


_KEY: Final = RecordCodec(ApiKey, rare="profile", strict=True, added="quotas groups project")
write_key: Final = _KEY.write
read_key: Final = _KEY.read
