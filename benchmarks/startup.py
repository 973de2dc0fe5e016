"""How long commands take to start: processes as a person starts them, on a Redis that runs already."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import Row
from dcf.store.embedded import server as embedded

_LEFT_OUT = ("DCF_", "REDIS_", "PYTHONDONTWRITEBYTECODE")
"""Variables whose names begin so are not passed on. With the last one every process would compile dcf again, which no
installed package does.
"""

_TASKS = 20
_FUNCTIONS = '''"""Functions that do nothing; the first one notes when it was called."""

import time
from pathlib import Path

from dcf.worker import task

STARTED = Path(__file__).with_name("started")


@task("T0")
def first(given):
    STARTED.write_text(str(time.monotonic()))
    return given


for number in range(1, {tasks}):
    task(f"T{{number}}")(lambda given: given)
'''


def measure_startup(rounds: int) -> list[Row]:
    """Medians in milliseconds; `first step` is when the first function is called."""
    with tempfile.TemporaryDirectory(prefix="dcf-start-", dir="/tmp") as folder, embedded.start(Path(folder) / "data"):
        chain = _chain(Path(folder))
        return [
            _whole(chain, rounds, "dcf --help", 250, "--help"),
            _whole(chain, rounds, "completion", 250, _DCF_COMPLETE="complete_bash", COMP_WORDS="dcf r", COMP_CWORD="1"),
            _whole(chain, rounds, "dcf ls", 350, "ls"),
            _more_than_python(rounds, "import dcf", 150),
            _more_than_python(rounds, "import dcf.client", 150),
            *_run(chain, rounds, "dcf run", 1500, 3000),
            *_run(chain, rounds, "dcf run --direct", 700, 1200, "--direct"),
        ]


def time_serving(url: str) -> float:
    """Return the seconds until a new `dcf serve` on this Redis says that it listens."""
    command = [sys.executable, "-m", "dcf", "serve", "--transport", "http", "--port", "0", "--auth", "off", "--json"]
    began = time.perf_counter()
    own = {**_environment(), "REDIS_URL": url}
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = time.perf_counter() - began
        process.terminate()
    assert line, "it ended before it served"
    return taken


def _chain(folder: Path) -> Path:
    """Write a chain of Tasks and their functions; return the workflow."""
    following: list[dict[str, Any]] = [{"Next": f"T{number}"} for number in range(1, _TASKS)] + [{"End": True}]
    states = {f"T{number}": {"Type": "Task", **next_} for number, next_ in enumerate(following)}
    chain = folder / "chain.json"
    chain.write_text(json.dumps({"StartAt": "T0", "States": states}))
    chain.with_suffix(".py").write_text(_FUNCTIONS.format(tasks=_TASKS))
    return chain


def _whole(chain: Path, rounds: int, subject: str, bound: float, *arguments: str, **environment: str) -> Row:
    taken = [_time(chain, arguments, environment) for _ in range(rounds)]
    return Row(what=subject, figure=_ms(taken), unit="ms", bound=bound)


def _more_than_python(rounds: int, code: str, bound: float) -> Row:
    """Return the extra time of a Python process that imports this."""
    nothing, imported = ([_python(item) for _ in range(rounds)] for item in ("pass", code))
    figure = _ms(imported) - _ms(nothing)
    return Row(what=f"{code}, more than Python alone", figure=figure, unit="ms", bound=bound)


def _python(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=_environment(), check=True)
    return time.perf_counter() - began


def _run(chain: Path, rounds: int, subject: str, first: float, whole: float, *options: str) -> list[Row]:
    firsts, wholes = [], []
    for _ in range(rounds):
        began = time.monotonic()
        wholes.append(_time(chain, ("run", str(chain), *options), {}))
        firsts.append(float(chain.with_name("started").read_text()) - began)
    return [
        Row(what=f"{subject}, to the first step", figure=_ms(firsts), unit="ms", bound=first),
        Row(what=f"{subject}, chain of {_TASKS} Tasks", figure=_ms(wholes), unit="ms", bound=whole),
    ]


def _time(chain: Path, arguments: tuple[str, ...], environment: Mapping[str, str]) -> float:
    own = {**_environment(), "DCF_DATA_DIR": str(chain.with_name("data")), **environment}
    began = time.perf_counter()
    done = subprocess.run(
        [Path(sys.executable).with_name("dcf"), *arguments], env=own, capture_output=True, check=False
    )
    taken = time.perf_counter() - began
    assert done.returncode == 0, done.stderr.decode()
    return taken


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}


def _ms(taken: list[float]) -> float:
    return round(1000 * statistics.median(taken))


if __name__ == "__main__":
    for row in measure_startup(5):
        print(f"{row.figure:6.0f} ms of {row.limit:>5}  {row.what}")
