"""Workers of runs are made and deleted on a real Letta."""

import pytest

from tests.platforms.test_workers import *  # noqa: F403 - pytest finds the tests here

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]
