"""Each rule of errands sees the fault that it is for, and finds nothing in an errand that went well."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dcf.store.connection.commands import Command
from lab import case_rules
from lab.artifacts import KeptArtifacts, PutArtifact
from lab.bombs import Bomb
from lab.case_rules import (
    a_bomb_ends_its_state_alone,
    a_frozen_client_holds_a_task_shortly,
    a_put_artifact_is_whole,
    a_quota_counts_live_runs,
    a_run_goes_on_after_a_torn_log,
    a_version_knows_what_the_other_did,
    bytes_of_artifacts_are_counted,
    health_answers_without_redis,
    lost_answers_of_webhooks_lose_no_work,
    metrics_say_that_redis_is_away,
    pages_say_503_without_redis,
    the_next_client_gets_the_task,
    what_is_started_has_its_definition,
)
from lab.hooks import Hook
from lab.kept_definitions import Kept
from lab.outages import Probe
from lab.polling import FrozenPoll
from lab.quotas import Start
from lab.torn_logs import TornLog, tear
from lab.two_versions import Mixed
from tests.support.redis.documents import write_many_command
from tests.support.tables import rows

POLL = FrozenPoll(term_s=15, status="succeeded")
STARTS = (Start(number=0, code="ok", live=1), Start(number=1, code="quota_exceeded", live=2))
PAGE = Probe(path="/ui/runs", status=503)
METRICS = Probe(path="/metrics", status=200, text="dcf_redis_up 0\n")
HEALTH = Probe(path="/healthz", status=200)
PUT = PutArtifact(name="a.txt", put="ok", read="ok", is_whole=True)
KEPT = KeptArtifacts(artifacts=(PUT,), put_bytes=10, listed_bytes=10, held=10, spare=0)
IN_DOUBT = replace(KEPT, held=12, spare=2)
TORN = TornLog(torn="start", kept=1, status="succeeded")
DEFINED = Kept(ticks=("started",), by_name="ok")
MIXED = Mixed(odd=(), status="succeeded")
HOOK = Hook(status="succeeded", odd=(), came=())
BOMB = Bomb(expression="$f()", code="ok", status="failed", error="States.QueryEvaluationError", died=0, grew=0)

Judge = Callable[[Any], Iterator[str]]

FAULTS: dict[str, tuple[Judge, Any, Any]] = {
    "a frozen client holds a task": (a_frozen_client_holds_a_task_shortly, POLL, replace(POLL, term_s=300)),
    "nobody else gets the task": (the_next_client_gets_the_task, POLL, replace(POLL, status="running")),
    "an ended run counts": (a_quota_counts_live_runs, STARTS, (Start(number=0, code="quota_exceeded", live=0),)),
    "one run too many": (a_quota_counts_live_runs, STARTS, (Start(number=0, code="ok", live=2),)),
    "a start fails": (a_quota_counts_live_runs, STARTS, (Start(number=0, code="conflict", live=0),)),
    "a page says 400": (pages_say_503_without_redis, PAGE, replace(PAGE, status=400)),
    "metrics are refused": (metrics_say_that_redis_is_away, METRICS, replace(METRICS, status=503)),
    "metrics say that all is well": (metrics_say_that_redis_is_away, METRICS, replace(METRICS, text="dcf_redis_up 1")),
    "a server seems dead": (health_answers_without_redis, HEALTH, replace(HEALTH, status=0)),
    "an artifact is damaged": (
        a_put_artifact_is_whole,
        KEPT,
        replace(KEPT, artifacts=(replace(PUT, read="damaged", is_whole=False),)),
    ),
    "a put is refused": (a_put_artifact_is_whole, KEPT, replace(KEPT, artifacts=(replace(PUT, put="conflict"),))),
    "a list tells too little": (bytes_of_artifacts_are_counted, KEPT, replace(KEPT, listed_bytes=0)),
    "a quota counts too little": (
        bytes_of_artifacts_are_counted,
        replace(KEPT, held=12, spare=2),
        replace(KEPT, held=0),
    ),
    "a quota counts too much": (bytes_of_artifacts_are_counted, KEPT, replace(KEPT, held=20)),
    "a run stands still": (a_run_goes_on_after_a_torn_log, TORN, replace(TORN, status="running")),
    "a tick lacks its definition": (
        what_is_started_has_its_definition,
        DEFINED,
        replace(DEFINED, ticks=("unknown_definition",)),
    ),
    "a start lacks its definition": (what_is_started_has_its_definition, DEFINED, replace(DEFINED, by_name="gone")),
    "a version forgets a completion": (a_version_knows_what_the_other_did, MIXED, replace(MIXED, odd=("terminal",))),
    "two versions stand still": (a_version_knows_what_the_other_did, MIXED, replace(MIXED, status="running")),
    "work of a webhook is refused": (lost_answers_of_webhooks_lose_no_work, HOOK, replace(HOOK, odd=("refused",))),
    "work of a webhook is lost": (lost_answers_of_webhooks_lose_no_work, HOOK, replace(HOOK, status="running")),
    "a server dies": (a_bomb_ends_its_state_alone, BOMB, replace(BOMB, died=1)),
    "a server grows": (a_bomb_ends_its_state_alone, BOMB, replace(BOMB, grew=1 << 30)),
    "a bomb goes on": (a_bomb_ends_its_state_alone, BOMB, replace(BOMB, status="running")),
    "a bomb fails as a defect": (a_bomb_ends_its_state_alone, BOMB, replace(BOMB, error="States.Runtime")),
}


@rows("rule, well, broken", FAULTS.values(), ids=FAULTS)
def test_a_rule_sees_its_fault_and_nothing_in_an_errand_that_went_well(rule: Judge, well: Any, broken: Any) -> None:
    assert list(rule(well)) == []
    assert len(list(rule(broken))) == 1


def test_each_rule_of_errands_has_a_planted_fault() -> None:
    rules = {
        name
        for name, value in vars(case_rules).items()
        if getattr(value, "__module__", "") == case_rules.__name__ and name != "__annotate__"  # Python 3.14 adds it
    }
    assert rules == {rule.__name__ for rule, _, _ in FAULTS.values()}


def test_a_log_is_torn_behind_the_documents_of_the_run_and_before_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    before = _written(("SET", "a", "b"))
    commands: list[Command] = [
        ("MULTI",),
        write_many_command({"cp:wf:torn:state:A": "{}"}),
        ("XADD", "e", "*"),
        ("ZADD", "t", "1"),
    ]
    for seed in range(20):
        log.write_bytes(before + b"".join(map(_written, [*commands, ("EXEC",)])))
        whole_commands = tear(log, random.Random(seed))
        assert whole_commands in {1, 2}
        whole = before + b"".join(map(_written, commands[: whole_commands + 1]))
        assert log.read_bytes().startswith(whole)
        assert len(log.read_bytes()) == len(whole) + 3


def _written(command: Command) -> bytes:
    words = [str(word).encode() for word in command]
    return b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)])
