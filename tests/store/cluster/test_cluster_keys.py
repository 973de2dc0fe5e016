"""Keys on a Redis Cluster: each has its hash tag, gives it back, and shares a slot with what it is written with."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.features.artifacts.keys import arriving
from dcf.features.people.keys import asked_in
from dcf.features.schedules import keys as schedule_keys
from dcf.features.webhooks import keys as webhook_keys
from dcf.store.cluster.keys import barrier_for, cluster_key, key_places, on_cluster, plain_key, slot_of
from dcf.store.keys import projects as project_keys
from dcf.store.keys import table as keys
from dcf.store.keys.companions import barrier, edit, register
from dcf.store.keys.kinds import KEY_KINDS
from dcf.store.keys.parts import AGENT_SHARDS, KeyText
from dcf.store.keys.table import RunKeys
from dcf.store.text_index import keys as text_keys
from dcf.store.transaction.guards import Unchanged, guarded
from tests.support.tables import rows

IDS = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
PATHS = st.text(min_size=1, max_size=80)
RUN = RunKeys("r1")


def slot(key: str) -> int:
    return slot_of(cluster_key(key))


def keys_of_run(run: RunKeys, path: str) -> list[str]:
    return [run.of(kind, path) if "run" not in how.per else run.of(kind) for kind, how in KEY_KINDS.items()]


def keys_of_agent(agent: str) -> list[str]:
    return [
        *keys.inbox_parts(agent),
        *(keys.sent(agent, "run:state"), keys.turn(agent), keys.handed(agent, "d"), keys.gone(agent)),
        *(keys.agent(agent), keys.skills(agent), keys.assigned(agent), webhook_keys.webhook(agent)),
        *(webhook_keys.rest(agent), keys.news(agent, 2)),
    ]


def keys_of_owner(owner: str) -> list[str]:
    return [
        *(keys.access_key(owner), keys.rate(owner), keys.quota(owner), keys.quota(owner, "artifacts"), arriving(owner)),
        *(keys.quota(owner, "docs"), keys.quota(owner, "sizes"), keys.quota(owner, "runs"), keys.quota(owner, "live")),
        *(keys.quota(owner, "inbox"), keys.quota(owner, "receipts"), keys.quota(owner, "part")),
        keys.quota_parts(owner, "r1"),
    ]


@given(IDS, PATHS)
def test_all_keys_of_a_run_share_a_slot_and_with_them_its_receipts(run_id: str, path: str) -> None:
    run = RunKeys(run_id)
    result = keys_of_run(run, path)
    edits = [edit(key, "q1") for key in result] + [
        barrier(run.meta),
        asked_in(run_id),
        keys.workers(run_id),
    ]
    assert {slot(key) for key in (*result, *edits)} == {slot(run.meta)}
    assert len({cluster_key(key) for key in (*result, *edits)}) == len({*result, *edits})


@given(IDS)
def test_all_keys_of_an_agent_share_a_slot(agent: str) -> None:
    assert len({slot(key) for key in keys_of_agent(agent)}) == 1


@given(st.from_regex(r"\A[0-9a-f]{12}\Z"))
def test_all_that_is_counted_for_an_api_key_shares_a_slot(owner: str) -> None:
    assert len({slot(key) for key in keys_of_owner(owner)}) == 1


@given(IDS, PATHS)
def test_a_key_of_a_cluster_gives_back_the_key_that_it_was_made_from(name: str, path: str) -> None:
    run = RunKeys(name)
    others = [
        *(
            keys.LIVE,
            keys.due(name),
            keys.runs_by("tag", path),
            f"cp:idx:{{s3}}:{path}",
            text_keys.entry("notes", name),
        ),
        *(keys.definition("ab", name), keys.definitions_named(path), schedule_keys.schedule(name)),
        *(schedule_keys.SCHEDULES, project_keys.project(name), keys.AUDIT_TRAIL, keys.audit_share(f"key:{name}")),
        *(keys.agents_tagged(path), f"doc:{name}", f"doc:{{{name}}}:x", register(f"doc:{name}", 2)),
        *(
            edit(run.state(path), "q1"),
            edit(f"doc:{name}", "q1"),
            f"cp:idx:usage:agent:{name}:2026-01-01",
        ),
    ]
    own = [key for key in keys_of_agent(name) if not key.endswith(":news")]
    for key in (*keys_of_run(run, path), *own, *keys_of_owner("0123456789ab"), *others):
        placed = cluster_key(key)
        assert plain_key(placed) == key
        assert cluster_key(placed) == placed


def test_a_receipt_of_one_document_is_not_that_of_another_of_the_same_run() -> None:
    receipts = {cluster_key(edit(key, "q1")) for key in (RUN.meta, RUN.state("A"), RUN.state("B"))}
    assert len(receipts) == 3


def test_the_receipt_and_the_register_of_a_document_are_where_it_is() -> None:
    for document in ("doc:notes", "doc:{mine}:notes", keys.definition("ab"), text_keys.entry("notes", "e1")):
        extra = (
            edit(document, "q1"),
            barrier(document),
            register(document, 2),
        )
        assert {slot(key) for key in extra} == {slot(document)}


def test_agents_are_spread_over_all_shards() -> None:
    spread = Counter(slot(keys.inbox(f"agent-{number}")) for number in range(20 * AGENT_SHARDS))
    assert len(spread) == AGENT_SHARDS
    assert min(spread.values()) > 10


def test_what_a_family_writes_together_shares_a_slot() -> None:
    families = (
        [schedule_keys.schedule("a"), schedule_keys.SCHEDULES, schedule_keys.TROUBLED, schedule_keys.schedules_of("x")],
        [
            project_keys.project("a"),
            project_keys.PROJECTS,
            project_keys.projects_of("x"),
            project_keys.projects_at("/"),
        ],
        [
            keys.definition("ab"),
            keys.definition("cd", "p"),
            keys.definitions_named("n"),
            keys.definitions_named("n", "p"),
        ],
        [keys.AUDIT_TRAIL, keys.audit_share("operators")],
        ["cp:idx:usage:project:p", "cp:idx:usage:project:p:2026-01-01", "cp:idx:usage:project:p:of:r1"],
    )
    assert [len({slot(key) for key in family}) for family in families] == [1] * len(families)


def test_a_command_gets_its_tags_where_its_keys_are() -> None:
    set_all = ("JSON.MSET", RUN.meta, "$", "{}", RUN.state("A"), "$", '{"at": "cp:wf:r1:meta"}')
    assert on_cluster(set_all)[0] == (
        *("JSON.MSET", "cp:wf:{r1}:meta", "$", "{}"),
        *("cp:wf:{r1}:state:A", "$", '{"at": "cp:wf:r1:meta"}'),
    )
    read = ("XREADGROUP", "GROUP", "g", "me", "COUNT", 1, "STREAMS", RUN.outbox, ">")
    assert on_cluster(read)[0][-2:] == ("cp:wf:{r1}:outbox", ">")
    assert on_cluster(("JSON.MGET", RUN.meta, RUN.state("A"), "$"))[0][1:3] == ("cp:wf:{r1}:meta", "cp:wf:{r1}:state:A")
    assert on_cluster(("TIME",)) == (("TIME",), None)


def test_what_a_script_builds_keys_from_gets_the_tag_and_other_arguments_do_not() -> None:
    script = ("EVAL", "return 1", 1, RUN.timers, KeyText(RUN.state("")), RUN.meta)
    placed, result = on_cluster(script)
    assert placed[3:] == ("cp:wf:{r1}:timers", "cp:wf:{r1}:state:", "cp:wf:r1:meta")
    assert result == slot(RUN.meta)


def test_the_commands_within_a_guarded_one_get_their_tags_too() -> None:
    unchanged = Unchanged(
        replies={("JSON.GET", RUN.meta, "$"): b"[]", ("JSON.MGET", RUN.state("A"), "$"): [b"1"]}, now=5
    )
    plain = guarded([("SET", RUN.secret, "cp:wf:r1:meta"), ("HGET", RUN.told, "a")], unchanged, RUN.meta)
    placed, result = on_cluster(plain)
    assert [word for word in placed if str(word).startswith("cp:")] == [
        *("cp:wf:{r1}:meta", "cp:wf:{r1}:meta", "cp:wf:{r1}:state:A"),
        *("cp:wf:{r1}:secret", "cp:wf:r1:meta", "cp:wf:{r1}:told"),
    ]
    assert result == slot(RUN.meta)


def test_a_command_with_keys_of_two_slots_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="2 slots"):
        on_cluster(("DEL", RUN.meta, RunKeys("r2").meta))


@rows("key", [RUN.meta, keys.inbox_parts("ann")[0], "cp:idx:{s3}:runs", keys.SEEN, "doc:{a"])
def test_the_small_write_before_a_wait_can_be_in_the_slot_of_any_key(key: str) -> None:
    placed, its = on_cluster(("SET", key, "1"))
    assert slot_of(barrier_for(placed)) == its
    assert barrier_for(placed) != placed[1]


def test_a_command_that_nobody_entered_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="GEOADD"):
        key_places(("GEOADD", "key"))
