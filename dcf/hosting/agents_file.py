"""Reads the agents file: a TOML file that says which agents a host runs, and by what. Imports no SDK.

`${NAME}` in texts is replaced from the environment, so that keys need not be in the file. Every mistake is an
InvalidArgument that names its place.
"""

import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from dcf.errors import InvalidArgument
from dcf.hosting.own_tools import OWN_TOOLS
from dcf.hosting.protocol import AgentProfile, Json
from dcf.hosting.tool_servers import ToolServer
from dcf.values.identifiers import check_id
from dcf.values.records import record

RECIPES: Final[Mapping[str, str]] = {
    "a2a": "dcf.hosting.recipes.a2a:handle",
    "claude-agent-sdk": "dcf.hosting.recipes.claude_agent_sdk:handle",
    "claude-code": "dcf.hosting.recipes.claude_code:handle",
    "langgraph": "dcf.hosting.recipes.langgraph:handle",
    "openai-agents": "dcf.hosting.recipes.openai_agents:handle",
    "pydantic-ai": "dcf.hosting.recipes.pydantic_ai:handle",
}
"""The handlers that come with dcf, by name. Each runs in a child process."""

_KNOWN: Final = frozenset(
    {
        *("recipe", "handler", "process", "python", "model", "base_url", "instructions", "max_turns", "concurrency"),
        *("tasks", "servers", "environment", "options", "tries", "turn_timeout_s", "dcf_tools", "on_limit"),
        *("account", "estimate_tokens"),
    }
)
_SERVER_KNOWN: Final = frozenset({"url", "transport", "headers", "command", "environment", "tools"})
_TRANSPORTS: Final = ("streamable_http", "sse")
_PASSED_ON: Final = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|XDG_(CACHE|CONFIG|DATA|RUNTIME|STATE)_(HOME|DIR)|"
    "NO_PROXY|no_proxy|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|"
    "PYTHON(PATH|UNBUFFERED|DONTWRITEBYTECODE|WARNINGS|UTF8|IOENCODING|HASHSEED)|VIRTUAL_ENV"
)
"""Variables of this process that a child gets unasked; whatever may hold a secret is for the file to name."""
_SECRET: Final = re.compile(r"(DCF|LETTA)_.*|REDIS_.*")
"""Variables that no server of a skill sees, even if the file names them: with them it could do what the host may."""
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@record(frozen=True, slots=True, kw_only=True)
class HostedAgent:
    """An agent of the file. `source` is its handler; `python` is what a child process runs it with, if it has one.

    `tasks` are the Tasks it gets from `dcf run --agents`; without any it shares all that no other agent names.
    """

    profile: AgentProfile
    source: str
    python: str | None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    concurrency: int = 1
    tries: int = 6
    fails_at_limit: bool = False
    turn_timeout_s: int = 3600
    account: str = ""
    estimate_tokens: int = 0
    tasks: tuple[str, ...] = ()
    servers: tuple[ToolServer, ...] = ()
    dcf_tools: tuple[str, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class AgentsFile:
    """The agents of a file, and the folder that it lies in."""

    folder: Path
    agents: tuple[HostedAgent, ...]


def read_agents_file(path: Path, environment: Mapping[str, str] = os.environ) -> AgentsFile:
    """Read a file; raise InvalidArgument for the first mistake."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidArgument(f"The agents file {path} cannot be read: {error.strerror}.", "Check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"The agents file {path} is not TOML: {error}.", "Correct the line that the error names."
        ) from None
    tables = document.get("agents")
    if not isinstance(tables, dict) or not tables:
        raise InvalidArgument(f"The agents file {path} has no agents.", f"Begin with:\n{EXAMPLE}")
    agents = tuple(_Table(path, check_id(name, "agents"), table, environment).agent() for name, table in tables.items())
    return AgentsFile(folder=path.resolve().parent, agents=agents)


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a child process gets without being named."""
    return {name: text for name, text in environment.items() if _PASSED_ON.fullmatch(name)}


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return those variables of an agent that servers that skills name may be given."""
    return {name: text for name, text in environment.items() if not _SECRET.fullmatch(name)}


EXAMPLE: Final = """\
[agents.pricing-1]
handler = "my_agents.py:price"
"""


class _Table:
    """The table of one agent."""

    def __init__(self, path: Path, name: str, table: Json, environment: Mapping[str, str]) -> None:
        self._name = name
        self._where = f"{path.name}: agents.{name}"
        self._environment = environment
        self._table = self._object(table, "", _KNOWN)

    def agent(self) -> HostedAgent:
        source, is_recipe = self._source()
        own = self._table.get("process", is_recipe)
        if own not in {True, False} or (is_recipe and own is False):
            raise self._wrong("process", "true or false; a recipe has a process of its own")
        return HostedAgent(
            profile=self._profile(),
            source=source,
            python=self._python() if own else None,
            environment=self._child_environment(),
            concurrency=self._number("concurrency", 1, most=100),
            tries=self._number("tries", 6, most=100),
            fails_at_limit=self._fails_at_limit(),
            turn_timeout_s=self._number("turn_timeout_s", 3600, most=1_000_000),
            account=self._account(),
            estimate_tokens=self._number("estimate_tokens", 0, least=0, most=100_000_000),
            tasks=self._texts(self._table, "tasks"),
            dcf_tools=self._dcf_tools(),
            servers=tuple(
                self._server(name, server)
                for name, server in self._object(self._table.get("servers", {}), "servers").items()
            ),
        )

    def _fails_at_limit(self) -> bool:
        chosen = self._text("on_limit") or "wait"
        if chosen not in {"wait", "fail"}:
            raise self._wrong("on_limit", '"wait" or "fail"')
        return chosen == "fail"

    def _account(self) -> str:
        return check_id(name, f"{self._where}.account") if (name := self._text("account")) else ""

    def _dcf_tools(self) -> tuple[str, ...]:
        tool_names = self._texts(self._table, "dcf_tools")
        if not OWN_TOOLS.keys() >= set(tool_names):
            raise self._wrong("dcf_tools", f"a list of {', '.join(OWN_TOOLS)}")
        return tool_names

    def _source(self) -> tuple[str, bool]:
        recipe, handler = self._text("recipe"), self._text("handler")
        if bool(recipe) == bool(handler):
            raise self._wrong("recipe", f'one of {", ".join(RECIPES)}; or write handler = "file.py:function" instead')
        if recipe and recipe not in RECIPES:
            raise self._wrong("recipe", f"one of {', '.join(RECIPES)}")
        return (RECIPES[recipe], True) if recipe else (handler, False)

    def _profile(self) -> AgentProfile:
        return AgentProfile(
            name=self._name,
            model=self._text("model"),
            base_url=self._text("base_url"),
            instructions=self._text("instructions"),
            max_turns=self._number("max_turns", 20, most=10_000),
            options=self._object(self._table.get("options", {}), "options"),
        )

    def _python(self) -> str:
        return self._text("python") or sys.executable

    def _child_environment(self) -> dict[str, str]:
        return passed_on(self._environment) | self._texts_by_name(self._table, "environment")

    def _server(self, name: str, table: Json) -> ToolServer:
        place = f"servers.{name}"
        members = self._object(table, place, _SERVER_KNOWN)
        url = self._filled(members.get("url", ""), f"{place}.url")
        command = self._texts(members, "command", place)
        if bool(url) == bool(command):
            raise self._wrong(place, 'a table with url, or with command = ["program", "argument"]')
        transport = members.get("transport", "streamable_http")
        if transport not in _TRANSPORTS or ("transport" in members and not url):
            raise self._wrong(f"{place}.transport", f"one of {', '.join(_TRANSPORTS)}, of a server with a url")
        return ToolServer(
            name=name,
            url=url,
            over_sse=transport == "sse",
            headers=self._texts_by_name(members, "headers", place),
            command=command,
            environment=self._texts_by_name(members, "environment", place),
            allowed=self._texts(members, "tools", place),
        )

    def _object(self, value: Json, name: str, known: frozenset[str] | None = None) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(name, "a table")
        unknown = sorted(value.keys() - known) if known is not None else []
        if unknown:
            raise InvalidArgument(
                f"{self._where}{f'.{name}' if name else ''} has '{unknown[0]}', which is not a known field.",
                f"Known are: {', '.join(sorted(known or ()))}.",
            )
        return value

    def _text(self, name: str) -> str:
        return self._filled(self._table.get(name, ""), name)

    def _number(self, name: str, default: int, *, most: int, least: int = 1) -> int:
        value = self._table.get(name, default)
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(name, f"a number from {least} to {most}")
        return value

    def _texts(self, table: Mapping[str, Json], name: str, place: str = "") -> tuple[str, ...]:
        value: Sequence[Json] = table.get(name, [])
        where = f"{place}.{name}" if place else name
        if not isinstance(value, list):
            raise self._wrong(where, "a list of texts")
        return tuple(self._filled(text, where) for text in value)

    def _texts_by_name(self, table: Mapping[str, Json], name: str, place: str = "") -> dict[str, str]:
        where = f"{place}.{name}" if place else name
        members = self._object(table.get(name, {}), where)
        return {key: self._filled(value, f"{where}.{key}") for key, value in members.items()}

    def _filled(self, value: Json, name: str) -> str:
        if not isinstance(value, str):
            raise self._wrong(name, "a text")

        def text_of(match: re.Match[str]) -> str:
            known = self._environment.get(match[1])
            if known is None:
                raise InvalidArgument(
                    f"{self._where}.{name} needs the environment variable {match[1]}.", "Set it, then start again."
                )
            return known

        return _VARIABLE.sub(text_of, value)

    def _wrong(self, name: str, expected: str) -> InvalidArgument:
        return InvalidArgument(f"{self._where}.{name} is not right.", f"It must be {expected}.")
