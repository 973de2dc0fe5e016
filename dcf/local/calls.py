"""Calls of the server's tools: those of the agent, passed on, and those that this process makes itself.

A call is repeated as `dcf.tools.calling.repeating` says, if the tool may be called twice: the list of tools says which,
and to those that take a `request_id` or a `lease_token` one is given where the agent gave none.
"""

import secrets
from collections.abc import Mapping
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.shared.dispatcher import ProgressFnT

from dcf.errors import PASSING, ToolCallFailed
from dcf.local.upstream import Upstream
from dcf.tools.calling.repeating import Tries, failure_of
from dcf.values.json_text import Json
from dcf.values.records import record

_OWN_TOKEN: Final = frozenset({"acquire_state_lease", "claim_ready_state"})
"""Tools that are idempotent with a token that their caller drew."""
_REPEATABLE: Final = frozenset(
    {"get_workflows", "finished_step", "go_to_step", "get_session_job", "register_session_job", "abort_workflow"}
)
"""Tools of profiles that may be called twice with the same arguments."""


@record(frozen=True, slots=True)
class ServerCalls:
    """Calls of the server's tools. `meta` is what the agent's client says of itself."""

    upstream: Upstream
    meta: Mapping[str, Any] | None = None

    async def passed_on(self, params: Mapping[str, Any], on_progress: ProgressFnT | None = None) -> dict[str, Any]:
        """Return the result of a call of the agent, which may be a refusal; raise DcfError where there is none."""
        name = str(params.get("name"))
        arguments, may_repeat = await anyio.to_thread.run_sync(_repeatable, name, params.get("arguments") or {})
        sent = {**params, "arguments": arguments}
        tries = Tries(self.upstream.deadline_s)
        while True:
            result = await self.upstream.request("tools/call", sent, repeat=may_repeat, on_progress=on_progress)
            answer = result.get("structuredContent") or {}
            if not (may_repeat and result.get("isError") and answer.get("code") in PASSING and tries.left_s > 0):
                return result
            await anyio.sleep(tries.pause_after(failure_of(answer)))

    async def call(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        """Return the answer of a tool; raise ToolCallFailed if it is an error or a refusal."""
        values = {name: value for name, value in arguments.items() if value is not None}
        params: dict[str, Any] = {"name": tool, "arguments": values}
        if self.meta:
            params["_meta"] = dict(self.meta)
        result = await self.passed_on(params)
        answer: dict[str, Json] = result.get("structuredContent") or {}
        if result.get("isError") or answer.get("code", "ok") != "ok":
            if "code" in answer:
                raise failure_of(answer)
            raise ToolCallFailed("error", f"The server refused to call {tool}.", "Check that it serves this tool.")
        return answer


def _repeatable(name: str, arguments: Mapping[str, Json]) -> tuple[dict[str, Json], bool]:
    """Return the arguments with which a call may be repeated, and whether it may be. Imports the tools."""
    import dcf.tools.mcp.selection  # noqa: F401, PLC0415 - takes half a second, which the first call waits for
    from dcf.verbs.registry import TOOLS  # noqa: PLC0415 - the same

    spec, sent = TOOLS.get(name), dict(arguments)
    if spec is None:
        return sent, name in _REPEATABLE
    fields = spec.arguments.model_fields
    if spec.read_only or (spec.idempotent and "lease_token" in fields):
        return sent, True
    if "request_id" in fields:
        sent.setdefault("request_id", f"local-{secrets.token_hex(8)}")
    elif name in _OWN_TOKEN:
        sent.setdefault("lease_token", secrets.token_hex(16))
    else:
        return sent, spec.idempotent
    return sent, True
