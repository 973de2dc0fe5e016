"""API keys in Redis: made, listed, revoked; the key itself is nowhere."""

import secrets
from pathlib import Path

import pytest

from dcf.core.access.model import Scope
from dcf.errors import UnknownKey
from dcf.store.access import api_keys
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys.table import access_key
from tests.support.redis.counting import CountingPool
from tests.support.redis.redis_contents import everything_in, value_of
from tests.support.redis.servers import redis_server


def test_a_new_key_admits_until_it_is_revoked(real_connections: Connections) -> None:
    keys = AccessKeys(real_connections)
    made = keys.create((Scope.READ,), agent_id="me", label="for a test", life_s=3600)
    caller = keys.admit(made.text)
    assert caller is not None
    assert caller.agent_id == "me"
    assert caller.scopes == {Scope.READ}
    revoked = keys.revoke(made.record.key_id)
    assert revoked.revoked_at is not None
    assert keys.admit(made.text) is None
    assert keys.revoke(made.record.key_id) == revoked


def test_keys_are_listed_with_what_they_grant(connections: Connections) -> None:
    keys = AccessKeys(connections)
    first = keys.create((Scope.READ, Scope.PLAN), agent_id=None, label=None, life_s=None)
    second = keys.create((Scope.READ,), agent_id=None, label=None, life_s=None)
    records, now = keys.all()
    mine = [record for record in records if record.key_id in {first.record.key_id, second.record.key_id}]
    assert mine == [first.record, second.record]
    assert {item.standing(now) for item in mine} == {"active"}
    assert keys.any_active()


def test_a_deleted_key_admits_nobody_and_is_not_listed(real_connections: Connections) -> None:
    keys = AccessKeys(real_connections)
    made = keys.create((Scope.READ,), agent_id=None, label=None, life_s=60)
    caller = keys.admit(made.text)
    assert caller is not None
    assert keys.holds(caller)
    for _ in range(2):
        keys.delete(made.record.key_id)
    assert keys.admit(made.text) is None
    assert not keys.holds(caller)
    assert made.record not in keys.all()[0]


def test_a_key_that_is_not_remembered_goes_with_its_time(real_connections: Connections, onlooker: Connections) -> None:
    keys = AccessKeys(real_connections)
    create = keys.create((Scope.READ,), agent_id=None, label=None, life_s=60)
    passing = keys.create((Scope.READ,), agent_id=None, label=None, life_s=60, remembered=False)
    ttl = [onlooker.send(("TTL", access_key(made.record.key_id)))[0] for made in (create, passing)]
    assert ttl[0] == -1
    assert 0 < ttl[1] <= 60


def test_another_secret_with_a_known_id_admits_nobody(real_connections: Connections) -> None:
    keys = AccessKeys(real_connections)
    first, two = (keys.create((Scope.READ,), agent_id=None, label=None, life_s=None) for _ in range(2))
    mixed = f"dcf_{first.record.key_id}_{two.text.split('_', 2)[2]}"
    assert keys.admit(mixed) is None


def test_a_key_that_is_not_there_is_named(connections: Connections) -> None:
    with pytest.raises(UnknownKey, match="no API key 'ffffffffffff'"):
        AccessKeys(connections).revoke("ffffffffffff")


def test_the_key_is_neither_stored_nor_shown(real_connections: Connections, onlooker: Connections) -> None:
    keys = AccessKeys(real_connections)
    made = keys.create((Scope.READ,), agent_id=None, label=None, life_s=None)
    keys.admit(made.text)
    secret = made.text.split("_", 2)[2]
    assert secret not in everything_in(onlooker)
    assert secret not in repr(made)


def test_a_search_passes_over_what_went_away_meanwhile(real_connections: Connections) -> None:
    """A receipt may expire between its listing and its reading; that is how such a search failed once."""
    assert value_of(real_connections, b"cp:idx:edit:{gone}:meanwhile") == ""


def test_a_key_is_revoked_although_redis_is_full(tmp_path: Path) -> None:
    with redis_server(tmp_path) as port:
        connections = Connections(open_pool(f"redis://127.0.0.1:{port}"))
        keys = AccessKeys(connections)
        made = keys.create((Scope.READ,), agent_id=None, label=None, life_s=None)
        connections.send(("CONFIG", "SET", "maxmemory", "1"))
        assert keys.revoke(made.record.key_id).revoked_at is not None
        assert keys.admit(made.text) is None
        connections.close()


def test_a_key_that_may_not_read_opens_nothing(tmp_path: Path) -> None:
    with redis_server(tmp_path) as port:
        connections = Connections(open_pool(f"redis://127.0.0.1:{port}"))
        keys = AccessKeys(connections)
        keys.create((Scope.WORK,), agent_id=None, label=None, life_s=None)
        assert not keys.any_active()
        keys.create((Scope.READ,), agent_id=None, label=None, life_s=None)
        assert keys.any_active()
        connections.close()


def test_of_many_keys_those_that_hold_are_found_in_one_packet(
    counting: CountingPool, real_connections: Connections
) -> None:
    keys = AccessKeys(real_connections)
    made = [keys.create((Scope.READ,), agent_id=None, label=None, life_s=life_s) for life_s in (None, 100, 0, None)]
    keys.revoke(made[3].record.key_id)
    names = [f"key:{item.record.key_id}" for item in made]
    with counting.counted() as packets:
        which_hold = AccessKeys(Connections(counting)).which_hold([*names, "key:ffffffffffff"])
    assert which_hold == set(names[:2])
    assert len(packets) == 1


def test_whether_agents_have_keys_reads_one_member_of_each_key_until_all_are_seen(
    counting: CountingPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = AccessKeys(Connections(counting))
    agents = [f"agent-{secrets.token_hex(4)}" for _ in range(3)]
    for agent_id in agents:
        keys.create((Scope.READ,), agent_id=agent_id, label=None, life_s=60)
    monkeypatch.setattr(api_keys, "_PAGE", 1)
    for names, packets in ([], 0), (agents[2:], 2), (agents[1:], 3), (agents, 4):
        with counting.counted() as sent:
            assert keys.bound_to(names) == {*names}
        assert len(sent) == packets, sent
        assert all(len(commands) == 1 for commands in sent), "one key to a page"
    assert keys.bound_to([agents[0], "nobody"]) == {agents[0]}


def test_of_more_keys_than_are_looked_at_any_agent_may_have_one(
    counting: CountingPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = AccessKeys(Connections(counting))
    for _ in range(3):
        keys.create((Scope.READ,), agent_id=None, label=None, life_s=60)
    monkeypatch.setattr(api_keys, "_MOST_LOOKED_AT", 2)
    with counting.counted() as sent:
        assert keys.bound_to(["nobody"]) == {"nobody"}
    assert [len(commands) for commands in sent] == [1, 2]
