"""The long form of `tests/runs/whole/test_stateful.py`: the same state machine, with more examples."""

import pytest

from dcf.store.connection.connections import Connections
from tests.runs.whole.test_stateful import check_agents


@pytest.mark.timeout(3600)  # for a hang only
def test_whatever_agents_do_the_invariants_hold_for_longer(
    real_connections: Connections, onlooker: Connections
) -> None:
    check_agents(real_connections, onlooker, examples=60)
