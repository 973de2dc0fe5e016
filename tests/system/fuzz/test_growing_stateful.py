"""The long form of `tests/features/growing/test_stateful.py`: the same state machine, with more examples."""

import pytest

from dcf.store.connection.connections import Connections
from tests.features.growing.test_stateful import check_members


@pytest.mark.timeout(3600)  # for a hang only
def test_whatever_members_do_a_run_that_grows_is_sound_for_longer(
    real_connections: Connections, onlooker: Connections
) -> None:
    check_members(real_connections, onlooker, examples=20)
