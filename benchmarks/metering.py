"""What it costs to count a call of an API key, beside looking the key up alone, in alternating rounds.

The CPU is that of this process and of Redis together; commands are those that are sent.
"""

import statistics
import time
from collections.abc import Callable
from typing import Final

from benchmarks.figures import Row
from benchmarks.measuring import Probe
from dcf.application.application import Application
from dcf.core.access.model import Scope, admit, key_id_of, read_key
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.documents import Documents
from dcf.store.keys import table as keys

_CALLS: Final = 1000
_ROUNDS: Final = 5
_BOUND_MS: Final = 0.2
_COMMANDS_BEYOND: Final = 1
_FAST: Final = {"calls_per_s": 100_000, "calls_burst": 100_000}


class Noting(Connections):
    """Connections that count the commands they send."""

    sent = 0

    def send(self, *commands: Command) -> list[Reply]:
        """Count and send."""
        self.sent += len(commands)
        return super().send(*commands)


def measure_metering(app: Application) -> list[Row]:
    """Commands and CPU of a counted look-up of a key, against one that only looks it up."""
    probe, connections = Probe(app.redis_url), Noting(open_pool(app.redis_url))
    try:
        return list(_compare(app, probe, connections))
    finally:
        connections.close()


def _compare(app: Application, probe: Probe, connections: Noting) -> list[Row]:
    text = app.keys.create((Scope.READ,), agent_id=None, label="benchmark", life_s=3600, quotas=_FAST).text
    access, documents = AccessKeys(connections), Documents(connections)
    record_key = keys.access_key(key_id_of(text) or "")

    def look_up() -> None:
        document, now = documents.read(record_key)
        assert admit(text, read_key(document), now) is not None

    def count() -> None:
        caller = access.admit(text)
        assert caller is not None
        assert caller.account is not None
        assert not caller.account.over

    spent: dict[str, list[tuple[float, float]]] = {"alone": [], "counted": []}
    for number in range(_ROUNDS + 1):
        for name, work in (("alone", look_up), ("counted", count)):
            cost = _cost(probe, connections, work)
            if number:  # the first round warms up
                spent[name].append(cost)
    cpu = {name: statistics.median(item for item, _ in result) for name, result in spent.items()}
    commands = {name: statistics.median(sent for _, sent in result) for name, result in spent.items()}
    alone = commands["alone"]
    return [
        Row(what="key looked up", figure=alone, unit="commands"),
        Row(
            what="key looked up, call counted",
            figure=commands["counted"],
            unit="commands",
            bound=alone + _COMMANDS_BEYOND,
        ),
        Row(what="key looked up", figure=round(cpu["alone"], 4), unit="ms CPU/call"),
        Row(what="key looked up, call counted", figure=round(cpu["counted"], 4), unit="ms CPU/call"),
        Row(
            what="counting a call", figure=round(cpu["counted"] - cpu["alone"], 4), unit="ms CPU/call", bound=_BOUND_MS
        ),
    ]


def _cost(probe: Probe, connections: Noting, work: Callable[[], None]) -> tuple[float, float]:
    """Return the milliseconds of CPU and the commands of one call."""
    sent, of_redis, own = connections.sent, probe.cpu(), time.process_time()
    for _ in range(_CALLS):
        work()
    own, of_redis = time.process_time() - own, probe.cpu() - of_redis
    return (own + of_redis) * 1000 / _CALLS, (connections.sent - sent) / _CALLS
