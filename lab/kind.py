"""The base of every kind of faults: servers that live over many batches, a way to them, strikes, an end of trouble."""

import random
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dcf.core.access.model import Scope
from dcf.store.access.api_keys import AccessKeys
from lab import packets, serving, worker
from lab.crews import AGENTS, LAB, Crew
from lab.extras import Bench, Errands, NoErrands
from lab.packets import Controls, ProxyDuty
from lab.process import Place, opened
from lab.redis_servers import LabRedis, Users
from lab.server_time import SharedTime
from lab.serving import ServerDuty, answers
from tests.support.redis.servers import free_port, listens
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lab.worker import Duty


class Kind(ABC):
    """Servers that live as long as the kind is tried. `strike` does one thing wrong, `heal` leaves everything well."""

    name: str
    pause_s: tuple[float, float] = (0.05, 0.25)
    striking_s: float = 30.0
    patience_s: float = 20.0
    """Seconds without any progress after which what is still open counts as standing still."""

    honest: bool = False
    sweeps: bool = False
    """Whether lists may keep entries that the sweep takes off: a command about another node may fail alone."""

    @classmethod
    def why_not(cls) -> str | None:
        """Return why this kind cannot be tried on this machine; None if it can."""
        return None

    def __init__(self, home: Path, *, acl: bool = False, http: bool = False) -> None:
        self.home = home
        self.users = Users.drawn() if acl else None
        self.http = http
        self.servers = Crew(home / "logs")
        self.ports = (free_port(), free_port())
        self.api_keys: Mapping[str, str] = {}
        self.stack = ExitStack()
        self.losses: list[tuple[float, float]] = []
        self.struck = 0
        home.mkdir(parents=True, exist_ok=True)
        self.time_file = home / "time"
        self.time = SharedTime(self.time_file)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stack.close()

    def open(self) -> None:
        """Start the servers: one Redis, unless the kind needs others."""
        self.redis = self.stack.enter_context(self.server("redis"))
        self.stack.callback(self.servers.end)

    def server(self, name: str) -> LabRedis:
        """Return a Redis that is not started yet."""
        return LabRedis(self.home / name, *self.options(), users=self.users)

    def options(self) -> tuple[str, ...]:
        """Return the options of the Redis."""
        return ("--appendonly", "no")

    def place(self) -> Place:
        """Return where clocks and workers find dcf's Redis."""
        login = "" if self.users is None else self.users.login()
        return Place(url=f"redis://{login}127.0.0.1:{self.way_in()}", time_file=self.time_file)

    def way_in(self) -> int:
        """Return the port that dcf connects to."""
        return self.redis.port

    def duty(self, port: int, place: Place) -> ServerDuty:
        """Return what a server of MCP of this kind is given."""
        return ServerDuty(port=port, place=place)

    @property
    def work(self) -> "Callable[[Duty], None]":
        """Return what worker processes run."""
        return worker.main

    def closures(self) -> "Mapping[str, Sequence[tuple[int, int]]]":
        """Return when a usage limit closed the account of each agent, in microseconds of the machine."""
        return {}

    def errands(self, bench: Bench) -> Errands[Any]:
        """Begin the errands of this kind for each seed, in addition to the drawn runs, with rules of their own."""
        return NoErrands(bench)

    def workplace(self) -> Place:
        """Return where workers go: to Redis, or to servers of MCP."""
        if not self.http:
            return self.place()
        urls = tuple(f"http://127.0.0.1:{port}/mcp" for port in self.ports)
        return replace(self.place(), server_urls=urls, api_keys=self.api_keys)

    def client(self) -> Any:
        """Return a plain client of the Redis that counts."""
        return self.redis.client()

    @abstractmethod
    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Do one thing wrong; what it was."""

    def heal(self, crew: Crew) -> None:
        """Leave everything well, so that all runs can end."""
        for name in crew.names:
            crew.thaw(name)

    def begin(self) -> None:
        """Begin a batch with an empty Redis."""
        self.losses.clear()
        self.struck = 0
        self.client().flushall()
        if self.http:
            self._serve()

    def complaints(self) -> list[str]:
        """Return what the servers themselves complain of: commands that deploy/redis/users.acl does not give dcf."""
        return [] if self.users is None else self.redis.refusals()

    def _serve(self) -> None:
        """Make an API key for each agent, and start the servers of MCP unless they run."""
        with opened(self.place()) as dcf:
            keys = AccessKeys(dcf.connections)
            scopes = (Scope.READ, Scope.WORK)
            made = {agent: keys.create(scopes, agent_id=agent, label=None, life_s=None) for agent in AGENTS}
            made[LAB] = keys.create((*scopes, Scope.PLAN), agent_id=None, label=None, life_s=None)
        self.api_keys = {agent: key.text for agent, key in made.items()}
        place = replace(self.place(), api_keys=self.api_keys)
        for port in self.ports if not self.servers.names else ():
            self.servers.start(f"server {port}", serving.main, self.duty(port, place))
        for port in self.ports:
            wait_until(lambda port=port: answers(port), 60)  # type: ignore[misc]


def freeze_worker(luck: random.Random, crew: Crew) -> str:
    """Freeze a worker process for longer than most leases last, or for a moment."""
    name, length = _drawn(luck, crew, "worker"), luck.choice((0.05, 0.3, 0.9))
    crew.freeze(name)
    time.sleep(length)
    crew.thaw(name)
    return f"froze {name} for {length} s"


def kill_worker(luck: random.Random, crew: Crew) -> str:
    """Kill a worker process; another takes its place."""
    name = _drawn(luck, crew, "worker")
    crew.kill(name)
    return f"killed {name}"


def kill_clock(luck: random.Random, crew: Crew) -> str:
    """Kill a clock process; another takes its place."""
    name = _drawn(luck, crew, "clock")
    crew.kill(name)
    return f"killed {name}"


def kill_redis(luck: random.Random, server: LabRedis) -> str:
    """Kill the redis-server, and start it again at once or a little later."""
    server.kill()
    time.sleep(luck.choice((0.0, 0.1)))
    server.start()
    return "killed redis-server"


def strike_server(luck: random.Random, servers: Crew) -> str:
    """Kill a server of MCP, or freeze it for a moment."""
    name = luck.choice(servers.names)
    if luck.random() < 0.5:
        servers.kill(name)
        return f"killed {name}"
    length = luck.choice((0.05, 0.3, 0.7))
    servers.freeze(name)
    time.sleep(length)
    servers.thaw(name)
    return f"froze {name} for {length} s"


def _drawn(luck: random.Random, crew: Crew, prefix: str) -> str:
    return luck.choice([name for name in crew.names if name.startswith(prefix)])


class BehindProxy(Kind):
    """A kind whose clients reach Redis through a proxy of the lab."""

    def open(self) -> None:
        """Start a Redis and a proxy before it."""
        super().open()
        self.controls = Controls(self.home / "controls")
        self.controls.target = self.redis.port
        self.port = free_port()
        self.proxies = Crew(self.home / "logs")
        self.stack.callback(self.proxies.end)
        duty = ProxyDuty(port=self.port, controls=self.home / "controls", sockets=self.sockets())
        self.proxies.start("proxy", packets.main, duty)
        wait_until(lambda: listens(self.port))

    def sockets(self) -> Path | None:
        """Return where the unix sockets of the servers are, if they are in other networks."""
        return None

    def way_in(self) -> int:
        """Lead everybody through the proxy."""
        return self.port
