"""The rules by which the lab judges errands: what must have come of each, whatever struck meanwhile.

One function each, named for what must hold. It yields a sentence for each violation it finds.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lab.artifacts import KeptArtifacts
    from lab.bombs import Bomb
    from lab.hooks import Hook
    from lab.kept_definitions import Kept
    from lab.outages import Probe
    from lab.polling import FrozenPoll
    from lab.quotas import Start
    from lab.torn_logs import TornLog
    from lab.two_versions import Mixed

_WELL: Final = 200
_AWAY: Final = 503

_BOUNDED: Final = ("States.QueryEvaluationError", "States.DataLimitExceeded")
_GROWTH: Final = 64 * 1024 * 1024

FIRST_TERM_S: Final = 60
"""Seconds that a client may hold what was granted to it in a wait, before any sign of it; 15, and time to spare."""


def a_frozen_client_holds_a_task_shortly(poll: "FrozenPoll") -> Iterator[str]:
    """A lease that is granted through a wait has a short first term."""
    if poll.term_s > FIRST_TERM_S:
        yield f"a client that does not read holds a task for {poll.term_s:.0f} s"


def the_next_client_gets_the_task(poll: "FrozenPoll") -> Iterator[str]:
    """Another client of the agent gets the task, and does it."""
    if poll.status not in {None, "succeeded"}:
        yield f"the run is {poll.status}, since no other client of the agent got the task"


def pages_say_503_without_redis(probe: "Probe") -> Iterator[str]:
    """A page that needs Redis says that Redis is away. It reports neither a wrong request nor a defect."""
    if probe.path.startswith("/ui") and probe.status not in {_WELL, _AWAY}:
        yield f"{probe.path} answered {probe.status} while Redis was away"


def metrics_say_that_redis_is_away(probe: "Probe") -> Iterator[str]:
    """Prometheus is answered, so that its alert can fire."""
    if probe.path == "/metrics" and (probe.status != _WELL or "dcf_redis_up 0" not in probe.text):
        yield f"/metrics answered {probe.status} while Redis was away: {probe.text[:200]}"


def health_answers_without_redis(probe: "Probe") -> Iterator[str]:
    """The server lives, whatever its Redis does."""
    if probe.path == "/healthz" and probe.status != _WELL:
        yield f"/healthz answered {probe.status} while Redis was away: {probe.text[:200]}"


def a_quota_counts_live_runs(starts: "Sequence[Start]") -> Iterator[str]:
    """A start is refused if and only if as many runs as may be are live: what ended or was cancelled does not count."""
    for start in starts:
        if start.code not in {"ok", "quota_exceeded"}:
            yield f"start {start.number} was answered {start.code}"
        elif (start.code == "ok") is not (start.live < start.limit):
            yield f"start {start.number} was answered {start.code} while {start.live} of {start.limit} runs were live"


def a_put_artifact_is_whole(artifacts: "KeptArtifacts") -> Iterator[str]:
    """An acknowledged put is read with the content of the put, also if earlier answers were lost."""
    for artifact in artifacts.artifacts:
        if artifact.put != "ok":
            yield f"the put of {artifact.name} was answered {artifact.put}"
        elif not artifact.is_whole:
            yield f"{artifact.name} was put, and reading it answers {artifact.read}"


def bytes_of_artifacts_are_counted(artifacts: "KeptArtifacts") -> Iterator[str]:
    """The list and the quota count what is kept; a process that died may have left the quota more, never less."""
    if artifacts.listed_bytes != artifacts.put_bytes:
        yield f"{artifacts.put_bytes} bytes were put, and the list tells {artifacts.listed_bytes}"
    if not artifacts.put_bytes <= artifacts.held <= artifacts.put_bytes + artifacts.spare:
        put, spare = artifacts.put_bytes, artifacts.spare
        yield f"{put} bytes were put, {spare} more are in doubt, and the quota counts {artifacts.held}"


def a_run_goes_on_after_a_torn_log(torn: "TornLog") -> Iterator[str]:
    """Whatever half of a transaction Redis applied, somebody finds the run, and it ends."""
    if torn.status not in {None, "succeeded"}:
        where = f"in a {torn.torn} behind {torn.kept} commands"
        yield f"the log was torn {where}, the run is {torn.status} for ever, and it has {torn.left}"


def what_is_started_has_its_definition(stored: "Kept") -> Iterator[str]:
    """A schedule that is there, and a start by the name of a run that is there, find the definition."""
    for tick in stored.ticks or ():
        if tick == "unknown_definition":
            yield "a schedule was created, and its ticks fail, since the definition is gone"
    if stored.by_name not in {None, "ok"}:
        yield f"a run was started, and another start by the name of its workflow was answered {stored.by_name}"


def a_version_knows_what_the_other_did(mixed: "Mixed") -> Iterator[str]:
    """A completion that an older version acknowledged is a repetition at the newer one, and the run ends."""
    yield from mixed.odd
    if mixed.status != "succeeded":
        yield f"the run is {mixed.status}"


def lost_answers_of_webhooks_lose_no_work(hook: "Hook") -> Iterator[str]:
    """Work that a receiver took counts, though dcf did not hear that it did; what it did not take comes again."""
    yield from hook.odd
    if hook.status != "succeeded":
        yield f"the run is {hook.status}, and its receiver got {', '.join(hook.came) or 'nothing'}"


def a_bomb_ends_its_state_alone(bomb: "Bomb") -> Iterator[str]:
    """An expression that goes too far fails its state: no server dies, grows much, or evaluates without end."""
    expression = bomb.expression[:80]
    if bomb.died:
        yield f"a server died of {expression}"
    elif bomb.grew > _GROWTH:
        yield f"a server grew by {bomb.grew >> 20} MiB for {expression}"
    if bomb.status == "running":
        yield f"the run of {expression} goes on; its start was answered {bomb.code}"
    elif bomb.status == "failed" and bomb.error not in _BOUNDED:
        yield f"the run of {expression} failed with {bomb.error}"
