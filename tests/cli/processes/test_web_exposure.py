"""Where `dcf web` and `dcf serve --web` refuse to serve the page, since others could open it."""

from collections.abc import Callable

import pytest
from typer.testing import Result

from dcf.cli.processes import serve as serving
from tests.support.tables import rows

Dcf = Callable[..., Result]
SERVE = ("serve", "--transport", "http", "--web")


@pytest.fixture
def _never_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is not refused would serve without end."""

    def serve_app(*_: object, **__: object) -> None:
        pytest.fail("it is served")

    monkeypatch.setattr(serving, "serve_app", serve_app)


@pytest.mark.usefixtures("_never_served")
@rows(
    ("arguments", "reason"),
    [
        (
            ("web",),
            "--auth off",
        ),
        (SERVE, "--auth off"),
        (("web", "--auth", "off", "--host", "0.0.0.0"), "loopback"),
        (("serve", "--transport", "stdio", "--web"), "dcf web"),
        (("serve", "--transport", "http", "--allow-actions"), "--web"),
    ],
    ids=[
        "without any key",
        "beside mcp without any key",
        "without keys elsewhere than on loopback",
        "over stdio",
        "acting without a page",
    ],
)
def test_where_the_page_would_be_open_to_others_it_is_refused(
    dcf_alone: Dcf, arguments: tuple[str, ...], reason: str
) -> None:
    result = dcf_alone(*arguments)
    assert result.exit_code == 2
    assert reason in result.stderr
