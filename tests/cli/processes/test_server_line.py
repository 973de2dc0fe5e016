"""The line that a process prints at start: which Redis, from where, in which form, and the possible loss of a crash."""

from pathlib import Path

import pytest

from dcf.application.application import open_application
from dcf.cli.processes.server_line import server_line
from dcf.settings.process import Settings
from tests.support.redis.servers import listens, redis_server, running
from tests.support.waiting import wait_until


def line_of(settings: dict[str, object]) -> str:
    with open_application(Settings.model_validate(settings)) as application:
        return server_line(application, application.health.report())


@pytest.mark.parametrize(
    ("appendfsync", "cost"),
    [
        ("everysec", "a killed redis-server or a power loss may take the last two seconds of work."),
        ("always", "nothing acknowledged is lost."),
    ],
)
def test_it_names_the_server_of_the_extra(short_directory: Path, appendfsync: str, cost: str) -> None:
    line = line_of({"data_dir": short_directory / "data", "appendfsync": appendfsync})
    product, version, rest = line.split(" ", 2)
    assert product in {"Redis", "Valkey"}
    assert version[0].isdigit()
    assert rest.startswith("started by dcf (")
    assert "/" not in rest.partition(")")[0], "a distribution, no path"
    assert f"), data in {short_directory / 'data'}; documents " in rest
    assert line.endswith(cost)
    assert "\n" not in line


def test_it_says_that_the_redis_is_that_of_the_url_and_keeps_nothing(short_directory: Path) -> None:
    with redis_server(short_directory) as port:
        line = line_of({"redis_url": f"redis://127.0.0.1:{port}/0"})
    assert " of REDIS_URL; documents " in line
    assert line.endswith("every run is lost when Redis stops.")


def test_it_says_in_which_form_documents_are(short_directory: Path) -> None:
    """A server without modules has documents as JSON text."""
    place = short_directory / "plain.sock"
    with running("--port", "0", "--unixsocket", str(place), "--save", ""):
        wait_until(lambda: listens(place))
        assert "documents as JSON text." in line_of({"redis_url": f"unix://{place}", "documents": "auto"})
