"""One request for a page: its caller, and what the caller may see and do.

A page gets its data through the tools, so that scopes, projects, quotas and the audit trail hold for it as for any
other caller. A rejected call becomes a page with the reason.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import dcf.tools.mcp.selection  # noqa: F401 - it registers every tool
from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.core.listing.sweep_results import Trouble
from dcf.errors import Forbidden, UnknownRun
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.verbs.envelope import call_here
from dcf.verbs.registry import TOOLS, is_served
from dcf.web.action_table import ACTIONS


class ToolRefused(Exception):
    """A tool could not answer: its code, and what it says to a person."""

    def __init__(self, payload: Mapping[str, Json]) -> None:
        self.code: str = payload["code"]
        self.message = str(payload["error"]).removeprefix(f"{self.code}: ")
        self.hint: str = payload.get("hint") or ""
        super().__init__(self.message)


@record(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """The result of an action, shown once on the next page. `done`: it was carried out, now or before."""

    done: bool
    message: str
    hint: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request of this caller. `may_act`: this server lets its page change things, not only show them.

    Every form carries the `form_token`, which no other site can know. `outcome` is that of the action before.
    """

    application: Application
    caller: Caller
    may_act: bool = False
    form_token: str = ""
    outcome: ActionOutcome | None = None

    @property
    def who(self) -> str:
        """The name of the caller, for the head of the page; empty without log-in."""
        caller = self.caller
        if caller.local:
            return ""
        agent = None if caller.agent_id is None else f"agent {caller.agent_id}"
        project = None if caller.project is None else f"project {caller.project}"
        return ", ".join(filter(None, (caller.name, agent, project)))

    def ask(self, tool: str, **arguments: Any) -> Mapping[str, Json]:
        """Return the answer of a tool that does not wait; raise ToolRefused if the call is invalid or forbidden."""
        reply = call_here(TOOLS[tool], self.application, arguments, self.caller)
        if reply.broken:
            raise ToolRefused(reply.payload)
        return reply.payload

    def may(self, tool: str) -> bool:
        """Return whether the caller may use a tool here. Tools that change something need a page that may act."""
        spec, settings = TOOLS[tool], self.application.settings
        if spec.scope not in self.caller.scopes or not is_served(spec, settings.toolsets):
            return False
        if spec.read_only:
            return True
        action = ACTIONS.get(tool)
        allowed = action is not None and (not action.scopes or bool(action.scopes & self.caller.scopes))
        return allowed and self.may_act and not settings.read_only

    def hindrance(self, tool: str) -> str:
        """Return why the caller may not use a tool here, and what would change it; empty if it may."""
        if self.may(tool):
            return ""
        if self.application.settings.read_only:
            return "This server is read-only (DCF_READ_ONLY)."
        if not self.may_act:
            return "This page only shows runs: its server was started without --allow-actions."
        if self.caller.local:
            return "This server lets only keys do that: start it with DCF_ALLOW_OPERATOR=1, or log in with a key."
        action = ACTIONS.get(tool)
        scopes = {TOOLS[tool].scope} if action is None or not action.scopes else action.scopes
        names = "' or '".join(sorted(scope.value for scope in scopes))
        return f"Your key lacks the scope '{names}'."

    @property
    def trouble(self) -> Trouble | None:
        """Why Redis rejects writes just now, for every page to say so."""
        return self.application.writes.trouble()

    def offers(self, screen: str) -> bool:
        """Return whether the menu leads to a screen: not a key that may not see System, which would only refuse it.

        Without keys it does, since the page then says how to start the server so that it is shown.
        """
        return screen != "System" or self.caller.local or (self.caller.project is None and self.may("read_health"))

    def check_run(self, workflow_id: str) -> None:
        """Raise Forbidden if the caller may not read, UnknownRun for a run of another project than the caller's.

        It is for pages that read a run themselves.
        """
        if Scope.READ not in self.caller.scopes:
            raise Forbidden("A run's page needs the scope 'read'.", "Ask for a key that has it.")
        project = self.caller.project
        if project is not None and self.application.projects.of_run(workflow_id) != project:
            unknown = UnknownRun(workflow_id)
            note = self.application.refusals.refused(self.caller, "page", unknown, {"workflow_id": workflow_id})
            if note is not None:
                note()
            raise unknown


_CURRENT: ContextVar[Visit | None] = ContextVar("dcf_visit", default=None)


def current_visit() -> Visit | None:
    """Return the visit that a page is made for, which every template shows; None for a page before the log-in."""
    return _CURRENT.get()


@contextmanager
def visiting(visit: Visit) -> Iterator[None]:
    """Make this the current visit within the context."""
    token = _CURRENT.set(visit)
    try:
        yield
    finally:
        _CURRENT.reset(token)
