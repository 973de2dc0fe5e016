"""The agents file: its settings, and the message for each mistake."""

from pathlib import Path

import pytest

from dcf.errors import InvalidArgument
from dcf.hosting.agents_file import RECIPES, AgentsFile, read_agents_file
from tests.support.tables import rows


def read(folder: Path, text: str, **environment: str) -> AgentsFile:
    path = folder / "agents.toml"
    path.write_text(text)
    return read_agents_file(path, environment)


def test_an_agent_needs_no_more_than_a_handler(tmp_path: Path) -> None:
    (agent,) = read(tmp_path, '[agents.a]\nhandler = "x.py:f"').agents
    assert (agent.profile.name, agent.source, agent.python, agent.concurrency) == ("a", "x.py:f", None, 1)


@rows("recipe", RECIPES)
def test_a_recipe_has_a_process_of_its_own(tmp_path: Path, recipe: str) -> None:
    (agent,) = read(tmp_path, f'[agents.a]\nrecipe = "{recipe}"').agents
    assert agent.source == RECIPES[recipe]
    assert agent.python is not None


def test_texts_are_filled_from_the_environment(tmp_path: Path) -> None:
    text = (
        '[agents.a]\nrecipe = "langgraph"\nbase_url = "${URL}/v1"\nenvironment = { KEY = "${K}" }\n'
        '[agents.a.servers.s]\nurl = "http://x"\nheaders = { Authorization = "Bearer ${K}" }\ntools = ["t"]'
    )
    (agent,) = read(tmp_path, text, URL="http://m", K="secret").agents
    (server,) = agent.servers
    assert agent.profile.base_url == "http://m/v1"
    assert agent.environment["KEY"] == "secret"
    assert server.headers == {"Authorization": "Bearer secret"}
    assert server.allowed == ("t",)
    assert "secret" not in repr(agent)


def test_a_child_gets_no_variable_that_may_hold_a_secret_unless_the_file_names_it(tmp_path: Path) -> None:
    named = "REDIS_PASSWORD AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN OPENAI_API_KEY ANTHROPIC_API_KEY PGPASSWORD"
    more = "GITHUB_TOKEN DCF_API_KEY LETTA_API_KEY REDIS_URL HTTPS_PROXY SSH_AUTH_SOCK XDG_SECRET_HOME"
    secrets = dict.fromkeys(f"{named} {more}".split(), "secret")
    plain = dict.fromkeys(("PATH", "HOME", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "PYTHONPATH", "NO_PROXY"), "plain")
    text = '[agents.a]\nrecipe = "openai-agents"\nenvironment = { OPENAI_API_KEY = "${OPENAI_API_KEY}" }'
    (agent,) = read(tmp_path, text, **secrets, **plain).agents
    assert agent.environment == {**plain, "OPENAI_API_KEY": "secret"}


@rows(
    "text, said",
    [
        ("", "no agents"),
        ("agents = 3", "no agents"),
        ("[agents.a", "not TOML"),
        ("[agents.a]", "agents.a.recipe"),
        ('[agents.a]\nrecipe = "x"', "agents.a.recipe"),
        ('[agents.a]\nrecipe = "langgraph"\nhandler = "x:y"', "agents.a.recipe"),
        ('[agents.a]\nrecipe = "langgraph"\nprocess = false', "agents.a.process"),
        ('[agents.a]\nhandler = "x:y"\nconcurrency = 0', "agents.a.concurrency"),
        ('[agents.a]\nhandler = "x:y"\nconcurrency = true', "agents.a.concurrency"),
        ('[agents.a]\nhandler = "x:y"\nskils = []', "'skils'"),
        ('[agents.a]\nhandler = "x:y"\ntasks = "s"', "agents.a.tasks"),
        ('[agents.a]\nhandler = "x:y"\nmodel = "${NO_SUCH}"', "NO_SUCH"),
        ('[agents.a]\nhandler = "x:y"\n[agents.a.servers.s]\ntools = ["t"]', "agents.a.servers.s"),
        ('[agents."a b/c"]\nhandler = "x:y"', "agents"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        read(tmp_path, text)
    assert said in refused.value.message
    assert refused.value.hint


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read_agents_file(tmp_path / "none.toml")


def test_a_server_with_a_url_is_called_over_the_transport_that_the_file_says(tmp_path: Path) -> None:
    base = '[agents.me]\nhandler = "h.py:f"\n[agents.me.servers.s]\n'
    for line, over_sse in (("", False), ('transport = "sse"', True), ('transport = "streamable_http"', False)):
        (server,) = read(tmp_path, f'{base}url = "http://h/x"\n{line}').agents[0].servers
        assert server.over_sse is over_sse
    for wrong in ('url = "http://h/x"\ntransport = "ws"', 'command = ["x"]\ntransport = "sse"'):
        with pytest.raises(InvalidArgument, match=r"servers\.s\.transport"):
            read(tmp_path, base + wrong)
