"""The reply to a small write says whether a server of Redis rejects writes."""

from types import SimpleNamespace
from typing import Any

import redis
from redis.exceptions import AskError, MovedError, TryAgainError

from dcf.features.health.storage import refusal_of, rejected_write
from tests.support.tables import rows

MOVES = [AskError("1 127.0.0.1:7001"), MovedError("1 127.0.0.1:7001"), TryAgainError("Multiple keys request")]


def cluster(*replies: object) -> Any:
    """Connections to nodes that answer a small write so."""
    nodes = [SimpleNamespace(own_key=str, ask=lambda _, reply=reply: [reply]) for reply in replies]
    return SimpleNamespace(servers=lambda: nodes)


@rows("reply", MOVES)
def test_a_slot_that_moves_is_no_rejected_write(reply: redis.ResponseError) -> None:
    assert refusal_of(reply) is None
    assert rejected_write(cluster(b"OK", reply)) is None


@rows("reply", MOVES)
def test_a_node_that_rejects_writes_is_found_beside_one_whose_slot_moves(reply: redis.ResponseError) -> None:
    full = redis.OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'.")
    trouble = rejected_write(cluster(reply, full))
    assert trouble is not None
    assert "memory is full" in trouble.message
