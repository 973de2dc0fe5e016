"""The calls of dcf's tools that a worker makes: for events, for leases, and to write the outcomes of states.

One tool call each; what an answer means is decided by the worker.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.worker.calls import Work
from dcf.worker.parking import is_parked, release_arguments
from dcf.worker.results import USAGE, Result

_MOST_NAMED: Final = 200
"""As many states as await_workflow_event takes names of."""

_STILL_TO_DO: Final = (None, "pending", "running")
"""Statuses of a state after its lease was released, unless its run was cancelled or its time ended meanwhile."""


_USAGE_OF_ATTEMPT: Final = "usage-of-attempt"
"""Request id of the usage of an attempt that met a limit; together with the lease token it names one request."""

_NOTHING_WRITTEN: Final[dict[str, Json]] = {"code": "ok", "completed": [], "work": []}


class ToolCaller(Protocol):
    """Calls dcf's tools over some transport."""

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; retry until a deadline while the server does not answer."""


Results: TypeAlias = Sequence[tuple[Work, Result]]
"""States with the arguments that report their outcomes."""


@record(frozen=True, slots=True)
class NotLeased:
    """Why a state was not leased. `is_over_limit`: its agent or project holds as much as it may, for now."""

    why: str
    is_over_limit: bool = False


class LeaseCalls:
    """The calls of one agent."""

    def __init__(
        self, tools: ToolCaller, agent_id: str, *, lease_ttl_s: int, wait_s: float, unassigned: bool = False
    ) -> None:
        self.agent_id = agent_id
        self._unassigned = unassigned
        self._tools = tools
        self._holder: dict[str, Json] = {"owner_agent_id": agent_id, "lease_ttl_s": lease_ttl_s}
        self._wait_s = wait_s
        self._token: str | None = None

    def await_event(
        self,
        handled: str | None,
        states: Sequence[str] | None,
        placed: Mapping[str, list[str]],
        named: Sequence[str] | None = None,
    ) -> dict[str, Json]:
        """Wait for the next event, and acknowledge the event that was handled.

        A ready state of `states` (None: of all) comes leased, as `work`. No state comes leased if `states` is empty, or
        too long to send in every call. `placed` has the functions for each name of a state. A state that means another
        function does not come leased either. A worker for unassigned work gets events of the states `named` only (None:
        of all). The lease token stays the same until an answer has come, so that a call whose answer was lost finds its
        lease again.
        """
        self._token = self._token or _new_token()
        only: dict[str, Json] = {}
        if states is not None:
            only = {"lease_states": list(states)} if 0 < len(states) <= _MOST_NAMED else {"lease": False}
        if self._unassigned:
            is_short = named is not None and 0 < len(named) <= _MOST_NAMED
            only |= {"unassigned": True} | ({"lease_states": list(named or ())} if is_short else {})
        if placed and max(len(placed), *map(len, placed.values())) <= _MOST_NAMED:
            only["lease_functions"] = {state: list[Json](places) for state, places in placed.items()}
        answer = self._tools.call(
            "await_workflow_event",
            agent_id=self.agent_id,
            timeout_s=self._wait_s,
            ack_message_id=handled,
            lease_ttl_s=self._holder["lease_ttl_s"],
            lease_token=self._token,
            whole_input=True,
            **only,
        )
        self._token = None
        return answer

    def acquire(self, workflow_id: str, state: str) -> Work | NotLeased:
        """Lease a state; return why not where it is refused."""
        token = _new_token()
        answer = self._tools.call(
            "acquire_state_lease",
            workflow_id=workflow_id,
            state=state,
            **self._holder,
            lease_token=token,
        )
        if answer.get("code") != "ok":
            return NotLeased(str(answer.get("error")), is_over_limit=answer.get("code") == "work_limit_reached")
        return work_of({"workflow_id": workflow_id, "state": state, "lease_token": token} | (answer.get("work") or {}))

    def claim(self, workflow_id: str, most: int) -> list[Work]:
        """Lease ready states of a run, so many at most."""
        token = _new_token()
        answer = self._tools.call(
            "claim_ready_state",
            workflow_id=workflow_id,
            **self._holder,
            lease_token=token,
            claim_next=most,
            whole_input=True,
        )
        if answer.get("code") != "ok":
            return []
        return [work_of(answer["work"]), *map(work_of, answer["more_work"])]

    def renew(self, work: Work) -> str | None:
        """Extend the lease, also an expired one if no other agent has the state; return why it was refused, or None."""
        return _refused(self._tools.call("renew_state_lease", **_lease_arguments(work), reject_if_expired=False))

    def log_event(self, work: Work, number: int, message: str, fields: Mapping[str, Json]) -> str | None:
        """Write a line into the history of the run; return why it is refused, or None."""
        line: dict[str, Json] = {"number": number, "message": message, "fields_json": dict(fields)}
        return _refused(self._tools.call("log_event", **_lease_arguments(work), **line))

    def leave_note(self, work: Work, text: str) -> dict[str, Json]:
        """Leave a note for the planner; return the answer."""
        return self._tools.call(
            "leave_note", workflow_id=work.workflow_id, agent_id=self.agent_id, state=work.state, text=text
        )

    def ask_question(self, work: Work, question: str, choices: Sequence[str]) -> dict[str, Json]:
        """Ask the planner, and give the state back; return the answer."""
        more = {"choices_json": list(choices)} if choices else {}
        return self._tools.call("ask_question", **_lease_arguments(work), question=question, **more)

    def release(self, work: Work, reason: str | None = None) -> str | None:
        """Release the lease, with a reason for the history; return why no other agent will do the work, or None.

        Without a reason this worker shuts down, and the attempt is not counted.
        """
        more: dict[str, Json] = {"attempt_counts": False} if reason is None else {"reason": reason}
        answer = self._tools.call("release_state_lease", **_lease_arguments(work), **more)
        status = (answer.get("updated_state") or {}).get("status")
        return _refused(answer) if status in _STILL_TO_DO else f"the state is {status}"

    def park(self, work: Work, result: Result) -> dict[str, Json]:
        """Report what the attempt used, and release the state until the limit ends; return the answer.

        A repetition counts the usage once.
        """
        if USAGE in result:
            used = {USAGE: result[USAGE], "request_id": _USAGE_OF_ATTEMPT}
            answer = self._tools.call("update_workflow_control_plane", **_lease_arguments(work), **used)
            if answer.get("code") != "ok":
                return answer
        return self._tools.call("release_state_lease", **_lease_arguments(work), **release_arguments(result))

    def write(self, work: Work, result: Result, *, claim_next: bool) -> dict[str, Json]:
        """Write the outcome of a state, and lease the next one with it, unless the state is parked."""
        if is_parked(result):
            return self.park(work, result)
        return self._tools.call(
            "update_workflow_control_plane",
            **_lease_arguments(work),
            **self._holder,
            claim_next=claim_next,
            whole_input=True,
            **result,
        )

    def write_all(self, workflow_id: str, results: Results, claim_next: int) -> dict[str, Json]:
        """Write the outcomes of several states of a run, and lease at most `claim_next` further states with it."""
        parking = {work.token: self.park(work, result) for work, result in results if is_parked(result)}
        ended = [(work, result) for work, result in results if work.token not in parking]
        answer = self._complete(workflow_id, ended, claim_next) if ended else _NOTHING_WRITTEN
        if not parking or answer.get("code") != "ok":
            return answer
        completed = iter(answer["completed"])
        return {**answer, "completed": [parking.get(work.token) or next(completed) for work, _ in results]}

    def _complete(self, workflow_id: str, results: Results, claim_next: int) -> dict[str, Json]:
        sent: list[Json] = [
            {"state": work.state, "lease_token": work.token}
            | {name: value for name, value in result.items() if name != "new_status"}
            for work, result in results
        ]
        return self._tools.call(
            "complete_states",
            workflow_id=workflow_id,
            results=sent,
            claim_next=claim_next,
            **self._holder,
        )


def _lease_arguments(work: Work) -> dict[str, Json]:
    return {"workflow_id": work.workflow_id, "state": work.state, "lease_token": work.token}


def _new_token() -> str:
    return f"lease-{secrets.token_hex(16)}"


def _refused(answer: Mapping[str, Json]) -> str | None:
    return None if answer.get("code") == "ok" else str(answer.get("error"))


def work_of(granted: Mapping[str, Json]) -> Work:
    """Return the work in an answer, whose lease this agent holds."""
    return Work(
        workflow_id=granted["workflow_id"],
        state=granted["state"],
        token=granted["lease_token"],
        given=granted.get("input"),
        attempt=granted.get("attempt", 1),
        epoch=granted.get("epoch", 0),
        visit=granted.get("entry_epoch") or 0,
        deadline=granted.get("deadline"),
        heartbeat_s=granted.get("heartbeat_s"),
        sign_within_s=granted.get("sign_within_s"),
        task_token=granted.get("task_token"),
        instructions=granted.get("instructions"),
        output_schema=granted.get("output_schema"),
        errors=tuple(granted.get("errors", ())),
        is_invocation=granted.get("is_invocation", False),
        brief=granted,
    )
