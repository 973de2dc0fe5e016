"""The form of an exported run: one JSON document with its workflow, documents, history, journal and artifacts. Pure.

It can be read without Redis and without dcf. Lease tokens are hidden and stored results left out: an export gives no
right to anything.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dcf.core.documents.codec import read_state
from dcf.core.leasing.blockers import word_of
from dcf.core.lifecycle.inspection import public_state
from dcf.core.listing.events import EventQuery
from dcf.errors import InvalidArgument
from dcf.values.instants import from_text
from dcf.values.json_text import Json
from dcf.values.records import record

FORMAT: Final = "dcf-run"
VERSION: Final = 1

LONGEST_CONTENT: Final = 64 * 1024
"""Most bytes of an artifact whose content is in an export."""

_MILLISECOND: Final = 1000


@record(frozen=True, slots=True, kw_only=True)
class ExportedRun:
    """An export as it was read: `head` has all but states and events."""

    head: Mapping[str, Json]
    states: Mapping[str, Json] = field(default_factory=dict)
    events: tuple[Mapping[str, Json], ...] = ()

    @property
    def findings(self) -> list[Mapping[str, Json]]:
        """Why the run was where it was."""
        findings: list[Mapping[str, Json]] = self.head["explanation"]["findings"]
        return findings

    def state(self, path: str) -> dict[str, Json]:
        """Return a state document for readers. Fields that somebody broke have their defaults."""
        state = self.states[path]
        agents = state.get("agents")
        named = [agent for agent in agents if isinstance(agent, str)] if isinstance(agents, list) else []
        shown = {**public_state(read_state(dict(state))), "ready": False, "agents": named}
        tally = state.get("tally")
        is_tally = isinstance(tally, dict) and all(isinstance(tally.get(name), int) for name in ("done", "failed"))
        return shown | ({"tally": tally} if is_tally else {})

    def explanation(self, state: str | None = None) -> dict[str, Json]:
        """Return why the run was where it was when it was exported, or what was found about one state."""
        findings = [finding for finding in self.findings if state is None or finding.get("state") == state]
        return {
            "workflow_id": self.head.get("workflow_id"),
            "run_status": word_of(self.meta),
            "exported_at": self.head["exported_at"],
            "stuck": any(finding.get("stuck") is True for finding in findings),
            "findings": findings,
            "unread_states": 0,
        }

    @property
    def meta(self) -> Mapping[str, Json]:
        """The run's meta document."""
        meta: Mapping[str, Json] = self.head["meta"]
        return meta

    def events_of(self, query: EventQuery) -> list[Mapping[str, Json]]:
        """Return the events that are wanted, in the order asked for."""
        events = [event for event in self.events if _is_wanted(event, query)]
        return events[::-1] if query.newest_first else events


def head_of(
    *,
    dcf: str,
    at: str,
    meta: Mapping[str, Json],
    definition: Json,
    audit: Mapping[str, Json] | None,
    explanation: Mapping[str, Json],
    usage: Mapping[str, Json] | None,
) -> dict[str, Json]:
    """Return the first part of an export: what it is, and the documents of the run as a whole."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "dcf": dcf,
        "exported_at": at,
        "workflow_id": meta.get("workflow_id"),
        "meta": dict(meta),
        "definition": definition,
        "audit": None if audit is None else dict(audit),
        "explanation": dict(explanation),
        "usage": None if usage is None else dict(usage),
    }


def read_export(document: Json) -> ExportedRun:
    """Read an export; raise InvalidArgument if it is none, or of a later version."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidArgument("That is no export of a run.", "Make one with: dcf runs export RUN --to FILE")
    if document.get("version") != VERSION:
        raise InvalidArgument(f"The export has version {document.get('version')}.", "Read it with a newer dcf.")
    states, events, meta = document.get("states"), document.get("events"), document.get("meta")
    if (
        not isinstance(states, dict)
        or not isinstance(events, list)
        or not isinstance(meta, dict)
        or from_text(document.get("exported_at")) is None
        or not all(isinstance(member, dict) for member in (*states.values(), *events))
    ):
        raise InvalidArgument("The export is damaged: a part of it is missing.", "Export the run again.")
    head = {name: value for name, value in document.items() if name not in {"states", "events"}}
    head["explanation"] = {"findings": _findings(head.get("explanation"))}
    return ExportedRun(head=head, states=states, events=tuple(events))


def _findings(explanation: Json) -> list[Json]:
    """Return the findings of an explanation; what is not in the form of one is left out."""
    findings = explanation.get("findings") if isinstance(explanation, dict) else None
    return [finding for finding in findings if _is_finding(finding)] if isinstance(findings, list) else []


def _is_finding(document: Json) -> bool:
    if not isinstance(document, dict):
        return False
    remedy = document.get("remedy")
    if not isinstance(remedy, dict) or not isinstance(document.get("evidence"), dict):
        return False
    call = remedy.get("call")
    texts = (document.get("cause"), document.get("sentence"), remedy.get("sentence"))
    return all(isinstance(text, str) for text in texts) and _is_call(call)


def _is_call(call: Json) -> bool:
    return isinstance(call, dict) and isinstance(call.get("tool"), str) and isinstance(call.get("arguments"), dict)


def _is_wanted(event: Mapping[str, Json], query: EventQuery) -> bool:
    at, state = (from_text(event.get("at")) or 0) // _MILLISECOND, event.get("state")
    is_in = (query.since is None or at >= query.since) and (query.until is None or at <= query.until)
    return is_in and query.wants(str(event.get("type")), state if isinstance(state, str) else None)
