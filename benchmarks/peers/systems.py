"""The systems that are measured: what is started for each, what it can do, and how large its runs may be.

A new way to use dcf, or a new peer, is one more entry of `SYSTEMS`.
"""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final

import dcf
from benchmarks.peers.crew import Command
from benchmarks.peers.environments import PACKAGES, Environments, NotInstalled, npm_packages
from benchmarks.peers.programs.parts import Options
from benchmarks.peers.redis_server import free_port

_PROGRAMS: Final = "benchmarks.peers.programs"
_FUNCTIONS: Final = f"{_PROGRAMS}.dcf_functions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the runs of a system are: smaller than 1,000 steps where they would take too long."""

    chain: int = 1000
    dag: int = 45
    map: int = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """Where systems are started: their environments, and a folder for the files of a turn."""

    environments: Environments
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system. `start` returns its processes for some options; it raises NotInstalled where there are none."""

    name: str
    title: str
    start: Callable[[Place, Options], list[Command]]
    version: str
    sizes: Sizes = Sizes()
    crowd_sizes: Sizes | None = None
    """The sizes with several workers, where they differ."""
    has_concurrency: Callable[[], bool] = lambda: True
    submits_first: bool = True
    """Whether no step is done before the call that submits a run returns, or only few."""
    on_cluster: bool = False
    """Whether its Redis is a cluster of three primaries instead of one server."""
    wakes: bool = True
    """Whether work is handed from one worker to another by the system; a library's user has a loop of their own."""

    def size(self, shape: str, workers: int) -> int:
        """Return how large a run of this shape is."""
        sizes = self.crowd_sizes if self.crowd_sizes and workers > 1 else self.sizes
        size: int = getattr(sizes, shape)
        return size


def _program(python: str, module: str, role: str, options: Options) -> Command:
    kind = "worker" if role.endswith("worker") else "driver"
    words = [python, "-m", f"{_PROGRAMS}.{module}", role, json.dumps(asdict(options))]
    return Command(kind="worker" if kind == "worker" else "driver", words=words)


def each_worker(options: Options) -> list[Options]:
    """Return the options of every worker: its number, and the queue it serves."""
    return [
        replace(options, number=number, serves=number if options.queues > 1 else 0) for number in range(options.workers)
    ]


def _python_peer(name: str, module: str) -> Callable[[Place, Options], list[Command]]:
    def start(place: Place, options: Options) -> list[Command]:
        python = str(place.environments.python(name))
        # Celery's own way to several workers is one worker with several processes.
        crew = [options] if name == "celery" and options.queues == 1 else each_worker(options)
        workers = [_program(python, module, "worker", item) for item in crew]
        return [*workers, _program(python, module, "driver", options)]

    return start


def _bullmq(place: Place, options: Options) -> list[Command]:
    folder = place.environments.node_modules()

    def command(role: str, options: Options) -> Command:
        words = ["node", "bullmq.mjs", role, json.dumps(asdict(options))]
        return Command(kind="worker" if role == "worker" else "driver", words=words, folder=folder)

    return [*(command("worker", options) for options in each_worker(options)), command("driver", options)]


def _restate(place: Place, options: Options) -> list[Command]:
    python, server = str(place.environments.python("restate")), str(place.environments.restate_server())
    ingress, admin, node, *endpoints = [free_port() for _ in range(3 + options.workers)]
    options = replace(options, ports=(ingress, admin, *endpoints))
    environment = {
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
        "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
        "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
        "RESTATE_BASE_DIR": str(place.folder / "restate"),
        "RESTATE_DISABLE_TELEMETRY": "true",
        "RESTATE_LOG_FILTER": "warn",
        "DO_NOT_TRACK": "1",
    }
    serving = Command(
        kind="server", words=[server], environment=environment, ready=lambda _: _listens(admin) and _listens(ingress)
    )
    workers = [_program(python, "on_restate", "worker", options) for options in each_worker(options)]
    return [serving, *workers, _program(python, "on_restate", "driver", options)]


def _dcf_library(_: Place, options: Options) -> list[Command]:
    workers = [_program(sys.executable, "on_dcf", "worker", options) for options in each_worker(options)]
    return [*workers, _program(sys.executable, "on_dcf", "library-driver", options)]


def _dcf_worker(*extra: str) -> Callable[[Options], list[Command]]:
    """Return what starts `dcf worker` processes, with the options that this version has."""

    def start(options: Options) -> list[Command]:
        missing = [word for word in extra if word.startswith("--") and word not in worker_help()]
        if missing:
            raise NotInstalled(f"this version's `dcf worker` has no {' and no '.join(missing)}")
        at_once = ["--concurrency", str(options.concurrency)] if has_worker_concurrency() else []
        lease = ["--lease-ttl", str(int(options.lease_s))] if options.lease_s else []
        command = [sys.executable, "-m", "dcf", "worker", _FUNCTIONS, *lease, *extra, *at_once]
        environment = {"REDIS_URL": options.redis_url, "DCF_BENCH_OPTIONS": json.dumps(asdict(options))}
        return [
            Command(
                kind="worker",
                words=[*command, "--agent-id", agent],
                environment=environment,
                ready=partial(_has_said, f"worker {agent} serves"),
            )
            for agent in (f"bench-{number}" for number in range(options.workers))
        ]

    return start


def _dcf_direct(_: Place, options: Options) -> list[Command]:
    return [*_dcf_worker("--direct")(options), _program(sys.executable, "on_dcf", "driver", options)]


def _dcf_mcp(_: Place, options: Options) -> list[Command]:
    port = free_port()
    environment = {"REDIS_URL": options.redis_url, "DCF_RATE_PER_S": "100000", "DCF_RATE_BURST": "100000"}
    words = [sys.executable, "-m", "dcf", "serve", "--transport", "http", "--port", str(port), "--auth", "off"]
    server = Command(kind="server", words=words, environment=environment, ready=lambda _: _listens(port))
    workers = _dcf_worker("--server", f"http://127.0.0.1:{port}/mcp")(options)
    return [server, *workers, _program(sys.executable, "on_dcf", "driver", options)]


@cache
def worker_help() -> str:
    """Return what `dcf worker --help` says, to know which options this version has."""
    words = [sys.executable, "-m", "dcf", "worker", "--help"]
    return subprocess.run(words, capture_output=True, text=True, check=True, env={"COLUMNS": "200"}).stdout


def has_worker_concurrency() -> bool:
    """Return True if one `dcf worker` of this version does several steps at once."""
    return "--concurrency" in worker_help()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _has_said(words: str, log: str) -> bool:
    return words in log


def _pinned(name: str) -> str:
    return PACKAGES[name][0].partition("==")[2]


_NPM: Final = npm_packages()
_OWN: Final = dcf.__version__

LIBRARY: Final = System(name="dcf-library", title="dcf, library", start=_dcf_library, version=_OWN, wakes=False)
DIRECT: Final = System(
    name="dcf-direct",
    title="dcf, direct",
    start=_dcf_direct,
    version=_OWN,
    has_concurrency=has_worker_concurrency,
)

SYSTEMS: Final[Sequence[System]] = (
    LIBRARY,
    DIRECT,
    System(
        name="dcf-mcp",
        title="dcf, MCP over HTTP",
        start=_dcf_mcp,
        version=_OWN,
        sizes=Sizes(chain=200, dag=8, map=200),
        has_concurrency=has_worker_concurrency,
    ),
    replace(LIBRARY, name="dcf-library-cluster", title="dcf, library, cluster", on_cluster=True),
    replace(DIRECT, name="dcf-direct-cluster", title="dcf, direct, cluster", on_cluster=True),
    System(name="bullmq", title="BullMQ", start=_bullmq, version=_NPM["bullmq"]),
    System(name="docket", title="docket", start=_python_peer("docket", "on_docket"), version=_pinned("docket")),
    System(
        name="celery",
        title="Celery",
        start=_python_peer("celery", "on_celery"),
        version=_pinned("celery"),
        sizes=Sizes(chain=300, dag=15, map=500),
        submits_first=False,
    ),
    System(
        name="rq",
        title="RQ",
        start=_python_peer("rq", "on_rq"),
        version=_pinned("rq"),
        sizes=Sizes(chain=200, dag=8, map=300),
        submits_first=False,
        has_concurrency=lambda: False,
    ),
    System(
        name="restate",
        title="Restate",
        start=_restate,
        crowd_sizes=Sizes(chain=200, dag=8, map=300),
        version=f"{_NPM['@restatedev/restate-server']}, SDK {_pinned('restate')}",
    ),
)
