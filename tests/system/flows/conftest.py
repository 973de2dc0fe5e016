"""Real processes, as in `tests/system/processes`."""

from tests.system.processes.conftest import site

__all__ = ["site"]
