"""Every exception dcf raises, with a stable code a program can branch on.

    DcfError
    ├── InvalidArgument        invalid_argument     the caller must change the call
    │   ├── TooLarge           too_large            a document, value or answer beyond its limit
    │   └── InvalidDefinition  invalid_definition   the workflow document has problems
    ├── Forbidden              forbidden            something this caller may not do
    ├── Unauthorized           unauthorized         the server wants an API key and did not get a good one
    ├── RateLimited            rate_limited         this caller calls too often or too much at once
    ├── NotFound
    │   ├── UnknownRun         unknown_run
    │   ├── UnknownDefinition  unknown_definition
    │   ├── NotInCatalogue     not_in_catalogue
    │   ├── UnknownFinding     unknown_finding
    │   ├── UnknownSchedule    unknown_schedule
    │   ├── UnknownProject     unknown_project
    │   ├── UnknownState       unknown_state
    │   ├── AgentUnknown       unknown_agent
    │   ├── SkillUnknown       unknown_skill
    │   └── UnknownKey         unknown_key
    ├── ToolUnavailable        tool_unavailable     a skill's tool that cannot be attached
    ├── PlatformUnavailable    platform_unavailable the agent platform is down or slow
    ├── StoreUnavailable       store_unavailable    Redis cannot be reached, or refuses for a while
    │   └── ServerUnreachable  server_unreachable   the MCP server does not answer its client
    ├── StoreUnsuitable        store_unsuitable     Redis is there but lacks what dcf needs
    ├── Conflict               conflict             others kept changing the same documents
    ├── RunOnHold              run_held             evaluations of the run have ended processes
    ├── CapabilityMissing      capability_missing   a state has what no capability of this process reads
    ├── UnknownOutcome         unknown_outcome      the write may or may not have happened
    ├── StateError             state_error          a state failed while the engine ran it (ASL error name)
    ├── InternalError          internal_error       a defect of dcf
    ├── Refused                refused              a client's request was refused; `code` has the refusal's own code
    ├── RunFailed              run_failed           a client wanted the output of a run that did not succeed
    ├── WaitTimedOut           wait_timed_out       a client waited for a run that has not ended yet
    ├── WebhookRefused         webhook_refused      a receiver got a request that is not dcf's, or is too old
    └── ToolCallFailed         (the tool's code)    a tool answered with an error

Expected outcomes of a decision (held, not ready, lost) are values; only the client raises them, as `Refused`.
This module must not import other modules of dcf. Messages never contain a secret, a URL with credentials or a library's
text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PASSING = frozenset(
    {"server_unreachable", "store_unavailable", "unknown_outcome", "conflict", "internal_error", "rate_limited"}
)
"""Codes of failures of the server, not of the call: the caller may repeat the call."""

_AFTER_FAILURE = "`read_run_events` shows the cause; once it is fixed, `retry_run` lets the run continue."


class DcfError(Exception):
    """Base of all errors of dcf: something that the caller or the operator can correct.

    `message` says what is wrong and `hint` what to do next, one sentence each.
    """

    code = "error"
    default_hint = "See the message."

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint

    def __str__(self) -> str:
        if self.hint == DcfError.default_hint:
            return self.message
        return f"{self.message}{chr(10) if chr(10) in self.message else ' '}{self.hint}"


class InvalidArgument(DcfError):
    """The call itself is wrong; nothing was changed."""

    code = "invalid_argument"
    default_hint = "Correct the argument and call again; nothing was changed."


class TooLarge(InvalidArgument):
    """A document, value or answer is beyond its limit; nothing was changed."""

    code = "too_large"
    default_hint = "Send less, or store the data elsewhere and pass a reference to it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A flaw of a workflow document at `path`, a JSON Pointer: a stable `code`, then two sentences."""

    path: str
    code: str
    message: str
    hint: str


class InvalidDefinition(InvalidArgument):
    """The workflow document has problems; all of them are listed."""

    code = "invalid_definition"
    default_hint = "Mend every problem listed and call again; nothing was written."

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{first.message} At {first.path or '/'}{more}.", first.hint)
        self.problems = tuple(problems)


class Forbidden(DcfError):
    """The call asks for something that this caller may not do."""

    code = "forbidden"
    default_hint = "Ask an operator, who can start the server with DCF_ALLOW_OPERATOR=1."


class Unauthorized(DcfError):
    """The server requires an API key, and got none or an invalid key."""

    code = "unauthorized"
    default_hint = "Set DCF_API_KEY to a key made with `dcf keys add`; `dcf keys ls` shows which are active."


class RateLimited(DcfError):
    """The caller calls too often, or has too many calls at once; nothing was changed."""

    code = "rate_limited"
    default_hint = "Wait retry_after_s seconds, then repeat the same call."

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NotFound(DcfError):
    """The object that the call names does not exist."""

    code = "not_found"


class UnknownRun(NotFound):
    """No run has this workflow_id."""

    code = "unknown_run"
    default_hint = "`list_runs` lists the runs."

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"There is no run '{workflow_id}'.")


class UnknownDefinition(NotFound):
    """No definition is kept under this name, version or hash."""

    code = "unknown_definition"
    default_hint = (
        "Pass `workflow_json`, the document itself: that keeps it, and it can be started by its name afterwards."
        " One that was started in a project is known in that project."
    )

    def __init__(self) -> None:
        super().__init__("No definition of this name, version or hash is kept.")


class UnknownSchedule(NotFound):
    """No schedule has this name."""

    code = "unknown_schedule"
    default_hint = "List the names with `list_schedules`."

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no schedule '{name}'.")


class UnknownProject(NotFound):
    """No project has this id, or this path."""

    code = "unknown_project"
    default_hint = "List the projects with `list_projects`, or make one with `put_project`."

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no project '{name}'.")


class NotInCatalogue(NotFound):
    """The catalogue has no such definition, or not in this version."""

    code = "not_in_catalogue"
    default_hint = "Find it with `search_definitions`; `get_finding` reads a finding."

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"The catalogue has no {kind} '{name}' in this version.")


class UnknownFinding(NotFound):
    """No finding has this id."""

    code = "unknown_finding"
    default_hint = "Find it with `search_findings`; `get_definition` reads a definition."

    def __init__(self, finding_id: str) -> None:
        super().__init__(f"There is no finding '{finding_id}'.")


class UnknownState(NotFound):
    """The run's workflow has no state of this name."""

    code = "unknown_state"
    default_hint = "`read_workflow_control_plane` lists the states; one inside a Parallel or Map is named by its path."

    def __init__(self, workflow_id: str, state: str) -> None:
        super().__init__(f"Run '{workflow_id}' has no state '{state}'.")


class AgentUnknown(NotFound):
    """The agent platform has no agent of this id."""

    code = "unknown_agent"
    default_hint = "Check the agent id, or find it with `resolve_agent_name_to_id`."


class SkillUnknown(NotFound):
    """No manifest has this name."""

    code = "unknown_skill"
    default_hint = (
        "Pass `skill_json` as `get_my_assignment` or `get_skillset` shows it: a manifestId, or skill://name@version."
    )

    def __init__(self, reference: str) -> None:
        super().__init__(f"There is no skill '{reference}'.")


class UnknownKey(NotFound):
    """No API key has this id."""

    code = "unknown_key"
    default_hint = "List the ids with `dcf keys ls`."

    def __init__(self, key_id: str) -> None:
        super().__init__(f"There is no API key '{key_id}'.")


class ToolUnavailable(DcfError):
    """A skill's tool cannot be attached, and a retry does not help."""

    code = "tool_unavailable"
    default_hint = "Check the tool's server in the registry and that it serves a tool of this name."


class PlatformUnavailable(DcfError):
    """The agent platform does not answer, or answers with a failure of its own."""

    code = "platform_unavailable"
    default_hint = "Check that the agent platform is up, then repeat the call."

    def __init__(self, message: str, *, retry_after_s: float = 5.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class StoreUnavailable(DcfError):
    """Redis cannot be reached, or refuses commands for a while; the same call may be repeated.

    `place` is the address of Redis and `remedy` what to do if no call is to be repeated, for the operator; callers of
    tools see neither. `is_full`: its memory is full, and it refuses only what may need more.
    """

    code = "store_unavailable"
    default_hint = "Check REDIS_URL and that the server is up (`dcf doctor`), then repeat the call."
    is_full = False

    def __init__(
        self, message: str, hint: str | None = None, *, place: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, hint)
        self.place, self.remedy = place, remedy or hint or "Check REDIS_URL and that the server is up."


class ServerUnreachable(StoreUnavailable):
    """The MCP server does not answer its client."""

    code = "server_unreachable"
    default_hint = "Check that `dcf serve --transport http` runs and that DCF_SERVER_URL points at it."


class StoreUnsuitable(DcfError):
    """Redis is there but lacks something dcf cannot work without."""

    code = "store_unsuitable"
    default_hint = "Use Redis 8, Redis Stack, or leave REDIS_URL unset to use the embedded server."


class Conflict(DcfError):
    """The transaction lost the race against others until its deadline; it was not applied."""

    code = "conflict"
    default_hint = "Repeat the same call; nothing was written."


class RunOnHold(DcfError):
    """The step is not carried out: evaluations of the run have ended processes, so the run is on hold."""

    code = "run_held"
    default_hint = "An operator lets the run continue with `retry_run`; `explain_run` names the state."


class CapabilityMissing(DcfError):
    """A state has what no capability of this process reads, so this process does not decide about it."""

    code = "capability_missing"
    default_hint = "Send the same call to a server that has the capability; nothing was written."


class UnknownOutcome(DcfError):
    """The deadline passed while it was unclear whether the write took effect."""

    code = "unknown_outcome"
    default_hint = "Repeat the same call with the same token or request id; it is applied at most once."


class InternalError(DcfError):
    """A defect of dcf itself. The details are in the server's log, not in the answer."""

    code = "internal_error"
    default_hint = "Repeat the call; if it fails again, show an operator the server's log."

    def __init__(self) -> None:
        super().__init__("Something failed inside the server.")


class Refused(DcfError):
    """A well-formed request of a client was refused, and nothing was changed by it.

    `code` is the refusal's own, such as `run_over` or `on_hold`; `answer` has the other fields of the refusal.
    """

    code = "refused"

    def __init__(
        self,
        code: str,
        message: str,
        hint: str | None = None,
        *,
        retry_after_s: float | None = None,
        answer: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.code, self.retry_after_s, self.answer = code, retry_after_s, answer or {}


class RunFailed(DcfError):
    """A run whose output was wanted has ended without one. `error` and `cause` are the run's own."""

    code = "run_failed"

    def __init__(self, workflow_id: str, status: str, error: str | None, cause: str | None) -> None:
        why = ": ".join(text for text in (error, cause) if text)
        super().__init__(f"Run '{workflow_id}' is {status}{f' ({why})' if why else ''}.", _AFTER_FAILURE)
        self.workflow_id, self.status, self.error, self.cause = workflow_id, status, error, cause


class WaitTimedOut(DcfError, TimeoutError):
    """The run had not ended after the time that a client wanted to wait; the run continues."""

    code = "wait_timed_out"
    default_hint = "Wait longer; `explain_run` says what it waits for."

    def __init__(self, workflow_id: str, timeout_s: float) -> None:
        super().__init__(f"Run '{workflow_id}' had not ended after {timeout_s:g} seconds.")
        self.workflow_id = workflow_id


class WebhookRefused(DcfError):
    """A request to a receiver of webhooks was not signed by dcf, or too long ago; raised by `dcf.webhooks.verify`."""

    code = "webhook_refused"
    default_hint = "Answer 401, and do nothing of what the request asks."


class ToolCallFailed(DcfError):
    """A dcf tool, called as a client, answered with an error; `answer` is the whole answer."""

    def __init__(
        self, code: str, message: str, hint: str | None = None, answer: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message, hint)
        self.code, self.answer = code, answer or {}


class StateError(DcfError):
    """A state of a running workflow failed with an ASL error name; the engine turns it into a transition."""

    code = "state_error"

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(cause)
        self.error, self.cause = error, cause
