"""`GET /metrics` next to /mcp, in the text format of Prometheus: counts of this process, and facts of Redis about all.

It is behind the same checks of Host and Origin as /mcp, and asks for an API key with the scope read where /mcp asks for
keys. While Redis does not answer, no key can be looked up: a caller with a key then gets `dcf_redis_up 0` only. It is
there only if the process counts (`dcf serve --metrics`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dcf import metrics
from dcf.application.application import Application
from dcf.core.access.model import NOBODY, Caller
from dcf.errors import DcfError, RateLimited
from dcf.features.health.gauges import Gauges
from dcf.metrics import MOST_ACCOUNTS, Family, Meters, MetricValues
from dcf.verbs.authentication import METRICS_PATH, WhoCalls, could_not_look_up
from dcf.verbs.endpoints import HttpEndpoint
from dcf.verbs.limits import Meter, refuse_excess

PATH: Final = METRICS_PATH
_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

UP: Final = Family("dcf_redis_up", "gauge", "1 if Redis answered this scrape; without it the other gauges are missing.")
RUNS: Final = Family("dcf_runs", "gauge", "Runs by status.", ("status",))
STUCK: Final = Family("dcf_runs_stuck", "gauge", "Runs in which somebody has to do something before they continue.")
HELD: Final = Family("dcf_runs_held", "gauge", "Runs on hold, since evaluations of their expressions ended processes.")
CAUSES: Final = Family(
    "dcf_stuck_runs", "gauge", "Of the 20 newest stuck runs, how many are stuck for this cause.", ("cause",)
)
OPEN: Final = Family(
    "dcf_open_states",
    "gauge",
    "Open states of the 200 newest live runs, 25 of each at most: leased, leased and late, parked, or free.",
    ("status",),
)
LIVE: Final = Family("dcf_runs_live", "gauge", "Runs that the clock still looks at.")
AGENTS: Final = Family(
    "dcf_agents_seen", "gauge", "Agents that are remembered to have called a tool, a thousand at most."
)
LATE: Final = Family("dcf_clock_late_seconds", "gauge", "How long the run that is due first has waited for a clock.")
LOOKED: Final = Family("dcf_clock_looked_seconds", "gauge", "Seconds since any clock last looked.")
OWED: Final = Family("dcf_outbox_age_seconds", "gauge", "Age of the oldest notification owed, of the runs due first.")
_ACCOUNT: Final = ("account",)
_UNIT: Final = ("account", "unit")

ACCOUNT_IN_FLIGHT: Final = Family("dcf_account_in_flight", "gauge", "Turns of an account in flight.", _ACCOUNT)
ACCOUNT_OPEN: Final = Family("dcf_account_open", "gauge", "1, or 0 while a limit closes the account.", _ACCOUNT)
ACCOUNT_CLOSED: Final = Family("dcf_account_closed_seconds", "gauge", "Seconds since it was closed, or 0.", _ACCOUNT)
ACCOUNT_SPENT: Final = Family(
    "dcf_account_spent_today",
    "gauge",
    "Usage of an account today (UTC), with estimates of killed turns: tokens, or money by currency.",
    _UNIT,
)
ACCOUNT_BUDGET: Final = Family("dcf_account_budget_today", "gauge", "Budget of an account for today.", _UNIT)
PARKED: Final = Family("dcf_states_parked", "gauge", "States that wait for an account.", _ACCOUNT)
ACCOUNTS: Final = (ACCOUNT_IN_FLIGHT, ACCOUNT_OPEN, ACCOUNT_CLOSED, ACCOUNT_SPENT, ACCOUNT_BUDGET, PARKED)
READ: Final = (UP, RUNS, STUCK, HELD, CAUSES, OPEN, LIVE, AGENTS, LATE, LOOKED, OWED, *ACCOUNTS)


def metrics_routes(
    application: Application, who_calls: WhoCalls, meter: Meter, security: TransportSecuritySettings, *, asks: bool
) -> list[Route]:
    """Return the route, if this process counts. `asks`: it asks its callers for an API key."""
    if metrics.current is None or not metrics.current.is_served:
        return []
    read = AllMetrics(application, metrics.current).read
    endpoint = _MetricsEndpoint(application, who_calls, meter, security, asks, read=read)
    return [Route(PATH, endpoint, methods=["GET"])]


class AllMetrics:
    """Reads what is counted here, and what Redis says of all processes."""

    def __init__(self, application: Application, counted: Meters) -> None:
        self._application = application
        self._counted = counted

    def read(self) -> list[MetricValues]:
        """Return all of it; that Redis does not answer is a part of it."""
        try:
            of_all, causes = self._application.gauges.read(), self._application.stuck_causes.counts()
            details = [*_values_of(of_all), _by_name(CAUSES, causes), *_of_accounts(self._application)]
        except DcfError:
            details = [_single(UP, 0)]
        return [*details, *self._counted.read()]


@dataclass(eq=False)
class _MetricsEndpoint(HttpEndpoint):
    """The page that Prometheus reads."""

    is_json: ClassVar[bool] = False

    read: Callable[[], list[MetricValues]] = field(kw_only=True)

    def caller_without_key(self, request: Request) -> Caller | None:
        """Let a caller in whose key could not be looked up: `answer` tells it only that Redis does not answer."""
        return NOBODY if could_not_look_up(request.scope) else None

    async def answer(self, request: Request, body: bytes, caller: Caller) -> Response:  # noqa: ARG002 - nothing is sent
        """Return the metrics."""
        if could_not_look_up(request.scope):
            return _page([_single(UP, 0)])
        if caller.project is not None:
            return PlainTextResponse("A key of one project may not read what is counted of all.", 403)
        try:
            refuse_excess(caller)
        except RateLimited as error:
            return PlainTextResponse(error.message, 429, {"Retry-After": str(max(1, round(error.retry_after_s)))})
        return _page(await anyio.to_thread.run_sync(self.read))


def _page(metrics: Iterable[MetricValues]) -> Response:
    text = "\n".join([*(line for metric in metrics for line in metric.lines()), ""])
    return Response(text, media_type=_TYPE, headers={"Cache-Control": "no-store"})


def _single(family: Family, value: float) -> MetricValues:
    return MetricValues(family, {(): value})


def _by_name(family: Family, counts: Mapping[str, int]) -> MetricValues:
    return MetricValues(family, {(name,): count for name, count in counts.items()})


def _values_of(gauges: Gauges) -> list[MetricValues]:
    single: dict[Family, float] = {STUCK: gauges.stuck, HELD: gauges.on_hold, LIVE: gauges.live, AGENTS: gauges.agents}
    single |= {LATE: gauges.clock_late_s, OWED: gauges.outbox_age_s}
    single |= {} if gauges.clock_looked_s is None else {LOOKED: gauges.clock_looked_s}
    several = [_single(UP, 1), _by_name(RUNS, gauges.runs), _by_name(OPEN, gauges.open_states)]
    return [*several, *(_single(family, value) for family, value in single.items())]


def _of_accounts(application: Application) -> list[MetricValues]:
    """Return the gauges of the first accounts."""
    now, views = application.accounts.first(MOST_ACCOUNTS)
    return [
        MetricValues(ACCOUNT_IN_FLIGHT, {(view.name,): view.books.numbers.get("count", 0) for view in views}),
        MetricValues(ACCOUNT_OPEN, {(view.name,): int(view.is_open(now)) for view in views}),
        MetricValues(ACCOUNT_CLOSED, {(view.name,): view.closed_s(now) for view in views}),
        MetricValues(ACCOUNT_SPENT, {(view.name, unit): used for view in views for unit, used in view.spent(now)}),
        MetricValues(ACCOUNT_BUDGET, {(view.name, unit): most for view in views for unit, most in view.budgets}),
        MetricValues(PARKED, {(view.name,): view.parked for view in views}),
    ]
