"""A caller without intelligence: it sends the calls of the instructions in order, then the first of each `next`.

It fills in angle brackets from its own id, the wish, earlier answers, and the schemas
of the listed tools. It has no judgement.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.tools.calls import Answer, Json, Tools

Call = tuple[str, dict[str, Json]]

STEP: Final = re.compile(r"\d\. `(\w+)\(([^`]*)\)`")
ARGUMENT: Final = re.compile(r"(\w+)=(<[^<>]*>|\{[^{}]*\}|[^,]*)")
OPEN: Final = re.compile(r"<([^<>]+)>")
EXAMPLE: Final = re.compile(r"```json\n(.*?)```", re.DOTALL)
EXPECTED: Final = frozenset({"ok", "review_running"})
LONGEST_S: Final = 90
QUOTED: Final = re.compile(r"'([^']+)'")


@dataclass(slots=True, kw_only=True)
class Follower:
    """One caller with its key. `wish` has what who wants something says besides, by the words in angle brackets."""

    tools: Tools
    me: str
    instructions: str
    schemas: dict[str, Json]
    wish: dict[str, Json] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    expected: frozenset[str] = EXPECTED

    def way(self, aim: str) -> list[Call]:
        """The calls that the instructions tell for something."""
        (line,) = (line for line in self.instructions.splitlines() if line.startswith(f"{aim}: "))
        return [(tool, _arguments(inside)) for tool, inside in STEP.findall(line)]

    async def send(self, call: Call) -> Answer:
        """Send a call, with what is open in it filled in."""
        tool, arguments = call
        assert tool in self.tools.listed, f"{tool} is not on the list of {self.me}"
        filled = {name: self._filled(tool, name, value) for name, value in arguments.items()}
        answer = await self.tools.call(tool, **filled)
        assert answer.code in self.expected, answer.text
        self.sent.append(tool)
        self.answers.append(answer)
        return answer

    async def follow(self, answer: Answer, until: Callable[[Answer], bool]) -> Answer:
        """Send the first of what each answer says is next, up to an answer that is wanted."""
        with anyio.fail_after(LONGEST_S):
            while not until(answer):
                answer = await self.send(first_of(answer))
        return answer

    def _filled(self, tool: str, name: str, value: Json) -> Json:
        if isinstance(value, dict):
            return {key: self._filled(tool, key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._filled(tool, name, item) for item in value]
        opened = OPEN.fullmatch(value) if isinstance(value, str) else None
        return value if opened is None else self._known(tool, name, opened[1])

    def _known(self, tool: str, name: str, words: str) -> Json:
        """The content of angle brackets, from the first place that says it."""
        if words in self.wish:
            return self.wish[words]
        for pattern, made in FILLED:
            if matched := pattern.fullmatch(words):
                return made(self, matched)
        if words == "when":
            (example,) = QUOTED.findall(self.schemas[tool]["properties"][name]["description"])
            return example
        return self.last(words.rpartition(".")[2])

    def last(self, name: str) -> Json:
        """The member of this name of the last answer that has one."""
        return next((value for answer in reversed(self.answers) for value in _members(answer.payload, name)), None)


def _example(caller: Follower, _: re.Match[str]) -> Json:
    return json.loads(EXAMPLE.findall(caller.last("language"))[caller.wish.get("example", 0)])


FILLED: Final[tuple[tuple[re.Pattern[str], Callable[[Follower, re.Match[str]], Json]], ...]] = (
    (re.compile("your agent id"), lambda caller, _: caller.me),
    (re.compile("your result.*"), lambda caller, _: smallest_of(caller.last("output_schema"))),
    (re.compile("one of: ([^,]*).*"), lambda _, words: words[1]),
    (re.compile("(.*?) or .*"), lambda _, words: _value(words[1])),
    (re.compile("the workflow"), _example),
    (re.compile("agent"), lambda caller, _: caller.last("agents")[0]),
)
"""The content of angle brackets, and how it is filled in."""


def first_of(answer: Answer) -> Call:
    """The first call that an answer says is next."""
    step = answer["next"][0]
    return step["tool"], step["arguments"]


def smallest_of(schema: Json) -> Json:
    """The smallest value that fits a schema of these tests; without one an empty object."""
    if schema is None:
        return {}
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: smallest_of(schema["properties"][name]) for name in schema.get("required", ())}
    return {"string": "", "array": [], "integer": 0, "number": 0, "boolean": False}[kind]


def _members(value: Json, name: str) -> Iterator[Json]:
    if isinstance(value, dict):
        if value.get(name) is not None:
            yield value[name]
        for key, item in value.items():
            if key != "next":
                yield from _members(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _members(item, name)


def _arguments(inside: str) -> dict[str, Json]:
    return {name: _value(value) for name, value in ARGUMENT.findall(inside)}


def _value(text: str) -> Json:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return text
    return value


@asynccontextmanager
async def follower(url: str, key: str, me: str, **wish: Json) -> AsyncIterator[Follower]:
    """A caller with a key, connected as any client of MCP is."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=120) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        tools = Tools(client=client, listed=frozenset(schemas))
        instructions = client.instructions
        assert instructions is not None
        named = {name.replace("_", " "): value for name, value in wish.items()}
        yield Follower(tools=tools, me=me, instructions=instructions, schemas=schemas, wish=named)
