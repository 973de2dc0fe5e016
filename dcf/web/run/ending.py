"""Says how a run ended, and which answers an open run waits for: the first thing that its page shows. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dcf.runs.views.overview import Glance
from dcf.runs.views.status import StateView
from dcf.values.instants import from_text
from dcf.values.json_text import Json
from dcf.web.run.remedies import is_answered, is_parked, place_of
from dcf.web.run.view import RunAddress
from dcf.web.run.words import label, span
from dcf.web.templating import run_link

_ENDED: Final = frozenset({"succeeded", "failed", "partial", "cancelled"})
_FAILED_SHOWN: Final = 5
_PARKED_SHOWN: Final = 5
_INSTANT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z")


def ending(seen: Glance, address: RunAddress) -> dict[str, Any] | None:
    """Return the result of an ended run, and where to look next; None for an open run."""
    meta = seen.meta
    status = str(meta.get("status"))
    if status not in _ENDED:
        return None
    failed = seen.failures
    is_final = bool(meta.get("finalized_at"))
    return {
        "status": status,
        "took": _took(meta),
        "has_output": status == "succeeded",
        "output": meta.get("output"),
        "error": meta.get("error"),
        "cause": meta.get("cause") or meta.get("finalize_note"),
        "states": [_failure(seen.workflow_id, view, address) for view in failed[:_FAILED_SHOWN]],
        "more": len(failed) - len(failed[:_FAILED_SHOWN]),
        "table": address.to_tab("table"),
        "can_retry": status in {"failed", "cancelled"} and not is_final,
    }


def answers(findings: Sequence[Mapping[str, Json]], run: str) -> list[dict[str, Any]]:
    """Return the findings that somebody answers, each with the page of its form and the tool that answers it."""
    return [
        {
            **finding,
            "sentence": _INSTANT.sub(r"\1 \2 UTC", finding["sentence"]),
            "tool": finding["remedy"]["call"]["tool"],
            "form": place_of(run, finding),
        }
        for finding in findings
        if is_answered(finding)
    ]


def parked(findings: Sequence[Mapping[str, Json]], address: RunAddress) -> list[dict[str, Any]]:
    """Return the usage limits that states of the run wait for, each with its states and with what follows for the run.

    `account` is None for the limit of an agent without one. `times_out` is the time of the run's end before the limit.
    """
    limits: dict[str, list[Mapping[str, Json]]] = {}
    for finding in filter(is_parked, findings):
        limits.setdefault(finding["evidence"]["account"] or finding["evidence"]["limit"], []).append(finding)
    return [_parked(members, address) for members in limits.values()]


def _parked(findings: Sequence[Mapping[str, Json]], address: RunAddress) -> dict[str, Any]:
    last = max(findings, key=lambda finding: str(finding["evidence"]["until"]))["evidence"]
    count = sum(finding["count"] for finding in findings)
    return {
        "limit": _INSTANT.sub(r"\1 \2 UTC", last["limit"]),
        "account": last["account"],
        "states": [
            {"label": label(finding["state"]), "link": address.to_state(finding["state"])}
            for finding in findings[:_PARKED_SHOWN]
        ],
        "more": count - len(findings[:_PARKED_SHOWN]),
        "times_out": last["run_times_out_at"] and _INSTANT.sub(r"\1 \2 UTC", last["run_times_out_at"]),
    }


def _took(meta: Mapping[str, Json]) -> str:
    begin, end = from_text(meta.get("started_at") or meta.get("created_at")), from_text(meta.get("finished_at"))
    return "" if begin is None or end is None else span(end - begin)


def _failure(run: str, view: StateView, address: RunAddress) -> dict[str, Any]:
    attempts = view.doc.attempts
    return {
        "label": label(view.path),
        "error": view.doc.last_error or "",
        "after": f"after {attempts} {'attempt' if attempts == 1 else 'attempts'}" if attempts else "",
        "link": address.to_state(view.path),
        "events": run_link(run, tab="events", state=view.path),
    }
