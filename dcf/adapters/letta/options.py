"""Settings of the Letta adapter. `application` reads them from the environment, not this module."""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal

from dcf.errors import InvalidArgument, ToolUnavailable
from dcf.values.json_text import Json
from dcf.values.records import record

_URL = re.compile(r"https?://[^\s/]+\S*\Z")


def no_server(name: str) -> Mapping[str, Json]:
    """Raise ToolUnavailable, where nothing says how Letta reaches this MCP server."""
    raise ToolUnavailable(
        f"The template's MCP server '{name[:80]}' is not configured.",
        "Name it in registry.json (SKILL_REGISTRY_PATH): a template's own addresses are not used.",
    )


@record(frozen=True, slots=True, kw_only=True)
class LettaOptions:
    """Settings of the adapter; times are in seconds.

    `model` and `embedding` are handles (`openai/gpt-4o-mini`) used in place of what a template names. `mcp_servers`
    says how Letta reaches the MCP servers that templates name (`{"dcf": {"name": "dcf", "transport":
    "streamable_http", "url": ...}}`); `find_server` is asked for all others. A template's own addresses are never
    used, since a template may come from a workflow document. A run older than `run_deadline_s` counts as lost:
    after a restart Letta has forgotten its running runs and always shows them as `created`. The deadline must be
    longer than the lease that workers are told to take (300 s). Otherwise a worker that does not renew its lease
    would get a second message during the first.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    embedding: str | None = None
    mcp_servers: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    find_server: Callable[[str], Mapping[str, Json]] = field(default=no_server, repr=False)
    allow_python_source: bool = False
    connect_timeout_s: float = 3.0
    read_timeout_s: float = 10.0
    write_timeout_s: float = 30.0
    run_deadline_s: float = 420.0
    max_steps: int = 50
    message_role: Literal["user", "system"] = "user"

    def __post_init__(self) -> None:
        if not _URL.match(self.base_url):
            raise InvalidArgument("LETTA_BASE_URL must be a URL that begins with http:// or https://.")
