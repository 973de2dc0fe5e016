"""The fixtures of the folders whose long forms are here."""

from tests.files.conftest import outside, root, tree
from tests.tools.conftest import _no_clock, anyio_backend, application, own_redis, raw_redis, replica

__all__ = [
    "_no_clock",
    "anyio_backend",
    "application",
    "outside",
    "own_redis",
    "raw_redis",
    "replica",
    "root",
    "tree",
]
