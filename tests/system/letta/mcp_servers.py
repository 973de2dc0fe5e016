"""MCP servers on loopback for agents on Letta to call; each counts the calls of its tools."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp.server import MCPServer

from tests.tools.calls import serving


@dataclass(frozen=True, kw_only=True)
class McpService:
    """A running server, as a registry would describe it."""

    name: str
    url: str
    calls: Counter[str] = field(default_factory=Counter)

    @property
    def entry(self) -> dict[str, Any]:
        return {"name": self.name, "transport": "streamable_http", "url": self.url}


@contextmanager
def mcp_service(name: str, *tools: str, port: int = 0) -> Iterator[McpService]:
    calls: Counter[str] = Counter()
    server = MCPServer(name=name, log_level="ERROR")
    for tool in tools:
        server.add_tool(_counting(tool, calls), name=tool, description="Answer with the word.")
    with serving(server.streamable_http_app(stateless_http=True), port) as url:
        yield McpService(name=name, url=f"{url}/mcp", calls=calls)


def _counting(tool: str, calls: Counter[str]) -> Callable[[str], str]:
    def answer(word: str) -> str:
        calls[tool] += 1
        return f"{tool} heard {word}"

    return answer
