"""Run inside Letta's own environment: the server, with MCP servers on this machine let through.

Since 0.16.7 Letta refuses every address that is not public, with no setting to change it. Not typed against Letta,
which is not installed where this project is checked. Arguments: port, yes or no for the exception.
"""

import importlib
import ipaddress
import sys
from typing import Any
from urllib.parse import urlparse


def _is_local(url: str) -> bool:
    host = urlparse(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _let_local_through() -> None:
    strict = importlib.import_module("letta.helpers.url_validation").validate_mcp_server_url

    def validate(url: str, **options: Any) -> Any:
        return url if _is_local(url) else strict(url, **options)

    for module in list(sys.modules.values()):
        if getattr(module, "validate_mcp_server_url", None) is strict:
            vars(module)["validate_mcp_server_url"] = validate


if __name__ == "__main__":
    app: Any = importlib.import_module("letta.server.rest_api.app")
    if sys.argv[2] == "yes":
        _let_local_through()
    app.start_server(host="127.0.0.1", port=int(sys.argv[1]))
