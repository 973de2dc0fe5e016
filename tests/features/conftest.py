"""The shared fixtures of capabilities: dcf's tools in this process, its commands, and the Python client.

Where a test calls `dcf`, its `world` is that of all tests: both are on the session's Redis.
"""

from tests.cli.conftest import dcf, dcf_alone, seed
from tests.python.conftest import agent, client, clients, python_redis, served, server_url
from tests.tools.conftest import (
    _no_clock,
    alone,
    anyio_backend,
    application,
    operator,
    own_redis,
    raw_redis,
    replica,
    run_id,
    tools,
    walled,
)

__all__ = [
    "_no_clock",
    "agent",
    "alone",
    "anyio_backend",
    "application",
    "client",
    "clients",
    "dcf",
    "dcf_alone",
    "operator",
    "own_redis",
    "python_redis",
    "raw_redis",
    "replica",
    "run_id",
    "seed",
    "served",
    "server_url",
    "tools",
    "walled",
]
