"""Reads registry.json, which says where the MCP servers of skills are. The operator writes it, not a caller.

`${NAME}` in it is replaced from the environment, so that secrets need not be in the file. `overrides.<env>.<server>`
replaces fields of a server in the environment that `env` names.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from dcf.core.documents.stored_values import object_of
from dcf.errors import DcfError, ToolUnavailable
from dcf.skills.endpoints import read_endpoint
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

_MAX_REGISTRY: Final = 1024 * 1024
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TRANSPORTS: Final = {
    "http": "streamable_http",
    "streamable_http": "streamable_http",
    "streamable-http": "streamable_http",
    "sse": "sse",
    "ws": "sse",
    "ws/sse": "sse",
    "stdio": "stdio",
}
_SCHEMES: Final = (("ws://", "http://"), ("wss://", "https://"))


@record(frozen=True, slots=True, kw_only=True)
class Registry:
    """The servers of one registry file, which is read at every lookup, so that a change needs no restart."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def server(self, server_id: str) -> dict[str, Json]:
        """Return a server as `{"name", "transport", "url" | "command", "args", "headers"}`; raise ToolUnavailable.

        `shown_url`, `shown_command` and `shown_args` name environment variables in place of their values. Each is there
        only if it differs. `shown_headers` are those written with variables; others may be secrets.
        """
        entry = self._entries().get(server_id)
        if not isinstance(entry, dict):
            raise _unusable(server_id, "is not in the registry")
        transport = _TRANSPORTS.get(str(entry.get("transport", "streamable_http")).lower())
        if transport is None:
            raise _unusable(server_id, "has a transport that dcf does not know")
        if transport == "stdio":
            return {"name": server_id, "transport": transport} | self._command(server_id, entry)
        return {"name": server_id, "transport": transport} | self._remote(server_id, entry)

    def _entries(self) -> dict[str, Json]:
        try:
            with self.path.open("rb") as file:
                document = json.loads(file.read(_MAX_REGISTRY))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            raise ToolUnavailable("The registry of servers cannot be read.", _CORRECT) from None
        servers = object_of(object_of(document).get("servers"))
        overrides = object_of(object_of(object_of(document).get("overrides")).get(str(object_of(document).get("env"))))
        return {
            name: {**entry, **object_of(overrides.get(name))}
            for name, entry in servers.items()
            if isinstance(entry, dict)
        }

    def _command(self, server_id: str, entry: Mapping[str, Json]) -> dict[str, Json]:
        command, args = entry.get("command"), entry.get("args", [])
        if not isinstance(command, str) or not command or not _are_strings(args):
            raise _unusable(server_id, "names no command")
        filled = {"command": self._filled(server_id, command), "args": [self._filled(server_id, arg) for arg in args]}
        written: dict[str, Json] = {"command": command, "args": list(args)}
        return filled | {f"shown_{name}": text for name, text in written.items() if text != filled[name]}

    def _remote(self, server_id: str, entry: Mapping[str, Json]) -> dict[str, Json]:
        endpoint, path = entry.get("endpoint") or entry.get("url"), entry.get("path")
        headers = entry.get("headers") or {}
        if not isinstance(endpoint, str) or not isinstance(path, str | None):
            raise _unusable(server_id, "has no endpoint")
        if not isinstance(headers, dict) or not _are_strings(list(headers.values())):
            raise _unusable(server_id, "has headers that are no texts")
        url = self._filled(server_id, endpoint)
        for plain, real in _SCHEMES:
            url = url.replace(plain, real, 1) if url.startswith(plain) else url
        if path is None and "endpoint" in entry:
            path = "" if _has_path(url) else "/mcp"
        url = url.rstrip("/") + "/" + path.lstrip("/") if path else url
        try:
            read_endpoint(url)
        except DcfError:
            raise _unusable(server_id, "has an endpoint that cannot be used") from None
        shown = self._shown(url, endpoint)
        variables = {name: text for name, text in headers.items() if _VARIABLE.search(text)}
        return (
            {"url": url}
            | ({} if shown == url else {"shown_url": shown})
            | ({"headers": {name: self._filled(server_id, text) for name, text in headers.items()}} if headers else {})
            | ({"shown_headers": variables} if variables else {})
        )

    def _shown(self, url: str, written: str) -> str:
        """Put variable names back in place of their values, which may be secrets, after the host of a URL."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        behind = url.removeprefix(origin)
        for name in _VARIABLE.findall(written):
            value = self.environment.get(name)
            behind = behind.replace(value, f"${{{name}}}") if value else behind
        return origin + behind

    def _filled(self, server_id: str, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            known = self.environment.get(match[1])
            if known is None:
                raise _unusable(server_id, f"needs the environment variable {clip(match[1])}")
            return known

        return _VARIABLE.sub(value, text)


_CORRECT: Final = "Correct registry.json (SKILL_REGISTRY_PATH), then repeat the call."


def _unusable(server_id: str, why: str) -> ToolUnavailable:
    return ToolUnavailable(f"The server '{clip(server_id)}' {why}.", _CORRECT)


def _has_path(url: str) -> bool:
    return "/" in url.partition("://")[2].rstrip("/")


def _are_strings(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
