"""The host turns the skills of a Task into texts and tool servers for its agent."""

from collections.abc import Mapping
from typing import Any

import pytest

from dcf.errors import ToolUnavailable
from dcf.hosting.skill_tools import SkillTexts, taken
from dcf.hosting.tool_servers import ToolServer
from tests.support.tables import rows

AT = {"name": "pricing", "transport": "streamable_http", "url": "http://h:1/mcp", "tools": ["add", "tax"]}


def skill(*servers: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"manifestId": "s@1", "name": "s", "directives": "Add up.", "mcp_servers": list(servers), **more}


def of(*skills: Mapping[str, Any], own: tuple[ToolServer, ...] = (), **environment: str) -> SkillTexts:
    return taken(skills, own, environment)


def test_the_directives_and_data_of_skills_are_texts_for_the_model() -> None:
    assert of(skill(texts=["Rates"]), skill()).texts == ("Skill s:\nAdd up.", "Rates", "Skill s:\nAdd up.")


def test_a_server_of_skills_has_the_tools_of_all_of_them() -> None:
    (server,) = of(skill(AT), skill(AT | {"tools": ["ship", "tax"]})).servers
    assert (server.url, server.allowed) == ("http://h:1/mcp", ("add", "tax", "ship"))


@rows(("transport", "over_sse"), [("streamable_http", False), ("sse", True)])
def test_a_server_of_a_skill_is_called_by_its_transport(transport: str, over_sse: bool) -> None:
    (server,) = of(skill(AT | {"transport": transport})).servers
    assert server.over_sse is over_sse


def test_what_is_secret_of_a_server_comes_from_the_environment_of_the_agent() -> None:
    details = AT | {"headers": {"Authorization": "Bearer ${KEY}"}}
    (server,) = of(skill(details), KEY="k-1").servers
    assert server.headers == {"Authorization": "Bearer k-1"}
    with pytest.raises(ToolUnavailable, match="KEY"):
        of(skill(details))


@rows("name", ["DCF_API_KEY", "LETTA_API_KEY", "REDIS_URL", "REDIS_PASSWORD"])
def test_what_opens_dcf_is_sent_to_no_server_that_a_skill_names(name: str) -> None:
    details = AT | {"headers": {"Authorization": f"Bearer ${{{name}}}"}}
    with pytest.raises(ToolUnavailable, match=name):
        taken((skill(details),), (), {name: "opens-everything"})


def test_what_the_agents_file_says_of_a_server_goes_before_what_a_skill_says() -> None:
    own = ToolServer(name="pricing", url="http://other/mcp", allowed=("look",))
    (server,) = of(skill(AT), own=(own,)).servers
    assert (server.url, server.allowed) == ("http://other/mcp", ("look", "add", "tax"))
    everything = ToolServer(name="pricing", url="http://other/mcp")
    assert of(skill(AT), own=(everything,)).servers == (everything,)


def test_a_host_starts_no_command_that_only_a_skill_names() -> None:
    details = {"name": "local", "transport": "stdio", "command": "rm", "args": ["-rf"], "tools": ["x"]}
    with pytest.raises(ToolUnavailable, match="local"):
        of(skill(details))
    own = ToolServer(name="local", command=("tool-server",))
    assert of(skill(details), own=(own,)).servers == (own,)


def test_a_skill_that_cannot_be_used_is_told() -> None:
    with pytest.raises(ToolUnavailable, match="nobody knows it"):
        of({"manifestId": "s@1", "problem": "nobody knows it"})
