"""`dcf agents local --check` tells a person who sets it up whether the server answers, and what may be done here."""

import json

import pytest

from tests.system.local.conftest import Repository
from tests.system.processes.site import Server, Site, finish

pytestmark = pytest.mark.processes


def test_it_says_that_the_server_answers_and_which_commands_may_run(
    local_site: Site, local_server: Server, repository: Repository
) -> None:
    options = ("--server", local_server.url, "--root", str(repository.root), "--allow-command", "pytest {path}")
    output, code = finish(local_site.dcf("agents", "local", *options, "--json"))
    document = json.loads(output)
    assert code == 0
    assert document.pop("server_tools") > 20
    assert document == {
        "server": local_server.url,
        "server_error": None,
        "root": str(repository.root),
        "has_helper_key": False,
        "allowed_commands": ["pytest {path}"],
    }


def test_it_says_what_is_wrong_and_shows_no_password(local_site: Site) -> None:
    process = local_site.dcf(
        "agents", "local", "--server", "http://ada:secret@127.0.0.1:9/mcp", "--check", DCF_API_KEY="dcf_secret"
    )
    output, code = finish(process)
    assert code == 4
    assert "server_unreachable" in output
    assert "secret" not in output + local_site.said(process)
