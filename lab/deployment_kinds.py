"""The kinds of faults that need servers of another sort than the drawn runs have: each has a deployment in addition."""

import random
from collections.abc import Sequence
from typing import Any, Final

from lab import two_versions
from lab.bombs import Bombs
from lab.crews import Crew
from lab.deployments import Deployment, Host
from lab.extras import Bench, Errands
from lab.hooks import FAITHFUL, Hooks, Receivers
from lab.kind import Kind, freeze_worker, kill_worker
from lab.two_versions import TwoVersions, checked_out

_MEMORY: Final = 3 * 1024**3 // 2
_HOUR_S: Final = 3600
_ALL_AT_ONCE: Final = 0.2
"""How often all servers of the deployment are killed, and not one of them."""


class Beside(Kind):
    """Workers of the drawn runs are killed and frozen, and servers of the additional deployment are killed."""

    pause_s = (0.7, 2.0)
    kills = True

    def open(self) -> None:
        """Start the deployment as well."""
        super().open()
        self.deployment = self.stack.enter_context(self.deployed())

    def deployed(self) -> Deployment:
        """Return the deployment, which is not started yet."""
        return Deployment(self.home / "deployment", self.hosts())

    def hosts(self) -> Sequence[Host]:
        """Return where its servers run."""
        return (Host(), Host())

    def begin(self) -> None:
        """Begin with an empty Redis there too."""
        super().begin()
        self.deployment.client().flushall()

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill or freeze a worker, or kill a server of the deployment."""
        if not self.kills or luck.random() < 0.5:
            return luck.choice((freeze_worker, kill_worker))(luck, crew)
        everywhere = range(len(self.deployment.urls))
        numbers = [*everywhere] if luck.random() < _ALL_AT_ONCE else [luck.choice(everywhere)]
        self.deployment.kill(*numbers)
        return f"killed servers {numbers} of the deployment"


class Webhooks(Beside):
    """Receivers of webhooks take their work, and their answers are lost."""

    name = "webhooks"

    def open(self) -> None:
        """Listen for webhooks."""
        self.receivers = Receivers()
        self.stack.callback(self.receivers.close)
        super().open()

    def deployed(self) -> Deployment:
        """Trust the lab's receivers."""
        trusted = f"http://127.0.0.1:{self.receivers.port}/"
        return Deployment(self.home / "deployment", self.hosts(), DCF_WEBHOOK_ENDPOINTS=trusted)

    def errands(self, bench: Bench) -> Errands[Any]:
        """Have a webhook work for each seed."""
        return Hooks(bench, self.deployment, self.receivers)


class HostClocks(Webhooks):
    """The clocks of the servers' hosts are wrong: an hour ahead, two hours behind."""

    name = "host-clocks"

    def hosts(self) -> Sequence[Host]:
        """Set their clocks wrong."""
        return (Host(ahead_s=_HOUR_S), Host(ahead_s=-2 * _HOUR_S))

    def errands(self, bench: Bench) -> Errands[Any]:
        """Have a webhook that answers work for each seed."""
        return Hooks(bench, self.deployment, self.receivers, FAITHFUL)


class Versions(Beside):
    """One server is of an older version, as while a deployment is replaced; DCF_LAB_OLD names its commit."""

    name = "versions"

    @classmethod
    def why_not(cls) -> str | None:
        """Ask for the older version."""
        return two_versions.why_not()

    def hosts(self) -> Sequence[Host]:
        """Check the older version out."""
        old = self.home / "old"
        old.mkdir()
        return (Host(), Host(program=checked_out(old)))

    def errands(self, bench: Bench) -> Errands[Any]:
        """Have a worker call both for each seed."""
        return TwoVersions(bench, self.deployment)


class ExpressionBombs(Beside):
    """Workflows have expressions that want all memory or never end; the servers may have a bounded address space."""

    name = "bombs"
    kills = False

    def hosts(self) -> Sequence[Host]:
        """Bound their memory, so that a bomb strikes them alone."""
        return (Host(memory=_MEMORY),)

    def errands(self, bench: Bench) -> Errands[Any]:
        """Throw a bomb for each seed."""
        return Bombs(bench, self.deployment)
