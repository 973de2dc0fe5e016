"""How packets are sent from the reserve: as scripts that Redis accepts when it is full, with the same replies."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from dcf.core.documents.answers import Finalized
from dcf.core.lifecycle.finalization import Finalize
from dcf.store.cluster.keys import on_cluster, slot_of
from dcf.store.connection import reserve, reserve_scripts
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import is_to_unwatch, unwatch_later
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.guards import Unchanged, guarded
from tests.support.redis.fake_redis import FakePool
from tests.support.workflows.machines import chain
from tests.support.world import World

RUN = RunKeys("r1")
META, A = RUN.meta, RUN.state("A")


class Sent:
    """The commands that go to Redis over one connection; each digest is that of a count for a key."""

    def __init__(self) -> None:
        self.connection: Any = SimpleNamespace()
        self.commands: list[Command] = []
        self._asked = 0

    def exchange(self, _: Any, commands: Sequence[Command]) -> list[Reply]:
        is_to_unwatch(self.connection)  # forgotten with this packet
        self.commands += commands
        return [self._reply(command) for command in commands]

    def _reply(self, command: Command) -> Reply:
        if command[:2] != ("EVAL", reserve_scripts.DIGESTS):
            return b"reply"
        self._asked += 1
        return [b"digest-%d" % self._asked] * int(command[2])

    def packet(self, *commands: Command) -> list[Reply]:
        return reserve._all(self.connection, commands, self.exchange)


def test_a_transaction_becomes_one_script_and_is_answered_as_one() -> None:
    sent = Sent()
    assert sent.packet(("WATCH", META), ("TIME",))[1:] == [b"reply"]
    replies = sent.packet(("ZADD", "cp:idx:runs", 1, "r1"), ("MULTI",), ("SET", A, "1"), ("DEL", META), ("EXEC",))
    assert replies == [b"reply", b"OK", b"QUEUED", b"QUEUED", b"reply"]
    name, script, *words = sent.commands[-1]
    assert (name, script) == ("EVAL", reserve_scripts.COMMIT)
    assert words == [3, META, A, META, 1, b"digest-1", 3, "SET", A, "1", 2, "DEL", META]
    assert [command[0] for command in sent.commands] == ["EVAL", "TIME", "EVAL", "EVAL"]


def test_keys_that_are_watched_later_are_added_and_the_first_digest_counts() -> None:
    sent = Sent()
    sent.packet(("WATCH", META))
    sent.packet(("WATCH", A, META))
    sent.packet(("MULTI",), ("SET", A, "1"), ("EXEC",))
    assert sent.commands[-1][3:9] == (A, META, A, 2, b"digest-2", b"digest-1")


def test_what_is_no_longer_watched_is_forgotten() -> None:
    sent = Sent()
    sent.packet(("WATCH", META))
    unwatch_later(sent.connection)
    sent.packet(("WATCH", A))
    sent.packet(("MULTI",), ("SET", A, "1"), ("EXEC",))
    assert sent.commands[-1][2:7] == (2, A, A, 1, b"digest-2")


def test_a_transaction_with_a_script_is_not_sent_without_what_guards_it() -> None:
    sent = Sent()
    sent.packet(("WATCH", META))
    before = list(sent.commands)
    with pytest.raises(AssertionError, match="no digests would guard it"):
        sent.packet(("MULTI",), ("EVAL", "return 1", 1, A), ("EXEC",))
    assert sent.commands == before
    assert vars(sent.connection) == {}, "the next transaction over this connection does not rest on these digests"


def test_keys_within_a_transaction_get_their_tags_on_a_cluster() -> None:
    sent = Sent()
    sent.packet(("WATCH", META))
    unchanged = Unchanged(replies={("JSON.GET", META, "$"): b"[]"})
    sent.packet(("MULTI",), ("JSON.MSET", META, "$", "1", A, "$", "2"), ("EXEC",))
    sent.packet(guarded([("SET", A, "1")], unchanged, META))
    for command in sent.commands[1:]:
        placed, slot = on_cluster(command)
        assert slot == slot_of("cp:wf:{r1}:meta")
        assert not [word for word in placed if str(word).startswith("cp:wf:r1")]


def test_a_run_is_ended_from_the_reserve_as_it_is_without(world: World) -> None:
    """Also on a cluster, and where Redis is not full at all."""
    if isinstance(getattr(world.connections, "_pool", None), FakePool):
        pytest.skip("fakeredis knows no flags of scripts")
    run = world.create(chain("A", "B"), agents={"A": "a-1", "B": "a-1"})
    with reserve._sending(reserve._all):
        world.lifecycle.cancel(run)
        done = world.plane.finalize(run, Finalize(workflow_id=run))
        assert isinstance(done, Finalized)
        assert done.audit["workflow_id"] == run
        assert world.doc(run, "B").status == "skipped"
        world.retention.delete(run)
    assert world.ask("EXISTS", RunKeys(run).meta) == 0
