"""The kinds of faults that callers over HTTP meet: frozen long polls."""

import random
from pathlib import Path
from typing import Any

from lab.crews import Crew
from lab.extras import Bench, Errands
from lab.kind import Kind, kill_clock, strike_server
from lab.polling import Polls


class OverHttp(Kind):
    """A kind with servers of MCP, which are killed and frozen, and so are clocks; workers call over HTTP with API keys."""

    def __init__(self, home: Path, *, acl: bool = False, http: bool = False) -> None:
        super().__init__(home, acl=acl, http=True)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill or freeze a server, or kill a clock."""
        return kill_clock(luck, crew) if luck.random() < 0.5 else strike_server(luck, self.servers)


class Servers(OverHttp):
    """Servers of MCP are killed and frozen, and so are clock processes."""

    name = "servers"


class FrozenPolls(OverHttp):
    """Clients are frozen while they wait for a task, and the task is leased to them."""

    name = "frozen-polls"
    pause_s = (0.3, 1.0)

    def errands(self, bench: Bench) -> Errands[Any]:
        """Freeze a client for each seed."""
        return Polls(bench)
