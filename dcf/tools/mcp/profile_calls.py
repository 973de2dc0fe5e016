"""Runs one call of a profile's tool for a caller: with dcf's tools, and so with the caller's scopes, limits and audit.

A client of a profile keeps no lease token. It is known by its key, or as the local user, and its tokens are derived
from that. So any call of the same caller about a unit is a call of its lease holder.
"""

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import anyio
import anyio.to_thread

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.errors import DcfError, Forbidden, InternalError, PlatformUnavailable, RateLimited
from dcf.profiles.arguments import check
from dcf.profiles.foreign_names import in_own_words
from dcf.profiles.profile import Failure, NotDone, Profile, ProfileResource, ProfileTool
from dcf.values.digest import next_token
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.verbs.envelope import call
from dcf.verbs.key_watch import KeyWatch
from dcf.verbs.limits import Meter
from dcf.verbs.registry import TOOLS, is_served

log = logging.getLogger(__name__)

_LONGEST_ID: Final = 64
_NO_ID: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_TOLD: Final = ("error", "code", "hint", "retry_after_s")


@record(frozen=True, slots=True, kw_only=True)
class NativeTools:
    """dcf's tools for one call of a profile's tool."""

    application: Application
    caller: Caller
    meter: Meter
    watch: KeyWatch | None = None

    async def call(self, tool: str, /, **arguments: Json) -> Mapping[str, Json]:
        """Return a tool's answer; raise NotDone where it is not ok."""
        spec, settings = TOOLS[tool], self.application.settings
        if not is_served(spec, settings.toolsets) or (settings.read_only and not spec.read_only):
            raise NotDone(
                Failure(
                    code="forbidden",
                    message=f"This server does not serve {tool}, which is needed for this.",
                    hint="Ask a server that does, or have the operator change DCF_TOOLSETS or --read-only.",
                )
            )
        values = {name: value for name, value in arguments.items() if value is not None}
        reply = await call(spec, self.application, values, self.caller, self.meter, self.watch)
        if reply.broken or reply.payload["code"] != "ok":
            raise NotDone(_refused(reply.payload))
        return reply.payload

    def agent(self, named: str | None = None) -> str:
        """Return the agent id of the caller: that of its key, or else of the name it gives."""
        if self.caller.agent_id is not None:
            return self.caller.agent_id
        return _NO_ID.sub("-", named or self.caller.name).strip("-.")[:_LONGEST_ID] or "agent"

    @property
    def key_agent(self) -> str | None:
        """The agent id that the caller's key is bound to."""
        return self.caller.agent_id

    def for_agent(self, agent_id: str) -> Self:
        """Return the tools for this caller as another agent; what is recorded still names its key."""
        return replace(self, caller=replace(self.caller, agent_id=agent_id))

    def token(self, run: str, unit: str, attempt: int) -> str:
        """Return the lease token of the caller for one attempt of a unit."""
        return next_token(self.base(run, unit, attempt), unit)

    def base(self, run: str, unit: str, attempt: int) -> str:
        """Return the token for a call that leases several units: that of each follows from it and the unit's name."""
        agent_id = self.caller.agent_id  # an agent may have the name of another kind of caller
        identity = self.caller.name if agent_id is None else f"agent:{agent_id}"
        return self.application.lease_secret.token(identity, run, unit, attempt)

    @property
    def directory(self) -> Path | None:
        """The directory of the project that the server reads files of."""
        return self.application.settings.profile_directory

    @property
    def ttl_s(self) -> int:
        """Seconds of a lease."""
        return self.application.settings.profile_lease_s

    @property
    def project(self) -> str | None:
        """The project that the caller's key is bound to."""
        return self.caller.project

    @property
    def is_local(self) -> bool:
        """True for the user of this machine."""
        return self.caller.local


async def call_profile(
    profile: Profile, tool: ProfileTool, native: NativeTools, arguments: Mapping[str, Json]
) -> tuple[Json, bool]:
    """Return the answer, and whether it is a failure, which then has the profile's shape."""
    try:
        await _authorize(tool, profile, native)
        checked = check(tool.arguments, arguments)
        await anyio.to_thread.run_sync(native.application.lease_secret.load)
        return await tool.run(native, checked), False
    except Exception as error:  # noqa: BLE001 - every failure becomes an answer
        return profile.failed(in_own_words(_failure(tool.name, error), profile, tool.name, TOOLS)), True


async def read_profile(profile: Profile, resource: ProfileResource, native: NativeTools) -> Json:
    """Return what is at a resource; raise NotDone."""
    try:
        await _authorize(resource, profile, native)
        await anyio.to_thread.run_sync(native.application.lease_secret.load)
        return await resource.read(native)
    except Exception as error:
        raise NotDone(in_own_words(_failure(resource.name, error), profile, resource.name, TOOLS)) from error


async def _authorize(tool: ProfileTool | ProfileResource, profile: Profile, native: NativeTools) -> None:
    """Raise Forbidden, before anything is done, for a caller without one of the scopes that are needed."""
    lacking = next((scope for scope in sorted(tool.scopes) if scope not in native.caller.scopes), None)
    if lacking is None:
        return
    error = Forbidden(f"{tool.name} needs the scope '{lacking}'.", _hint(tool, profile))
    note = native.application.refusals.refused(native.caller, tool.name, error, {})
    if note is not None:
        await anyio.to_thread.run_sync(note)
    raise error


def _hint(tool: ProfileTool | ProfileResource, profile: Profile) -> str:
    """Return how to get a key with all scopes of a tool: one with the lacking scope alone would be refused as well."""
    scopes = sorted(tool.scopes - {Scope.READ}) or [Scope.READ]
    made = " ".join(f"--scope {scope}" for scope in scopes)
    names = " and ".join(f"'{scope}'" for scope in scopes)
    return (
        f"Use a key with {'the scopes' if len(scopes) > 1 else 'the scope'} {names}; an operator makes it: "
        f"`dcf keys add --profile {profile.name} {made} --agent-id ID`."
    )


def _failure(name: str, error: Exception) -> Failure:
    """Return the failure as the caller sees it; a bug of dcf is logged, and shows no internals to the caller."""
    if isinstance(error, NotDone):
        return error.failure
    if not isinstance(error, DcfError):
        log.error("tool %s failed", name, exc_info=error)
        error = InternalError()
    wait = error.retry_after_s if isinstance(error, PlatformUnavailable | RateLimited) else None
    return Failure(code=error.code, message=error.message, hint=error.hint, retry_after_s=wait, is_native=True)


def _refused(payload: Mapping[str, Json]) -> Failure:
    """Return why one of dcf's tools did not do what it was asked for."""
    code = str(payload["code"])
    return Failure(
        code=code,
        message=str(payload.get("error") or "").removeprefix(f"{code}: "),
        hint=str(payload.get("hint") or ""),
        retry_after_s=payload.get("retry_after_s"),
        details={name: value for name, value in payload.items() if name not in _TOLD and value is not None},
        is_native=True,
    )
