"""Runs the server of a stub configuration.

It stands apart from `serving`: the server of the MCP tools must not import the JSON Schema library, which takes 3 % of
its start.
"""

import time
from datetime import UTC, datetime
from pathlib import Path

from dcf.cli.processes.serve import Announce, open_listener, serve_app, url_of
from dcf.settings.process import Settings
from dcf.stub.config_file import ConfigFile
from dcf.stub.server import build_app
from dcf.stub.service import Service


def serve_stub(path: Path, settings: Settings, seed: int, announce: Announce) -> None:
    """Serve the tools of a stub configuration until told to stop."""
    service = Service(ConfigFile(path), seed=seed, now=lambda: datetime.now(UTC), monotonic=time.monotonic)
    with open_listener(settings) as listener:
        serve_app(build_app(service, settings), settings, listener, url_of(listener), announce)
