"""promtool reads what a server shows to Prometheus."""

from collections.abc import Callable

import pytest

from dcf.application.application import Application
from tests.features.health.test_routes import a_scrape
from tests.system.deployment.promtool import promtool
from tests.tools.conftest import application, own_redis, replica

__all__ = ["application", "own_redis", "replica"]


@pytest.fixture
def site(replica: Callable[..., Application]) -> Application:
    return replica(auth="keys")


def test_promtool_accepts_a_scrape_with_a_sample_of_every_metric(site: Application) -> None:
    promtool("check", "metrics", given=a_scrape(site))
