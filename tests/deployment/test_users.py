"""The users of deploy/redis/users.acl: a real server says what each may do, and dcf needs each of its rights."""

import re
from collections.abc import Iterator

import pytest
import redis
from redis.exceptions import AuthenticationError, NoPermissionError

from tests.support.paths import ROOT
from tests.support.redis.documents import read_command, write_command, write_many_command
from tests.support.redis.restricted import USERS, RestrictedRedis, rendered
from tests.support.tables import rows

LINES = {
    line.split()[1]: line.split()
    for line in rendered(USERS.read_text("utf-8"), dict.fromkeys(("dcf", "operator"), "x")).splitlines()
}
GRANTED = {user: [word[1:] for word in words if word.startswith("+")] for user, words in LINES.items()}
WHO_MAY_COME = [user for user, words in LINES.items() if "on" in words]
"""All but `default`, whose rights only Redis itself uses, to read its log."""

KEY = "cp:wf:r1:meta"

NEVER = [
    "FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "SELECT 1", "KEYS *", "RANDOMKEY",
    "CONFIG SET appendonly no", "CONFIG REWRITE", "CONFIG RESETSTAT", "MODULE LIST", "MODULE LOAD /tmp/x.so",
    "REPLICAOF 127.0.0.1 1", "SYNC", "PSYNC ? -1", "FAILOVER", "CLUSTER INFO",
    "ACL LIST", "ACL SETUSER x on", "ACL LOAD", "ACL LOG", "ACL DRYRUN dcf PING",
    "CLIENT LIST", "CLIENT KILL TYPE normal", "CLIENT PAUSE 1", "CLIENT NO-EVICT on", "MONITOR",
    "DEBUG SLEEP 0", "SHUTDOWN", "SAVE", "BGSAVE", "BGREWRITEAOF", "SLOWLOG GET", "LATENCY RESET",
    f"MIGRATE 127.0.0.1 1 {KEY} 0 1", f"RESTORE {KEY} 0 x", f"RENAME {KEY} {KEY}2",
    f"COPY {KEY} {KEY}2", f"MOVE {KEY} 1", f"SORT {KEY} BY other:* GET other:*", f"OBJECT ENCODING {KEY}",
    "FUNCTION LOAD x", "FUNCTION LIST", "FCALL f 0", "SCRIPT LOAD x", "SCRIPT FLUSH", "SCRIPT KILL", "EVALSHA x 0",
    "SUBSCRIBE c", "PSUBSCRIBE *", "PUBLISH c m", "SSUBSCRIBE c", "SPUBLISH c m", f"JSON.DEBUG MEMORY {KEY}",
]  # fmt: skip
NOT_FOR_EVERYONE = {
    "EVAL x 0": "dcf",
    "CONFIG GET appendfsync": "dcf",
    " ".join(map(str, write_command(KEY, "1"))): "dcf",
    f"DUMP {KEY}": "dcf",
    "SSUBSCRIBE cp:idx:{a1}:news": "dcf",
    "SPUBLISH cp:idx:{a1}:news m": "dcf",
    "DBSIZE": "operator",
}
STRANGE = ["other:x", "x", "cp:", "cp:w", "cp:other:x", "dp:idx:x", "docs:x", " cp:wf:r1:meta", "CP:wf:r1:meta"]
OWN = [KEY, "cp:wf:{r1}:meta", "dp:wf:r1:input:A", "cp:idx:runs", "doc:x"]


@pytest.fixture
def admin(server: RestrictedRedis) -> Iterator[redis.Redis]:
    with server.admin() as client:
        yield client


@pytest.fixture(scope="module")
def store_source() -> str:
    rooms = (ROOT / "dcf" / "store", ROOT / "dcf" / "features")
    return "".join(path.read_text("utf-8") for room in rooms for path in room.rglob("*.py"))


def may(admin: redis.Redis, user: str, *command: str | bytes | float) -> bool:
    reply: str = admin.execute_command("ACL", "DRYRUN", user, *command)  # type: ignore[no-untyped-call]
    assert reply == "OK" or "has no permissions" in reply or "no permissions to access" in reply, reply
    return reply == "OK"


@rows("user", WHO_MAY_COME)
def test_a_dangerous_command_is_refused_to_every_user(admin: redis.Redis, user: str) -> None:
    assert [command for command in NEVER if may(admin, user, *command.split())] == []


def test_without_a_name_nobody_gets_in(server: RestrictedRedis) -> None:
    assert set(LINES) - set(WHO_MAY_COME) == {"default"}
    assert {"off", "resetpass"} <= set(LINES["default"])
    for login in ("", "default:@", "default:any@"):
        with redis.Redis.from_url(f"unix://{login}{server.socket}") as client, pytest.raises(AuthenticationError):
            client.get(KEY)


@rows("command, only_user", NOT_FOR_EVERYONE.items())
def test_some_commands_are_for_one_user_only(admin: redis.Redis, command: str, only_user: str) -> None:
    assert [user for user in WHO_MAY_COME if may(admin, user, *command.split())] == [only_user]


@rows("key", STRANGE)
def test_other_keys_are_nobodys(admin: redis.Redis, key: str) -> None:
    wishes = [read_command(key), write_command(key, "1"), write_many_command({KEY: "1", key: "1"})]
    wishes += [("GET", key), ("TYPE", key), ("XRANGE", key, "-", "+"), ("ZRANGE", key, "0", "-1"), ("SET", key, "1")]
    wishes += [("DEL", KEY, key), ("EVAL", "return 1", "1", key), ("WATCH", key), ("XADD", key, "*", "a", "b")]
    wishes += [("XREADGROUP", "GROUP", "g", "c", "STREAMS", key, ">"), ("EXPIRE", key, "1")]
    assert [(user, wish) for user in WHO_MAY_COME for wish in wishes if may(admin, user, *wish)] == []


@rows("key", OWN)
def test_the_keys_of_dcf_are_for_dcf_and_for_looking(admin: redis.Redis, key: str) -> None:
    assert [user for user in WHO_MAY_COME if may(admin, user, *read_command(key))] == ["dcf", "operator"]
    assert [user for user in WHO_MAY_COME if may(admin, user, *write_command(key, "1"))] == ["dcf"]


@rows("name", GRANTED["operator"])
def test_an_operator_has_no_command_that_writes(admin: redis.Redis, name: str) -> None:
    reply = admin.execute_command("COMMAND", "INFO", name)  # type: ignore[no-untyped-call]
    flags = reply[name]["flags"] if isinstance(reply, dict) else reply[0][2]
    assert "write" not in flags
    assert "admin" not in flags


@rows("name", sorted(set(GRANTED["dcf"]) - {"client|setinfo", "cluster|slots"}))
def test_dcf_has_no_command_that_it_never_sends(store_source: str, name: str) -> None:
    """But for those by which redis-py introduces itself, and learns the slots of a cluster."""
    word = name.partition("|")[0]
    sent = re.compile(rf"""["']{re.escape(word.upper())}["']|\b_?client\.{re.escape(name.replace("|", "_"))}\(""")
    assert sent.search(store_source)


def test_what_a_user_may_not_do_is_noticed(server: RestrictedRedis) -> None:
    """The commands that end the session with an error for the user dcf."""
    with server.admin() as admin:
        admin.execute_command("ACL", "SETUSER", "curious", "on", ">x", "~*", "+get")
    with redis.Redis.from_url(server.url_of("curious", "x")) as client, pytest.raises(NoPermissionError):
        client.execute_command("FLUSHALL")
    with server.admin() as admin:
        admin.acl_deluser("curious")
    assert "flushall (toplevel)" in server.refusals("curious")
