"""Checks the Redis server once at start: whether dcf can run on it, and which failures its data would survive."""

from dataclasses import dataclass

from dcf.errors import StoreUnsuitable
from dcf.store.connection import Connections

_EVICTION_FREE = "noeviction"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Facts about the server. `warnings` are sentences about data that could be lost."""

    version: str
    modules: tuple[str, ...]
    appendonly: bool
    appendfsync: str | None
    maxmemory_policy: str
    warnings: tuple[str, ...]


def inspect_server(connections: Connections, *, wait_replicas: int = 0) -> ServerFacts:
    """Return facts about the server. Raise StoreUnsuitable if dcf cannot use it.

    `wait_replicas` is how many replicas must have a write before it is answered.
    """
    (info,) = connections.send(("INFO", "everything"))
    found = _fields(info.decode())
    modules = tuple(_module_names(info.decode()))
    if "ReJSON" not in modules:
        raise StoreUnsuitable("This Redis has no RedisJSON module, which dcf keeps its documents in.")
    appendonly = found.get("aof_enabled") == "1"
    policy = found.get("maxmemory_policy", "unknown")
    fsync = _appendfsync(connections)
    return ServerFacts(
        version=found.get("redis_version", "unknown"),
        modules=modules,
        appendonly=appendonly,
        appendfsync=fsync,
        maxmemory_policy=policy,
        warnings=(
            *_warnings(policy, fsync, appendonly=appendonly),
            *_of_replicas(int(found.get("connected_slaves", 0)), wait_replicas),
        ),
    )


def _warnings(policy: str, fsync: str | None, *, appendonly: bool) -> list[str]:
    warnings = []
    if not appendonly:
        warnings.append("appendonly is off: every run is lost when the server stops (set appendonly yes)")
    elif fsync is not None and fsync != "always":
        what = "a kill or a power loss may take the last two seconds"
        warnings.append(f"appendfsync is {fsync}: {what} (set appendfsync always)")
    if policy != _EVICTION_FREE:
        warnings.append(f"maxmemory-policy is {policy}: Redis may drop documents (set noeviction)")
    return warnings


def _of_replicas(connected: int, wait_replicas: int) -> list[str]:
    if not connected or wait_replicas:
        return []
    there = "a replica is" if connected == 1 else f"{connected} replicas are"
    return [f"{there} there and DCF_WAIT_REPLICAS is 0: a failover may take back what was answered (set it to 1)"]


def _appendfsync(connections: Connections) -> str | None:
    """Return the setting; None if this Redis user may not read it."""
    try:
        (reply,) = connections.send(("CONFIG", "GET", "appendfsync"))
    except StoreUnsuitable:
        return None
    return reply[1].decode() if reply else None


def _fields(info: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in info.splitlines() if not line.startswith(("#", "module:")))
    return {name: value for name, _, value in pairs}


def _module_names(info: str) -> list[str]:
    lines = [line.removeprefix("module:") for line in info.splitlines() if line.startswith("module:")]
    fields = [dict(part.split("=", 1) for part in line.split(",") if "=" in part) for line in lines]
    return [found["name"] for found in fields if "name" in found]
