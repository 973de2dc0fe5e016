"""Decides how the stub answers a call: which tool, which case, which failure, after what delay. Knows no protocol.

At the address of one server a tool has its plain name. Where all servers are served together its name is
`server__tool`, so that names do not depend on what else is served. The plain name is accepted there too if only one
server has it.
"""

import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from referencing.exceptions import Unresolvable

from dcf.asl.surroundings import Chance
from dcf.stub.config import DEFAULT_CASE, Case, StubConfig, StubTool, validator
from dcf.stub.config_file import ConfigFile
from dcf.stub.metrics import Metrics
from dcf.stub.rates import Bucket, new_bucket, take
from dcf.stub.templates import Occasion, TemplateFailed
from dcf.values.json_text import Json
from dcf.values.records import record

SEPARATOR: Final = "__"
TIMEOUT_MS: Final = 10_000
"""How many milliseconds a call with errorMode timeout waits before it fails, unless the case says otherwise."""

_SHOWN: Final = 20


@record(frozen=True, slots=True, kw_only=True)
class StubOutcome:
    """The result of a call, to be sent after `wait_s` seconds. With an `error` there is no payload."""

    payload: Json = None
    error: str | None = None
    wait_s: float = 0.0


class Service:
    """Decides calls. Thread-safe; never waits itself.

    `now` is the time that templates show; `monotonic` (seconds) measures rate limits. All randomness derives from
    `seed`, separately for each tool: calls of other tools do not change it.
    """

    def __init__(
        self, file: ConfigFile, *, seed: int, now: Callable[[], datetime], monotonic: Callable[[], float]
    ) -> None:
        self.file = file
        self.metrics = Metrics()
        self._seed = seed
        self._now = now
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._buckets: dict[str, Bucket] = {}
        self._chances: dict[str, Chance] = {}

    def has(self, server: str) -> bool:
        """Return True if there is such a server."""
        return server in self.file.current().servers

    def tools(self, server: str | None) -> list[tuple[str, StubTool]]:
        """Return the tools of one server, or of all, with their names at that address."""
        config = self.file.current()
        if server is not None:
            return list(config.servers.get(server, {}).items())
        return [(f"{tool.server}{SEPARATOR}{tool.name}", tool) for tool in config.tools]

    def decide(self, server: str | None, name: str, arguments: Json) -> StubOutcome:
        """Decide and count one call."""
        tool = _find(self.file.current(), server, name)
        if isinstance(tool, str):
            self.metrics.failed("unknown", "unknown_tool")
            return StubOutcome(error=tool)
        self.metrics.called(tool.key)
        return self._limited(tool) or _refused(self.metrics, tool, arguments) or self._answered(tool, arguments)

    def _limited(self, tool: StubTool) -> StubOutcome | None:
        if tool.rps <= 0:
            return None
        with self._lock:
            now = self._monotonic()
            bucket = self._buckets.get(tool.key)
            if bucket is None or bucket.rps != tool.rps:
                bucket = new_bucket(tool.rps, now)
            self._buckets[tool.key], wait_s = take(bucket, now)
        if not wait_s:
            return None
        self.metrics.failed(tool.key, "rate_limited")
        return StubOutcome(error=f"rate_limited: {tool.rps:g} calls per second are allowed; retry after {wait_s:.3f} s")

    def _answered(self, tool: StubTool, arguments: Json) -> StubOutcome:
        case = next((case for case in tool.cases if case.fits(arguments)), None)
        self.metrics.hit(tool.key, DEFAULT_CASE if case is None else case.case_id)
        wait_s = tool.latency_ms / 1000
        if case is None:
            return StubOutcome(payload=tool.default_response, wait_s=wait_s)
        if case.latency_ms is not None:
            wait_s = case.latency_ms / 1000
        failure = self._failure(tool, case)
        if failure is not None:
            self.metrics.failed(tool.key, case.error_mode or "error")
            waits = TIMEOUT_MS / 1000 if case.error_mode == "timeout" and case.latency_ms is None else wait_s
            return StubOutcome(error=failure, wait_s=waits)
        return self._rendered(tool, case, arguments, wait_s)

    def _failure(self, tool: StubTool, case: Case) -> str | None:
        if case.error_mode == "throw":
            return "stub_thrown_error"
        if case.error_mode == "http_500":
            return "500: internal server error (stub)"
        if case.error_mode == "timeout":
            return "timeout: the tool did not answer in time (stub)"
        if case.error_mode == "flaky":
            with self._lock:
                unlucky = self._chance(tool).fraction() < case.flaky_rate
            return "stub_flaky_error (random failure)" if unlucky else None
        return None

    def _rendered(self, tool: StubTool, case: Case, arguments: Json, wait_s: float) -> StubOutcome:
        try:
            with self._lock:
                occasion = Occasion(arguments=arguments, now=self._now().isoformat(), chance=self._chance(tool))
                return StubOutcome(payload=case.render(occasion), wait_s=wait_s)
        except TemplateFailed as error:
            self.metrics.failed(tool.key, "template")
            return StubOutcome(error=f"stub_template_error: {error}", wait_s=wait_s)

    def _chance(self, tool: StubTool) -> Chance:
        return self._chances.setdefault(tool.key, Chance(f"{self._seed}:{tool.key}"))


def _find(config: StubConfig, server: str | None, name: str) -> StubTool | str:
    """Return the tool of this name at this address, or the error text."""
    if server is not None:
        tools = config.servers.get(server, {})
        return tools.get(name) or _unknown(name, tools)
    prefix, separator, own = name.partition(SEPARATOR)
    tool = config.servers.get(prefix, {}).get(own) if separator else None
    if tool is not None:
        return tool
    same = [tools[name] for tools in config.servers.values() if name in tools]
    if len(same) == 1:
        return same[0]
    names = [f"{tool.server}{SEPARATOR}{tool.name}" for tool in same or config.tools]
    return _unknown(name, names)


def _unknown(name: str, known: Iterable[str]) -> str:
    names = list(known)
    more = ", …" if len(names) > _SHOWN else ""
    return f"unknown tool '{name[:80]}'; there are: {', '.join(names[:_SHOWN])}{more}"


def _refused(metrics: Metrics, tool: StubTool, arguments: Json) -> StubOutcome | None:
    """Refuse arguments that do not match the tool's schema, as a real tool would."""
    try:
        error = next(iter(validator(tool.params_schema).iter_errors(arguments)), None)
    except (Unresolvable, RecursionError):
        metrics.failed(tool.key, "invalid_schema")
        return StubOutcome(error="invalid_schema: paramsSchema refers to a place in it that does not exist")
    if error is None:
        return None
    metrics.failed(tool.key, "invalid_arguments")
    where = ".".join(str(step) for step in error.absolute_path) or "the arguments"
    return StubOutcome(error=f"invalid_arguments: {where} breaks the rule '{error.validator}' of paramsSchema")
