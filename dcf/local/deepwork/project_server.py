"""Serves DeepWork for one directory in the process of the server itself: `dcf serve --profile deepwork --path DIR`.

Middleware of the SDK's server. It stands before the profile's tools as `dcf agents local` stands before a server.
"""

from collections.abc import Mapping
from typing import Any

from mcp.server.context import CallNext, ServerRequestContext

from dcf.errors import DcfError
from dcf.local.deepwork.project_calls import PROFILE, DeepWorkCall, is_one
from dcf.local.deepwork.reviews import Reviewing
from dcf.local.deepwork.tool_calls import CallsHere
from dcf.local.working_root import WorkingDirectory
from dcf.profiles.profile import NotDone
from dcf.values.json_text import Json
from dcf.values.records import record

Context = ServerRequestContext[Any, Any]


@record(frozen=True, slots=True)
class ProjectServer:
    """Middleware that does for each call what needs the disk of the directory."""

    place: WorkingDirectory
    reviewing: Reviewing

    async def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        """Answer calls of the profile's tools that need the disk; pass everything else on."""
        params = ctx.params or {}
        name = str(params.get("name"))
        if ctx.method != "tools/call" or not is_one(PROFILE, name):
            return await call_next(ctx)
        arguments = dict(params.get("arguments") or {})
        arguments.pop("root", None)
        inner = CallsHere(ctx, call_next)
        work = DeepWorkCall(name, arguments, self.place, inner, self.reviewing)
        try:
            prepared = await work.prepared()

            async def once(**more: Json) -> dict[str, Any]:
                return await inner.passed_on({**params, "arguments": {**prepared, **more}})

            async def again(place: Mapping[str, Json]) -> dict[str, Any]:
                return await once(waits_for_review=dict(place))

            return await work.finished(await work.reviewed(await once(), again))
        except DcfError as error:
            return _refused(f"{error.message} {error.hint}")
        except NotDone as refused:
            return _refused(refused.failure.sentence)


def _refused(sentence: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"Error: {sentence}"}], "isError": True, "resultType": "complete"}
