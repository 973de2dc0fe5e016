"""Claude Code without a terminal: one process of its command for each turn.

Options: `command` (default ["claude"]), `tools` (its own tools that it may use, such as "Read"; default none).

Its exit code does not say that work was done. The answer is taken only from a result that is not an error, and only
from a session in which the tools were connected.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import Any, Final

from dcf.hosting.prompts import system_prompt, user_prompt
from dcf.hosting.protocol import AgentTools, AgentWork, ModelAnswer, TaskFailed, as_json
from dcf.hosting.tool_endpoint import ToolAddress, served

QUIET: Final = {
    "CLAUDE_CODE_MAX_RETRIES": "2",  # otherwise it sleeps for as long as the provider says, under the lease
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "MCP_CONNECTION_NONBLOCKING": "0",  # otherwise it begins before its tools are there
}
_SERVER: Final = "work"
_LONGEST_LINE: Final = 64 * 1024 * 1024
_LONGEST_ARGUMENT: Final = 30_000
"""Characters of the system prompt in the command line, which has a limit; what is more begins the prompt."""

_LIMIT: Final = "rate_limit_event"
_KEPT: Final = ("result", _LIMIT)
_MOST_MODELS: Final = 10
_OF_SESSION: Final = {
    "tokens_in": "input_tokens",
    "tokens_cached": "cache_read_input_tokens",
    "tokens_cache_written": "cache_creation_input_tokens",
    "tokens_out": "output_tokens",
}
_OF_MODEL: Final = {
    "tokens_in": "inputTokens",
    "tokens_cached": "cacheReadInputTokens",
    "tokens_cache_written": "cacheCreationInputTokens",
    "tokens_out": "outputTokens",
}
_GRACE_S: Final = ((SIGINT, 3.0), (SIGTERM, 1.5))


class SessionFailed(Exception):
    """The command ended without a result, or its result is an error.

    `api_error_status` and `data` are read by `read_limit`, as those of the SDK's own error.
    """

    def __init__(self, cause: str, status: int | None = None, window: Mapping[str, Any] | None = None) -> None:
        super().__init__(cause)
        self.api_error_status = status
        self.data = {} if window is None else {"rate_limit_info": dict(window)}


async def handle(work: AgentWork, tools: AgentTools) -> ModelAnswer:
    """Let the command work; its session is what it is resumed by."""
    with served(tools) as address, tempfile.TemporaryDirectory(prefix="dcf-claude-") as folder:
        config = Path(folder) / "mcp.json"
        config.write_text(as_json(_mcp(address)), "utf-8")
        config.chmod(0o600)
        process = await asyncio.create_subprocess_exec(
            *_command(work, config),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            env={**os.environ, **_environment(work), **QUIET},
        )
        try:
            rest = system_prompt(work)[_LONGEST_ARGUMENT:]
            messages = await _said(process, rest + user_prompt(work))
            ended = next((message for message in messages if message.get("type") == "result"), {})
            report(tools, ended, ended.get("modelUsage"))
            return _answer(messages, needs_tools=bool(tools.list()))
        finally:
            await _end(process)


def _command(work: AgentWork, config: Path) -> Sequence[str]:
    own = ",".join(work.agent.options.get("tools", []))
    return (
        *work.agent.options.get("command", ["claude"]),
        *("-p", "--output-format", "stream-json", "--verbose"),
        *("--mcp-config", str(config), "--strict-mcp-config", "--setting-sources", ""),
        *("--tools", own, "--allowedTools", ",".join(filter(None, (f"mcp__{_SERVER}", own)))),
        *("--max-turns", str(work.agent.max_turns), "--system-prompt", system_prompt(work)[:_LONGEST_ARGUMENT]),
        *(("--model", work.agent.model) if work.agent.model else ()),
        *(("--resume", work.session) if work.session else ()),
    )


def _environment(work: AgentWork) -> Mapping[str, str]:
    return {"ANTHROPIC_BASE_URL": work.agent.base_url} if work.agent.base_url else {}


def _mcp(address: ToolAddress) -> Mapping[str, Any]:
    server = {"type": "http", "url": address.url, "headers": dict(address.headers), "alwaysLoad": True}
    return {"mcpServers": {_SERVER: server}}


async def _said(process: asyncio.subprocess.Process, prompt: str) -> list[dict[str, Any]]:
    """Return what the command says about its session: its begin, its usage limits and its end."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.write(prompt.encode())
        await process.stdin.drain()
    process.stdin.close()
    messages = []
    async for line in process.stdout:
        with suppress(ValueError):
            message = json.loads(line)
            if message.get("type") in _KEPT or message.get("subtype") == "init":
                messages.append(message)
    return messages


def _answer(messages: Sequence[Mapping[str, Any]], *, needs_tools: bool) -> ModelAnswer:
    begun = next((message for message in messages if message.get("subtype") == "init"), {})
    ended = next((message for message in messages if message.get("type") == "result"), None)
    if ended is None:
        raise SessionFailed("the command ended without a result")
    if ended.get("subtype") == "error_max_turns":
        raise TaskFailed("DCF.TurnLimit", "The agent reached its limit of turns.")
    if ended.get("is_error") or ended.get("subtype") != "success":
        cause = f"the session ended with {ended.get('subtype')}: {str(ended.get('result', ''))[:500]}"
        windows = [message.get("rate_limit_info") for message in messages if message.get("type") == _LIMIT]
        raise SessionFailed(cause, ended.get("api_error_status"), rejected_window(windows))
    statuses = {server.get("name"): server.get("status") for server in begun.get("mcp_servers") or ()}
    if needs_tools and statuses.get(_SERVER) != "connected":
        raise SessionFailed(f"the tools were not connected: {statuses.get(_SERVER)}")
    return ModelAnswer(str(ended.get("result", "")), ended.get("session_id"))


def rejected_window(windows: Sequence[Mapping[str, Any] | None]) -> Mapping[str, Any] | None:
    """Return the rejected window that resets last; None if no window was rejected, or none says when it resets."""
    rejected = [
        window for window in windows if window and window.get("status") == "rejected" and window.get("resetsAt")
    ]
    return max(rejected, key=lambda window: window["resetsAt"], default=None)


def report(tools: AgentTools, ended: Mapping[str, Any], models: Mapping[str, Any] | None) -> None:
    """Report what the end of a session says that it used; nothing if it does not say so.

    Its `usage` is that of the session alone. The amounts of its models have also what its subagents used.
    """
    used, cost = ended.get("usage") or {}, ended.get("total_cost_usd")
    by_model = {name: _amounts(part, _OF_MODEL) for name, part in (models or {}).items()}
    if not used and not by_model:
        return
    parts = list(by_model.values()) or [_amounts(used, _OF_SESSION)]
    tools.report_usage(
        **{amount: sum(part[amount] for part in parts) for amount in _OF_SESSION},
        seconds=(ended.get("duration_ms") or 0) / 1000,
        **({} if cost is None else {"cost": cost, "currency": "USD"}),
        **_models(by_model),
    )


def _amounts(used: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, int]:
    return {amount: used.get(name) or 0 for amount, name in names.items()}


def _models(by_model: Mapping[str, Mapping[str, int]]) -> Mapping[str, Any]:
    """Return the arguments that say which models it was; of many those that used most."""
    names = sorted(by_model, key=lambda name: -sum(by_model[name].values()))[:_MOST_MODELS]
    if len(names) == 1:
        return {"model": names[0]}
    return {"models": {name: by_model[name] for name in names}} if names else {}


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the command if it runs: asked, told, killed."""
    for number, patience_s in _GRACE_S:
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience_s)
            return
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
