"""dcf's tools in this process, as the tests of the tools have them."""

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
    "alone",
    "anyio_backend",
    "application",
    "operator",
    "own_redis",
    "raw_redis",
    "replica",
    "run_id",
    "tools",
    "walled",
]
