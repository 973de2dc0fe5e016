"""The health report: what `/readyz`, `dcf doctor`, the tool `read_health`, `dcf serve` and `dcf run` tell.

They all read it here, so that they agree. It reads facts, lets `core.health` judge them, and decides nothing itself.
"""

import logging
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from dcf.core.listing.sweep_results import Trouble
from dcf.errors import InternalError, StoreUnavailable, StoreUnsuitable
from dcf.features.health.facts import Durability, Expected, ServerVitals, Vitals
from dcf.features.health.findings import HealthFinding, Level, worst
from dcf.features.health.judging import judge, unreachable
from dcf.features.health.server import SETUP
from dcf.features.health.storage import VitalSigns
from dcf.values.instants import seconds, to_text
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record
from dcf.version import __version__

_log = logging.getLogger(__name__)


@record(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The findings, the facts behind them (None: Redis does not answer), and the platforms that this process has."""

    findings: tuple[HealthFinding, ...]
    vitals: Vitals | None = None
    platforms: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """The worst level of all findings."""
        return worst(finding.level for finding in self.findings)

    @property
    def is_ready(self) -> bool:
        """False if calls of tools fail now."""
        return not any(finding.stops_calls for finding in self.findings)

    def not_as_asked(self) -> tuple[HealthFinding, ...]:
        """Return what is wrong with how Redis is set up, except what the settings ask for."""
        return tuple(
            finding
            for finding in self.findings
            if finding.topic in SETUP and finding.level is not Level.OK and not finding.as_asked
        )

    def summary(self) -> dict[str, Json]:
        """Return what anybody may know: levels and counts, no sentence and no name."""
        topics = dict.fromkeys(finding.topic for finding in self.findings)
        levels = {
            topic.value: worst(finding.level for finding in self.findings if finding.topic is topic).value
            for topic in topics
        }
        return {"ok": self.is_ready, "level": self.level.value, **self._counts(), "checks": levels}

    def as_json(self) -> dict[str, Json]:
        """Return everything, for operators."""
        result: dict[str, Json] = {"dcf": __version__, "ok": self.is_ready, "level": self.level.value, **self._counts()}
        result["checks"] = [finding.as_json() for finding in self.findings]
        return result | ({} if self.vitals is None else _facts(self.vitals, self.platforms))

    def _counts(self) -> dict[str, Json]:
        levels = [finding.level for finding in self.findings]
        return {"failing": levels.count(Level.FAILING), "warnings": levels.count(Level.WARNING)}


class Health:
    """Makes health reports of one Redis, against what the settings ask for."""

    def __init__(self, signs: VitalSigns, expected: Expected) -> None:
        self._signs = signs
        self._expected = expected

    def report(self) -> HealthReport:
        """Return how everything is at this moment; a Redis that does not answer is a finding too."""
        try:
            vitals = self._signs.read()
        except (StoreUnavailable, StoreUnsuitable) as error:
            return silent(Trouble.of(error))
        return HealthReport(findings=judge(vitals, self._expected), vitals=vitals, platforms=self._expected.platforms)

    def checked(self) -> HealthReport:
        """Return the report; a defect of dcf makes it a finding and is logged."""
        try:
            return self.report()
        except Exception:  # noqa: BLE001 - who asks whether a server is ready must get an answer
            _log.exception("the health report could not be made")
            return silent(Trouble.of(InternalError()))


def silent(trouble: Trouble) -> HealthReport:
    """Return the report on a Redis that does not answer."""
    return HealthReport(findings=unreachable(trouble))


def _facts(vitals: Vitals, expected: tuple[str, ...]) -> dict[str, Json]:
    clock = vitals.clock
    overdue = clock.overdue
    return {
        "checked_at": to_text(vitals.now),
        **_SERVER.write(vitals.servers[0]),
        "clock": {
            "looked_at": None if clock.looked_at is None else to_text(clock.looked_at),
            "late_s": 0.0 if overdue is None else seconds(vitals.now - overdue.since),
            "overdue": None
            if overdue is None
            else {"workflow_id": overdue.workflow_id, "state": overdue.state, "since": to_text(overdue.since)},
            "live_runs": clock.live,
            "examined_runs": clock.examined,
            "running_runs": clock.running,
        },
        "agents": [
            {"agent_id": item.agent_id, "seen_at": to_text(item.at), "ago_s": seconds(max(0, vitals.now - item.at))}
            for item in vitals.seen
        ],
        "agents_seen": vitals.seen_count,
        "platforms": [*_platforms(vitals, expected)],
        "lists": None if vitals.swept is None else vitals.swept.as_json() | {"at": to_text(vitals.swept.at)},
        "nodes": [
            {"node": server.node, **_SERVER.write(server)} for server in vitals.servers if server.node is not None
        ],
    }


_SERVER: Final = RecordCodec(
    ServerVitals,
    "redis_version product memory durability replicas",
    named={"product": "server_name"},
    codecs={
        "durability": RecordCodec(
            Durability,
            "log fsync loads_torn snapshots log_written log_rewritten snapshot_written",
            named={
                "log": "appendonly",
                "fsync": "appendfsync",
                "loads_torn": "aof_load_truncated",
                "snapshots": "save",
            },
        )
    },
)
"""The facts about one server. On a cluster those of the node with the least room stand for all."""


def _platforms(vitals: Vitals, kinds: tuple[str, ...]) -> Iterator[Json]:
    """Yield how each platform is; while its circuit breaker is open, one call is let through now and then."""
    silent = {platform_trouble.kind: platform_trouble for platform_trouble in vitals.troubled}
    for kind in dict.fromkeys((*kinds, *silent)):
        result = silent.get(kind)
        details = {} if result is None else asdict(result) | {"since": to_text(result.since)}
        yield {"kind": kind, "answers": result is None, "breaker_open": result is not None, **details}
    webhooks = vitals.webhooks
    if webhooks.count:
        unheard = [asdict(silent_webhook) for silent_webhook in webhooks.silent]
        yield {"kind": "webhook", "agents": webhooks.count, "answers": not unheard, "silent": unheard}
