"""Real processes, as in `tests/system/processes`."""

from tests.system.processes.conftest import hooks, shared_server, shared_site, site, tools

__all__ = ["hooks", "shared_server", "shared_site", "site", "tools"]
