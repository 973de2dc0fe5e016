"""Skills are loaded and unloaded on a real Letta."""

import pytest

from tests.platforms.test_equipping import *  # noqa: F403 - pytest finds the tests here

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]

# Their registry names a server that does not exist; the mailbox does not look.
del (
    test_every_transport_of_the_seed_is_known,  # noqa: F821
    test_no_secret_of_the_registry_reaches_the_store,  # noqa: F821
)
