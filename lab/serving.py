"""A server process of the lab: `dcf serve` over HTTP, in stretched time, without a limit of calls per second."""

import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import SecretStr

from dcf.cli.processes import serve as serving
from dcf.errors import StoreUnavailable
from dcf.settings.process import Settings
from dcf.store.connection import opening
from lab.lost_answers import losing
from lab.process import Place
from lab.server_time import SharedTime, quicken, quicken_accounts, timed

_ENOUGH = 100_000
_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDuty:
    """Input of a server process: `settings` in addition to those of every server, `page`: the web page and /metrics.

    `loses` are the transactions of a hundred whose answers from Redis are lost.
    """

    port: int
    place: Place
    settings: Mapping[str, Any] = field(default_factory=dict)
    page: bool = False
    loses: int = 0


def main(duty: ServerDuty) -> None:
    """Serve until killed."""
    shared = SharedTime(duty.place.time_file)
    quicken()
    quicken_accounts(shared)
    names = vars(opening)
    names["connect"] = partial(names["connect"], around=losing(timed(shared), duty.loses))
    settings = Settings(
        redis_url=SecretStr(duty.place.url),
        mcp_port=duty.port,
        auth="keys" if duty.place.api_keys else "off",
        wait_replicas=duty.place.wait_replicas,
        pulse_interval_s=0.05,
        rate_per_s=_ENOUGH,
        rate_burst=_ENOUGH,
        max_concurrency=1000,
        **duty.settings,
    )
    while True:  # a server that starts while Redis is away ends, and its supervisor starts it again
        with suppress(StoreUnavailable):
            serving.serve("http", settings, None, _say_nothing, web=duty.page, with_metrics=duty.page)
        time.sleep(_AGAIN_S)


def _say_nothing(_: Mapping[str, object]) -> None:
    """Announce nothing: a caller that waits for the server asks its port."""


def answers(port: int) -> bool:
    """Return True if a server of MCP takes connections at this port."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
