"""Who calls and what they may do: scopes, callers, API keys. Pure: nothing is drawn, read or written here.

A key is `dcf_<id>_<secret>`. Its secret is 256 random bits, so one round of SHA-256 is enough to store it: slow hashes
make *guessing* a weak password expensive, and 2^256 values cannot be guessed however fast a guess is.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hmac import compare_digest

from dcf.values.json_text import Json

SECRET_BYTES = 32
_TEXT = re.compile(r"dcf_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LONGEST_TEXT = 100
_NO_DIGEST = "0" * 64


class Scope(StrEnum):
    """What a caller may do. None includes another: a key lists all that it grants."""

    READ = "read"
    WORK = "work"
    PLAN = "plan"
    OPERATE = "operate"
    ADMIN = "admin"


MEANINGS: Mapping[Scope, str] = {
    Scope.READ: "look at runs, skills and documents; every key needs it to connect",
    Scope.WORK: "lease states, write their results, wait for events, load skills",
    Scope.PLAN: "create, start and finalize runs and their agents",
    Scope.OPERATE: "act for others: force a release, ignore assignments, change documents by hand",
    Scope.ADMIN: "write files of the server: generated manifests and stub configuration",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who made a call. `name` stands in the history of runs; with an `agent_id` the caller is that agent only."""

    name: str
    scopes: frozenset[Scope]
    agent_id: str | None = None
    local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """What is stored of a key: never the key. Times are the server's, in microseconds."""

    key_id: str
    digest: str
    scopes: tuple[Scope, ...]
    created_at: int
    agent_id: str | None = None
    label: str | None = None
    expires_at: int | None = None
    revoked_at: int | None = None

    def standing(self, now: int) -> str:
        """Tell in a word whether the key opens anything: active, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and now >= self.expires_at else "active"

    def caller(self) -> Caller:
        """Return who calls with this key."""
        return Caller(name=f"key:{self.key_id}", scopes=frozenset(self.scopes), agent_id=self.agent_id)


NOBODY = Caller(name="nobody", scopes=frozenset())
"""Who calls where nobody said so; nothing is allowed."""


def local_caller(*, operator: bool) -> Caller:
    """Return the local user: whoever can start the server may use it; acting for others has to be asked for."""
    scopes = frozenset(Scope) if operator else frozenset(Scope) - {Scope.OPERATE}
    return Caller(name="local", scopes=scopes, local=True)


def key_text(key_id: str, secret: str) -> str:
    """Write the key as its owner gets it, once."""
    return f"dcf_{key_id}_{secret}"


def key_id_of(text: str) -> str | None:
    """Return the id in a key, None for what has not the form of one."""
    found = _TEXT.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    return None if found is None else found[1]


def digest_of(text: str) -> str:
    """Return what is stored of a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def admit(text: str, record: ApiKey | None, now: int) -> Caller | None:
    """Return who calls with this key; None for every reason not to, which all take the same time."""
    same = compare_digest(digest_of(text), _NO_DIGEST if record is None else record.digest)
    if record is None or not same or record.standing(now) != "active":
        return None
    return record.caller()


def write_key(key: ApiKey) -> dict[str, Json]:
    """Write the stored document."""
    return {
        "key_id": key.key_id,
        "digest": key.digest,
        "scopes": [str(scope) for scope in key.scopes],
        "agent_id": key.agent_id,
        "label": key.label,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }


def read_key(document: Mapping[str, Json]) -> ApiKey:
    """Read the stored document."""
    return ApiKey(
        key_id=document["key_id"],
        digest=document["digest"],
        scopes=tuple(map(Scope, document["scopes"])),
        agent_id=document["agent_id"],
        label=document["label"],
        created_at=document["created_at"],
        expires_at=document["expires_at"],
        revoked_at=document["revoked_at"],
    )
