"""Installs what capabilities offer to decisions on runs. Importing it installs them.

Every process that decides on runs imports this module before its first call. It imports nothing that uses Redis.
"""

from dcf.core.extensions import EXTENSIONS, Capability
from dcf.features import installed_language  # noqa: F401 - who decides on runs reads workflows
from dcf.features.installed import offers

EXTENSIONS.install(offers("capability", Capability))
