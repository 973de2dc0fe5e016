"""Judges how Redis, the clock, the agents and their platform are: a level, a sentence and a remedy for each. Pure.

`/readyz`, `dcf doctor` and the tool `read_health` show what is decided here; none of them judges anything itself.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dcf.core.listing.sweep_results import SweepResult, Trouble
from dcf.features.health.facts import ClockFacts, Expected, ScheduleFacts, Vitals, WebhookFacts
from dcf.features.health.findings import HealthFinding, Level, Topic
from dcf.features.health.server import judge_servers
from dcf.values.instants import SECOND, to_text
from dcf.values.spans import in_largest_unit

RECENT_S: Final = 600
"""Seconds after which an agent that was not seen counts as away."""

_LATE_S: Final = 10.0
"""Seconds by which the clock may be late, or silent, without a warning; or three of its intervals."""

_SWEEP_AGE_S: Final = 3 * 3600

_CLOCK: Final = "Start `dcf serve` or `dcf store pulse`, or look at its log."


def unreachable(trouble: Trouble) -> tuple[HealthFinding, ...]:
    """Return the findings on a Redis that does not answer."""
    return (HealthFinding(Topic.REDIS, Level.FAILING, trouble.message, trouble.remedy),)


def judge(vitals: Vitals, expected: Expected) -> tuple[HealthFinding, ...]:
    """Return at least one finding on every topic."""
    return (
        *judge_servers(vitals.servers, expected),
        *_clock(vitals.clock, vitals.now, expected.pulse_interval_s),
        _agents(vitals),
        *_platforms(vitals, expected.platforms),
        _schedules(vitals.schedules, vitals.now, expected.pulse_interval_s),
        _lists(vitals.swept, vitals.now),
    )


def _clock(clock_facts: ClockFacts, now: int, interval_s: float) -> Iterator[HealthFinding]:
    patience_s = max(_LATE_S, 3 * interval_s)
    silent_s = None if clock_facts.looked_at is None else max(0, now - clock_facts.looked_at) / SECOND
    last = "No clock has ever looked" if silent_s is None else f"The clock looked last {in_largest_unit(silent_s)} ago"
    runs = _runs(clock_facts)
    if silent_s is not None and silent_s <= patience_s:
        yield HealthFinding(Topic.CLOCK, Level.OK, f"{last}; {runs} under way.")
    elif clock_facts.running:
        sentence = f"{last}, and {runs} under way: no Wait, retry, timeout or reminder happens."
        yield HealthFinding(Topic.CLOCK, Level.FAILING, sentence, _CLOCK)
    else:
        yield HealthFinding(Topic.CLOCK, Level.OK, f"{last}; no run is under way, so that none is needed.")
    if clock_facts.overdue is None or (late_s := (now - clock_facts.overdue.since) / SECOND) <= patience_s:
        return
    place = "the deadline" if clock_facts.overdue.state is None else f"state {clock_facts.overdue.state}"
    sentence = (
        f"The clock is late: {place} of run {clock_facts.overdue.workflow_id} was due {in_largest_unit(late_s)} ago."
    )
    remedy = "Look at the log of the clock (`dcf serve`, `dcf store pulse`); run another if it has too much to do."
    yield HealthFinding(Topic.CLOCK, Level.WARNING, sentence, remedy)


def _runs(clock_facts: ClockFacts) -> str:
    if clock_facts.running == 1:
        return "1 run is"
    return f"{'at least ' if clock_facts.live > clock_facts.examined else ''}{clock_facts.running} runs are"


def _agents(vitals: Vitals) -> HealthFinding:
    recent = sum(vitals.now - item.at <= RECENT_S * SECOND for item in vitals.seen)
    if recent:
        last = vitals.seen[0]
        more = " at least" if recent == len(vitals.seen) < vitals.seen_count else ""
        agents = "1 agent was" if recent == 1 else f"{recent} agents were"
        ago = f"{in_largest_unit((vitals.now - last.at) / SECOND)} ago"
        return HealthFinding(
            Topic.AGENTS, Level.OK, f"{agents} seen in the last ten minutes{more}; the last was {last.agent_id}, {ago}."
        )
    sentence = "No agent was seen in the last ten minutes"
    if not vitals.clock.running:
        return HealthFinding(Topic.AGENTS, Level.OK, f"{sentence}; no run is under way.")
    remedy = "Start the workers of these runs; `explain_run` says what a run waits for."
    return HealthFinding(Topic.AGENTS, Level.WARNING, f"{sentence}, and {_runs(vitals.clock)} under way.", remedy)


def _platforms(vitals: Vitals, kinds: tuple[str, ...]) -> Iterator[HealthFinding]:
    """Yield a finding on each platform that this process has, or that any process says does not answer."""
    silent = {trouble.kind: trouble for trouble in vitals.troubled}
    for kind in dict.fromkeys((*kinds, *silent)):
        trouble = silent.get(kind)
        if trouble is None:
            sentence = f"No call of the agent platform {kind} went unanswered lately."
            yield HealthFinding(Topic.PLATFORM, Level.OK, sentence)
            continue
        yield HealthFinding(
            Topic.PLATFORM,
            Level.WARNING,
            f"The agent platform {kind} does not answer since {to_text(trouble.since)[:19]}Z, {trouble.failures} times"
            f" in a row: {trouble.error}",
            _REACH.get(kind, "Check that it is up; what is owed is delivered when it answers."),
        )
    if vitals.webhooks.count:
        yield _webhooks(vitals.webhooks)
    elif not kinds and not silent:
        yield HealthFinding(Topic.PLATFORM, Level.OK, "Agents are inboxes in Redis; there is no other platform.")


def _webhooks(webhook_facts: WebhookFacts) -> HealthFinding:
    there = "There is 1 webhook" if webhook_facts.count == 1 else f"There are {webhook_facts.count} webhooks"
    if not webhook_facts.silent:
        return HealthFinding(Topic.PLATFORM, Level.OK, f"{there}; no delivery to one failed several times lately.")
    first = webhook_facts.silent[0]
    more = "" if len(webhook_facts.silent) == 1 else f", and {len(webhook_facts.silent) - 1} more"
    return HealthFinding(
        Topic.PLATFORM,
        Level.WARNING,
        f"{there}; {first.agent_id}{more} did not answer, the first {first.failures} times in a row: {first.error}",
        "dcf agents ls shows them; what is owed is delivered when they answer.",
    )


_REACH: Final = {
    "letta": "Check that it is up and that LETTA_BASE_URL names it; what is owed is delivered when it answers."
}
"""What to do about a platform that does not answer."""


def _schedules(schedule_facts: ScheduleFacts, now: int, interval_s: float) -> HealthFinding:
    there = "There is 1 schedule" if schedule_facts.count == 1 else f"There are {schedule_facts.count} schedules"
    late_s = 0.0 if schedule_facts.overdue is None else (now - schedule_facts.overdue) / SECOND
    if late_s > max(_LATE_S, 3 * interval_s):
        sentence = f"{there}, and one was due {in_largest_unit(late_s)} ago: no clock starts its runs."
        remedy = _CLOCK
        return HealthFinding(Topic.SCHEDULES, Level.FAILING, sentence, remedy)
    if not schedule_facts.troubled:
        well = f"{there}; each could start its latest run." if schedule_facts.count else "There are no schedules."
        return HealthFinding(Topic.SCHEDULES, Level.OK, well)
    names = ", ".join(schedule_facts.names) + (
        ", and more" if schedule_facts.troubled > len(schedule_facts.names) else ""
    )
    sentence = f"{there}; {schedule_facts.troubled} stopped or could not start the latest run: {names}."
    return HealthFinding(Topic.SCHEDULES, Level.WARNING, sentence, "`list_schedules(name=NAME)` tells why.")


def _lists(swept: SweepResult | None, now: int) -> HealthFinding:
    if swept is None:
        return HealthFinding(
            Topic.LISTS, Level.OK, "The lists have not been checked yet; a clock does it once an hour."
        )
    age_s = max(0, now - swept.at) / SECOND
    if swept.trouble is not None:
        sentence = f"The lists could not be checked, so that a run that none has is not found. {swept.trouble.message}"
        return HealthFinding(Topic.LISTS, Level.WARNING, sentence, swept.trouble.remedy)
    when = f"The lists were checked {in_largest_unit(age_s)} ago"
    if not (swept.missing or swept.dangling):
        sentence = f"{when}: they name every run, agent and API key, and nothing else."
        if age_s <= _SWEEP_AGE_S:
            return HealthFinding(Topic.LISTS, Level.OK, sentence)
        remedy = "Run `dcf doctor`, which checks them; a clock (`dcf serve`, `dcf store pulse`) does it once an hour."
        return HealthFinding(Topic.LISTS, Level.WARNING, sentence, remedy)
    text = f"missing on lists: {_counted(swept.missing)}; on lists, but not there: {_counted(swept.dangling)}"
    if swept.repaired:
        return HealthFinding(Topic.LISTS, Level.OK, f"{when}, and this was mended: {text}.")
    return HealthFinding(
        Topic.LISTS, Level.WARNING, f"{when} and are wrong: {text}.", "`dcf doctor --repair` corrects them."
    )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in counts.items()) or "nothing"
