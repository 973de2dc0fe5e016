"""`python -m benchmarks.accounts`: microseconds of the script of an account in Redis, with 0 to 1,000 turns in flight.

The time is that of Redis itself (`INFO commandstats`), so that neither the network nor this process is measured.
"""

import statistics
import tempfile
from typing import Any, Final

import redis

from dcf.application.application import open_application
from dcf.features.accounts import keys, model
from dcf.features.accounts.scripts import PROTOCOL
from dcf.settings.process import Settings

_ROUNDS: Final = 1000
_LIMITS: Final = {"in_flight": 1000, "rpm": 10**6, "tpm": 10**9, "day_tokens": 10**12, "day_nanos": 10**15}
_USED: Final = ("2000", "100", "0", "0", "1000000", "EUR")


class Site:
    """An account in a Redis, and the calls of its script."""

    def __init__(self, server: redis.Redis) -> None:
        self.server = server
        self.keys = keys.protocol("benchmark")
        limits: dict[Any, Any] = {**_LIMITS, "currency": "EUR"}
        server.hset(self.keys[0], mapping=limits)

    def call(self, operation: str, *arguments: Any) -> Any:
        """Call the script."""
        execute: Any = self.server.execute_command
        return execute("EVAL", PROTOCOL, len(self.keys), *self.keys, operation, 0, *arguments)

    def timed(self, operation: str, *arguments: Any) -> int:
        """Return the microseconds that a call took in Redis."""
        self.server.config_resetstat()
        self.call(operation, *arguments)
        return int(self.server.info("commandstats")["cmdstat_eval"]["usec"])

    def reserve(self, name: str, *, of_run: int = 0) -> tuple[Any, ...]:
        """Return the arguments that reserve a turn."""
        return "reserve", name, f"run-{of_run}", "ann", 5000, 10**7, model.RESERVED, "claude-opus-5"


def measure(site: Site, in_flight: int) -> dict[str, float]:
    """Return the median of each operation with this number of turns in flight."""
    for number in range(in_flight):
        site.call(*site.reserve(f"held-{number}", of_run=number % 8))
    times: dict[str, list[int]] = {"reserve": [], "report": [], "settle": []}
    for number in range(_ROUNDS):
        name = f"turn-{in_flight}-{number}"
        times["reserve"].append(site.timed(*site.reserve(name)))
        times["report"].append(site.timed("report", name, *_USED, 0, 0, model.RESERVED))
        times["settle"].append(site.timed("report", name, *_USED, 1, 1, model.RESERVED))
    return {operation: statistics.median(measured) for operation, measured in times.items()}


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.model_validate({"data_dir": folder})
        with open_application(settings) as app, redis.Redis.from_url(app.redis_url) as server:
            for in_flight in (0, 100, 999):
                site = Site(server)
                print(f"{in_flight} turns in flight: {measure(site, in_flight)} microseconds")
                for key in server.scan_iter("cp:idx:account:*"):
                    server.delete(key)


if __name__ == "__main__":
    main()
