"""Which button helps against a finding: the remedy of a diagnosis as an action of the page. Pure.

A remedy may name arguments that a person must choose (an agent, an answer). Those are left out: the person who confirms
the action fills them in.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from dcf.values.json_text import Json
from dcf.web.templating import query, run_link


class Button(NamedTuple):
    """A tool as a button, with the arguments that are known."""

    tool: str
    arguments: Mapping[str, Json]


class HelpPage(NamedTuple):
    """A page that helps. Callers that may not use this tool may not see the page."""

    link: str
    label: str
    tool: str = "explain_run"


_HELPFUL: Final = frozenset(
    {
        *("notify_next_worker_agent", "notify_if_ready", "release_state_lease", "resolve_state", "resume_run"),
        *("resolve_issue", "cancel_run", "finalize_workflow", "send_signal", "retry_run", "open_account"),
    }
)
_KNOWN: Final = ("workflow_id", "state", "epoch", "issue", "name", "account")
_ANSWERED: Final = frozenset({"waiting_for_person", "waiting_for_answer", "waiting_for_verdict"})


def button_of(remedy: Mapping[str, Json]) -> Button | None:
    """Return the button of a remedy; None where what helps is done elsewhere."""
    call = remedy["call"]
    if call is None or call["tool"] not in _HELPFUL:
        return None
    known = {name: call["arguments"][name] for name in _KNOWN if name in call["arguments"]}
    return Button(call["tool"], known)


def is_answered(finding: Mapping[str, Json]) -> bool:
    """Return True if a person or an agent can end the wait with an answer, which the inbox has a form for."""
    return finding["cause"] in _ANSWERED and finding["remedy"]["call"] is not None


def is_parked(finding: Mapping[str, Json]) -> bool:
    """Return True if the state waits for the end of a usage limit."""
    return bool(finding["cause"] == "account_closed")


def place_of(run: str, finding: Mapping[str, Json]) -> HelpPage | None:
    """Return the page on which to look, or to answer what a state waits for; None if there is none."""
    state, call = finding["state"], finding["remedy"]["call"]
    if finding["cause"] in _ANSWERED:
        return HelpPage(f"/ui/inbox{query(run=run, state=state)}", "Answer it in the inbox")
    if finding["cause"] == "waiting_for_child":
        return HelpPage(f"/ui/why{query(run=finding['evidence']['run'])}", "Why that run does not move")
    if call is not None and call["tool"] == "read_run_events":
        return HelpPage(run_link(run, tab="events", state=state), "The events of the state")
    if call is not None and call["tool"] == "read_health":
        return HelpPage("/ui/system", "How the system is", "read_health")
    return None
