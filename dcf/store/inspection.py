"""Checks the Redis server once at start: whether dcf can run on it. How it is doing is read by `vitals`."""

from dcf.errors import StoreUnsuitable
from dcf.store.connection import Connections
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Facts about the server that do not change while it runs."""

    version: str
    modules: tuple[str, ...]


def inspect_server(connections: Connections) -> ServerFacts:
    """Return facts about the server, on a cluster about the last. Raise StoreUnsuitable if dcf cannot use one."""
    for server in connections.servers():
        (info,) = server.send(("INFO", "everything"))
        lines = info.decode().splitlines()
        modules = tuple(_module_names(lines))
        if "ReJSON" not in modules:
            raise StoreUnsuitable("This Redis has no RedisJSON module, which dcf keeps its documents in.")
    version = next((line.partition(":")[2] for line in lines if line.startswith("redis_version:")), "unknown")
    return ServerFacts(version=version, modules=modules)


def _module_names(lines: list[str]) -> list[str]:
    found = [line.removeprefix("module:") for line in lines if line.startswith("module:")]
    fields = [dict(part.split("=", 1) for part in line.split(",") if "=" in part) for line in found]
    return [one["name"] for one in fields if "name" in one]
