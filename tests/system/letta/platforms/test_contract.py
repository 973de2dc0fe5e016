"""The promises of every agent platform, on a real Letta."""

import pytest

from tests.platforms.test_contract import *  # noqa: F403 - pytest finds the tests here

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]
