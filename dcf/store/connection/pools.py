"""Pools of connections to Redis, and the asynchronous clients that wait: made from a URL, each with fixed options."""

from collections.abc import Mapping, Sequence
from typing import Any

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from dcf.store.connection.handshake import BEGUN
from dcf.store.connection.url import names_sentinels, sentinel_target, url_errors, use_files

MOST_CONNECTIONS = 512
"""Connections of one process to Redis at the same time. Only work takes any: one for each thread that is at it."""

_TIMEOUT_S = 5.0
_AsyncSentinel: Any = redis.asyncio.Sentinel  # redis-py leaves its sentinels untyped
_SENTINEL_OPTIONS = {"socket_timeout": 1.0, "socket_connect_timeout": 1.0, "retry": Retry(NoBackoff(), 0)}
_FIXED: dict[str, Any] = {"protocol": 2, "decode_responses": False}
"""Options that the protocol relies on; a URL's query may not change them."""
_UNTIMED: dict[str, Any] = {"socket_timeout": None}


def open_async_client(url: str) -> redis.asyncio.Redis:
    """Open an asynchronous client for the same URL, for waiting only. It has no socket timeout: callers bound the wait.

    With a socket_timeout, redis-py sends through `asyncio.wait_for`, which in Python 3.11 loses a cancellation that
    arrives just as the sending ends (measured: one in five waits that were cancelled early went on to the end).
    """
    options = waiting_options()
    if not names_sentinels(url):
        return redis.asyncio.Redis.from_pool(pool_of(redis.asyncio.ConnectionPool, url, options, _UNTIMED))
    target = sentinel_target(url)
    sentinel = _AsyncSentinel(target.hosts, sentinel_kwargs=_SENTINEL_OPTIONS | {"retry": None})
    client: redis.asyncio.Redis = sentinel.master_for(target.master, **options | target.options | _FIXED | _UNTIMED)
    _tried(client.connection_pool)
    return client


def waiting_options() -> dict[str, Any]:
    """Return the options of every asynchronous connection."""
    return pool_options() | _UNTIMED | {"retry": None}


async def close_async_client(client: redis.asyncio.Redis) -> None:
    """Close a client of `open_async_client`, and its connections to sentinels."""
    await client.aclose()
    for sentinel in sentinels(client.connection_pool):
        await sentinel.aclose()


def place_of(pool: object) -> str | None:
    """Return the address that a pool connects to, without the user and password of its URL."""
    master = getattr(pool, "service_name", None)
    if master is not None:
        places = (_address(client.connection_pool.connection_kwargs) for client in sentinels(pool))
        return f"the master '{master}' of the sentinels at {', '.join(places)}"
    options: Mapping[str, Any] | None = getattr(pool, "connection_kwargs", None)
    return None if options is None else options.get("path") or _address(options)


def _address(options: Mapping[str, Any]) -> str:
    host, port = options.get("host", "localhost"), options.get("port", 6379)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def sentinels(pool: object) -> Sequence[Any]:
    """Return the clients of the sentinels that a pool asks for the primary; none for any other pool."""
    manager = getattr(pool, "sentinel_manager", None)
    return () if manager is None else manager.sentinels


def pool_of(kind: Any, url: str, options: dict[str, Any], fixed: dict[str, Any] | None = None) -> Any:
    """Open a pool for a URL that names one server."""
    with url_errors():
        pool = kind.from_url(url, **options)
        pool.connection_kwargs |= _FIXED | (fixed or {})
        use_files(pool.connection_kwargs)
    return _tried(pool)


def _tried(pool: Any) -> Any:
    """Return a pool. Raise InvalidArgument if no connection can have its options; it does not connect."""
    with url_errors():
        pool.connection_class(**pool.connection_kwargs)
    return pool


def sentinel_pool(url: str) -> Any:
    """Open a pool of connections to the primary that sentinels know."""
    target = sentinel_target(url)
    make: Any = Sentinel  # redis-py leaves its synchronous sentinel untyped
    sentinel = make(target.hosts, sentinel_kwargs=_SENTINEL_OPTIONS)
    options = pool_options() | target.options | _FIXED | BEGUN
    return _tried(sentinel.master_for(target.master, **options).connection_pool)


def pool_options() -> dict[str, Any]:
    """Return the options of every connection."""
    return {
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": _TIMEOUT_S,
        "socket_connect_timeout": 2.0,
        "health_check_interval": 0,
        "max_connections": MOST_CONNECTIONS,
        **_FIXED,
    }
