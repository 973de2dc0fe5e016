"""An agent with a helper on its machine, for gates that are commands."""

from tests.local.conftest import connecting, local_url, project

__all__ = ["connecting", "local_url", "project"]
