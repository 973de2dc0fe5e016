"""Checks the Redis server once at start: whether dcf can run on it. How it is doing is read by `health/storage.py`."""

from collections.abc import Mapping
from typing import Final

import redis

from dcf.errors import StoreUnsuitable
from dcf.store.connection import faults, layout
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections, checked
from dcf.store.forms.form import FormName
from dcf.store.keys import table as keys
from dcf.values.records import record

_SCRIPT: Final[Command] = ("EVAL", "return 1", 1, keys.PROBE)
_NEEDED: Final[Mapping[FormName, Mapping[str, Command]]] = {
    "json": {
        "JSON.GET": ("JSON.GET", keys.PROBE),
        "JSON.MGET": ("JSON.MGET", keys.PROBE, "$"),
        "JSON.DEL": ("JSON.DEL", keys.PROBE),
        "JSON.SET": ("JSON.SET", keys.PROBE, "$", "1", "XX"),
        "JSON.MSET": ("JSON.MSET", keys.PROBE, "$.nothing", "1"),
        "EVAL": _SCRIPT,
    },
    "text": {
        "MGET": ("MGET", keys.PROBE),
        "SET KEEPTTL": ("SET", keys.PROBE, "1", "XX", "KEEPTTL"),
        "HGET": ("HGET", keys.PROBE, "a"),
        "HMGET": ("HMGET", keys.PROBE, "a"),
        "HGETALL": ("HGETALL", keys.PROBE),
        "HKEYS": ("HKEYS", keys.PROBE),
        "EVAL": _SCRIPT,
        # The writes are not carried out, but Redis says at once whether the user may send them.
        "MULTI": ("MULTI",),
        "MSET": ("MSET", keys.PROBE, "1"),
        "HSET": ("HSET", keys.PROBE, "a", "1"),
        "HDEL": ("HDEL", keys.PROBE, "a"),
        "DISCARD": ("DISCARD",),
    },
}
"""Commands that dcf needs and a service may lack, by the form of the documents. None of them has an effect.

They are tried, not looked up: services have JSON under other module names, and refuse COMMAND and MODULE.
"""

_NEEDED_IN_CLUSTER: Final[Mapping[str, Command]] = {
    "SPUBLISH": ("SPUBLISH", keys.PROBE, ""),
    "SSUBSCRIBE": ("SSUBSCRIBE", keys.news("a", 2), keys.PROBE),
}
"""The same for a cluster. The channel has no listeners, and one SSUBSCRIBE may not name two of different slots."""

_ACKNOWLEDGED: Final[Command] = ("WAIT", 0, 0)
"""A WAIT for no replica, which returns at once."""

_REMEDY: Final = (
    "Use Redis or Valkey 7.0 or later, or a service with Lua scripts (docs/operating/managed-redis.md), or leave"
    " REDIS_URL unset to use the embedded server."
)


@record(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Facts about the server that do not change while it runs. Where INFO is refused, only `product` is a guess.

    `version` is that of the product: every Valkey says `redis_version:7.2.4`. `executable` is the path of its
    program. `layout` is the version of the key layout.
    """

    product: str
    version: str
    modules: tuple[str, ...]
    executable: str | None
    documents: FormName
    layout: int


def inspect_server(connections: Connections, wait_replicas: int = 0) -> ServerFacts:
    """Return facts about the server, on a cluster about one of its servers.

    Raise StoreUnsuitable if dcf cannot use it, or cannot wait for replicas there.
    """
    needed: dict[str, Command] = {"SET": layout.WRITE, "GET": layout.READ, **_NEEDED[connections.form.name]}
    if wait_replicas:
        needed["WAIT"] = _ACKNOWLEDGED
    if connections.shards > 1:
        needed |= _NEEDED_IN_CLUSTER
    lines: list[str] = []
    version = layout.FIRST
    for server in connections.servers():
        info, *replies = server.ask(("INFO", "everything"), *needed.values())
        for name, reply in zip(needed, replies, strict=True):
            _check(name, reply)
            if name == "GET" and isinstance(reply, bytes):
                version = _layout_of(reply)
        lines = _lines(info)
    if "cluster_enabled:1" in lines and connections.shards == 1:
        raise faults.node_of_cluster()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    product, product_version = product_of(fields)
    return ServerFacts(
        product=product,
        version=product_version,
        modules=tuple(_module_names(lines)),
        executable=fields.get("executable"),
        documents=connections.form.name,
        layout=version,
    )


def product_of(info: Mapping[str, str]) -> tuple[str, str]:
    """Return the product and its version, by INFO. Valkey's `redis_version` is always that of an old Redis."""
    if info.get("server_name") == "valkey":
        return "Valkey", info.get("valkey_version", "unknown")
    return "Redis", info.get("redis_version", "unknown")


def _check(name: str, reply: Reply) -> None:
    """Raise StoreUnsuitable if the command is refused; whether it succeeds just now is not asked here."""
    if not isinstance(reply, redis.ResponseError) or not faults.is_refused(reply):
        return
    if name == "WAIT":
        raise StoreUnsuitable(
            "Redis refuses WAIT, without which dcf cannot know what replicas have (DCF_WAIT_REPLICAS is not 0).",
            "Allow WAIT to the user of REDIS_URL, or set DCF_WAIT_REPLICAS=0: a failover may then take back what was"
            " answered.",
        )
    if not faults.is_unknown(reply):
        raise faults.not_allowed(name)
    if name.startswith("JSON."):
        raise StoreUnsuitable(
            "The documents of this Redis need RedisJSON, which this server does not have.",
            "Start a server that has the module. There, 'dcf store move --to text' makes it needless.",
        )
    raise StoreUnsuitable(f"This Redis has no {name}, which dcf needs.", _REMEDY)


def _layout_of(record: bytes) -> int:
    """Return the version. Raise StoreUnsuitable if a newer dcf has written the record since this connection read it."""
    refusal = layout.refusal_of(record)
    if refusal is not None:
        raise refusal
    return layout.version_of(record)


def _lines(info: Reply) -> list[str]:
    if isinstance(info, redis.ResponseError) and faults.is_refused(info):
        return []
    text: bytes = checked(info)
    return text.decode().splitlines()


def _module_names(lines: list[str]) -> list[str]:
    names = [line.removeprefix("module:") for line in lines if line.startswith("module:")]
    fields = [dict(part.split("=", 1) for part in line.split(",") if "=" in part) for line in names]
    return [module["name"] for module in fields if "name" in module]
