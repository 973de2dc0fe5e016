"""Stories of several clients at servers that die."""

from tests.tools.conftest import anyio_backend, application, own_redis, replica, run_id

__all__ = ["anyio_backend", "application", "own_redis", "replica", "run_id"]
