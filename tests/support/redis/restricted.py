"""A Redis with the users of a deployment (`deploy/redis/users.acl`): dcf is one of them, the test an administrator."""

import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import redis

from dcf.store.keys import table as keys
from tests.support.paths import ROOT
from tests.support.redis.documents import STORED
from tests.support.redis.servers import MODULES, free_port, listens, running
from tests.support.waiting import wait_until

USERS = ROOT / "deploy" / "redis" / "users.acl"
_ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestrictedRedis:
    """`url` is for dcf, `admin_url` for the test; `is_whole_site`: only dcf writes to it, and no sweep runs."""

    socket: Path
    passwords: dict[str, str] = field(repr=False)
    is_whole_site: bool

    @property
    def url(self) -> str:
        return self.url_of("dcf")

    @property
    def admin_url(self) -> str:
        return self.url_of(_ADMIN)

    def url_of(self, user: str, password: str | None = None) -> str:
        return f"unix://{self.login(user, password)}@{self.socket}"

    def login(self, user: str = "dcf", password: str | None = None) -> str:
        return f"{user}:{password or self.passwords[user]}"

    def admin(self) -> redis.Redis:
        return redis.Redis.from_url(self.admin_url, protocol=2, decode_responses=True)

    def empty(self) -> None:
        """Forget all but workflow documents: a server does not write one again that it wrote within the hour.

        The record of the form of documents stays as well: who finds none sends more than a test expects.

        A key that dcf may not write is an error where only dcf writes.
        """
        with self.admin() as admin:
            result = admin.keys()
            with admin.pipeline(transaction=False) as each:  # one key at a time: they are of many slots
                for key in result:
                    if not key.startswith(_DOCUMENTS):
                        each.unlink(key)
                each.execute()
            if self.is_whole_site:
                admin.set(keys.SWEEP, "never")  # each test takes its runs off the clock's list
                assert_keys_are_ours(result)

    def removals(self) -> str:
        """Return how often expiry, eviction and each command have removed keys since the server started."""
        with self.admin() as admin:
            server, stats, commands = (admin.info(part) for part in ("server", "stats", "commandstats"))
        counts = {name: stats[name] for name in ("expired_keys", "evicted_keys")}
        counts |= {name: row["calls"] for name, row in commands.items() if name.removeprefix("cmdstat_") in _REMOVE}
        return f"up for {server['uptime_in_seconds']} s, " + ", ".join(f"{name} {n}" for name, n in counts.items())

    def refusals(self, user: str = "dcf") -> list[str]:
        """The commands that this user tried and may not call."""
        with self.admin() as admin:
            return [f"{item['object']} ({item['context']})" for item in admin.acl_log() if item["username"] == user]


def assert_keys_are_ours(result: Iterable[str]) -> None:
    """Fail for a key that dcf may not write."""
    strange = [key for key in result if not key.startswith(("cp:", "dp:", "doc:"))]
    assert strange == [], "every key of dcf begins with cp: or dp:, and that of a free document with doc:"


_DOCUMENTS: Final = (keys.definition(""), keys.definitions_named(""), keys.DOCUMENT_FORM)

_REMOVE: Final = ("flushall", "flushdb", "unlink", "del", "json.del", "replicaof", "swapdb")

RUNNING: Final[list[RestrictedRedis]] = []
"""Those that run now."""


@contextmanager
def restricted_redis(directory: Path, *, is_whole_site: bool = False) -> Iterator[RestrictedRedis]:
    """Run it until the block ends; that dcf tried what a deployment forbids is an error.

    Its own directory is next to `directory` and its name begins with it, since several folders may use a fixture.
    """
    directory = Path(tempfile.mkdtemp(prefix=f"{directory.name}-", dir=directory.parent))
    server = RestrictedRedis(
        socket=directory / "redis.sock",
        passwords={user: secrets.token_hex(16) for user in ("dcf", "operator", _ADMIN)},
        is_whole_site=is_whole_site,
    )
    acl = acl_file(directory, server.passwords)
    options = ["--port", "0", "--unixsocket", str(server.socket), "--dir", str(directory), "--appendonly", "yes"]
    options += ["--save", "", "--aclfile", str(acl), "--acllog-max-len", "1000", *MODULES]
    if "DCF_CHECK_SLOTS" in os.environ:
        options += ["--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--cluster-node-timeout", "500"]
    with running(*options):
        wait_until(lambda: listens(server.socket))
        if "DCF_CHECK_SLOTS" in os.environ:
            with server.admin() as admin_client:
                admin_client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
                wait_until(lambda: _serves(admin_client))
        server.empty()
        with server.admin() as admin_client:
            admin_client.set(keys.DOCUMENT_FORM, STORED.name)
        RUNNING.append(server)
        yield server
        RUNNING.remove(server)
        server.empty()
        refused = server.refusals()
    assert refused == [], f"deploy/redis/users.acl lets the user dcf do everything that dcf does, but not {refused}"


def acl_file(directory: Path, passwords: dict[str, str]) -> Path:
    """Write the users of a deployment, and an administrator."""
    acl_file = directory / "users.acl"
    admin = f"user {_ADMIN} on #{digest(passwords[_ADMIN])} ~* &* +@all\n"
    acl_file.write_text(rendered(USERS.read_text("utf-8"), passwords) + admin)
    return acl_file


def _serves(client: redis.Redis) -> bool:
    """Whether a server in cluster mode has taken its slots."""
    try:
        return not client.exists("doc:serves")
    except redis.ResponseError:
        return False


def rendered(users: str, passwords: dict[str, str], *, with_json: bool = STORED.name == "json") -> str:
    """Do what deploy/redis/start.sh does."""
    users = users if with_json else re.sub(r" \+json\.[a-z]*", "", users)
    lines = [line for line in users.replace("\\\n", "").splitlines() if line and not line.startswith("#")]
    text = "\n".join(re.sub(" +", " ", line) for line in lines) + "\n"
    return re.sub(r"\{(\w+)\}", lambda match: digest(passwords[match[1]]), text)


def digest(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()
