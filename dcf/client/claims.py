"""Claimed work, and the operations of its lease holder: report its outcome, renew its lease, or release it.

A claim calls the verbs of the client that made it, with the run, the state and the lease token filled in. It keeps no
state of its own: what the server says of the lease counts, so a second `complete` is refused there.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from dcf.client.arguments import JsonObject, json_text, object_text, request_id_for
from dcf.client.calls import call_tool
from dcf.client.exchange import Conversation
from dcf.client.methods import AwaitedDriver, BlockingDriver, begun, described
from dcf.client.steps import leases
from dcf.features.work.records import ClaimedWork
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.verbs.records.execution import UpdatedState
from dcf.verbs.records.leases import ReleasedState, RenewedLease

P = ParamSpec("P")
T = TypeVar("T")


class CarryOut(Protocol):
    """Carries the steps of a verb out, and waits."""

    def __call__(self, steps: Conversation[T], /) -> T:
        """Return the result of the verb."""
        ...


class CarryOutAsync(Protocol):
    """Carries the steps of a verb out without blocking."""

    async def __call__(self, steps: Conversation[T], /) -> T:
        """Return the result of the verb."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(ClaimedWork):
    """A state that `Client.claim_work` leased: `work` has its input and what to do; the methods end or keep it."""

    _carry_out: CarryOut = field(repr=False, compare=False)

    def complete(self, output: Json = MISSING, *, usage: JsonObject | None = None) -> UpdatedState:
        """Write the output, which ends the state as succeeded. Without one, what was written before is the output."""
        return self._carry_out(_completion(self, output, usage))

    def fail(self, error: str, cause: str | None = None, *, usage: JsonObject | None = None) -> UpdatedState:
        """End the state as failed, with an error by its name and what happened; its Retry and Catch say what next."""
        return self._carry_out(_failure(self, error, cause, usage))

    def renew(self, lease_ttl_s: int | None = None) -> RenewedLease:
        """Keep the lease while you work: call this every third of its length."""
        return self._carry_out(_renewal(self, lease_ttl_s))

    def release(self, reason: str | None = None) -> ReleasedState:
        """Give the state back unfinished, so that another agent can take it."""
        return self._carry_out(_return(self, reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncClaim(ClaimedWork):
    """A state that `AsyncClient.claim_work` leased. Its methods are those of `Claim`, to be awaited."""

    _carry_out: CarryOutAsync = field(repr=False, compare=False)

    async def complete(self, output: Json = MISSING, *, usage: JsonObject | None = None) -> UpdatedState:
        """Write the output, which ends the state as succeeded. Without one, what was written before is the output."""
        return await self._carry_out(_completion(self, output, usage))

    async def fail(self, error: str, cause: str | None = None, *, usage: JsonObject | None = None) -> UpdatedState:
        """End the state as failed, with an error by its name and what happened; its Retry and Catch say what next."""
        return await self._carry_out(_failure(self, error, cause, usage))

    async def renew(self, lease_ttl_s: int | None = None) -> RenewedLease:
        """Keep the lease while you work: call this every third of its length."""
        return await self._carry_out(_renewal(self, lease_ttl_s))

    async def release(self, reason: str | None = None) -> ReleasedState:
        """Give the state back unfinished, so that another agent can take it."""
        return await self._carry_out(_return(self, reason))


def claiming(
    verb: Callable[P, Conversation[ClaimedWork | None]],
) -> Callable[Concatenate[BlockingDriver, P], Claim | None]:
    """Return the method that claims work, and returns it with what its holder does with it."""

    def method(self: BlockingDriver, /, *args: P.args, **kwargs: P.kwargs) -> Claim | None:
        claimed = self._carry_out(begun(self, verb, *args, **kwargs))
        if claimed is None:
            return None
        return Claim(
            workflow_id=claimed.workflow_id, state=claimed.state, work=claimed.work, _carry_out=self._carry_out
        )

    return described(method, verb)


def claiming_async(
    verb: Callable[P, Conversation[ClaimedWork | None]],
) -> Callable[Concatenate[AwaitedDriver, P], Coroutine[Any, Any, AsyncClaim | None]]:
    """Return the method that claims work without blocking, and returns it with what its holder does with it."""

    async def method(self: AwaitedDriver, /, *args: P.args, **kwargs: P.kwargs) -> AsyncClaim | None:
        claimed = await self._carry_out(begun(self, verb, *args, **kwargs))
        if claimed is None:
            return None
        return AsyncClaim(
            workflow_id=claimed.workflow_id, state=claimed.state, work=claimed.work, _carry_out=self._carry_out
        )

    return described(method, verb)


def _completion(claim: ClaimedWork, output: Json, usage: JsonObject | None) -> Conversation[UpdatedState]:
    sent = None if output is MISSING else json_text(output, "output")
    return _end(claim, usage, new_status="succeeded", output_json=sent)


def _failure(claim: ClaimedWork, error: str, cause: str | None, usage: JsonObject | None) -> Conversation[UpdatedState]:
    return _end(claim, usage, new_status="failed", error_name=error, error_message=cause)


def _end(claim: ClaimedWork, usage: JsonObject | None, **outcome: Json) -> Conversation[UpdatedState]:
    return call_tool(
        UpdatedState,
        "update_workflow_control_plane",
        **_of_holder(claim),
        **outcome,
        usage_json=object_text(usage, "usage"),
        request_id=request_id_for(None),
    )


def _renewal(claim: ClaimedWork, lease_ttl_s: int | None) -> Conversation[RenewedLease]:
    return call_tool(RenewedLease, "renew_state_lease", **_of_holder(claim), lease_ttl_s=lease_ttl_s)


def _of_holder(claim: ClaimedWork) -> dict[str, Json]:
    """Return the arguments that name the state, and show that the caller holds its lease."""
    return {"workflow_id": claim.workflow_id, "state": claim.state, "lease_token": claim.work["lease_token"]}


def _return(claim: ClaimedWork, reason: str | None) -> Conversation[ReleasedState]:
    return leases.release(**_of_holder(claim), reason=reason)
