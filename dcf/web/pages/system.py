"""The page for operators: how dcf and its Redis are, the settings in force, what keys may use, and the audit trail.

There are no tools for settings, keys and the audit trail, so they are read here: only after `read_health` answered,
which is refused to all callers but operators, and to keys that are bound to a project.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from dcf import metrics
from dcf.application.application import Application
from dcf.core.access.model import KEY_CALLER
from dcf.core.access.quotas import BOUNDS, with_own
from dcf.errors import InvalidArgument
from dcf.features.health.routes import PATH as METRICS
from dcf.store.access.audit_trail import AuditFilter
from dcf.store.forms.form import FORM_WORDS
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.web.durations import age
from dcf.web.pages.settings_shown import settings_shown
from dcf.web.templating import html, query
from dcf.web.visit import ToolRefused, Visit

TABS: Final = ("health", "settings", "quotas", "audit")
_ENTRIES: Final = 50
_FURTHEST: Final = 5_000
"""Most entries of the audit trail that are passed over; `dcf store audit --export` has all."""
_KEYS: Final = 50
_BECOME: Final = "Start the server with DCF_ALLOW_OPERATOR=true; `dcf doctor` tells the health on a terminal."
_LEVELS: Final = ("failing", "warning", "ok")


def system_page(visit: Visit, parameters: Mapping[str, str]) -> str:
    """Return the page. Raise ToolRefused for who is no operator, and InvalidArgument for a tab that there is not."""
    tab = parameters.get("tab") or TABS[0]
    if tab not in TABS:
        raise InvalidArgument("There is no such tab.", f"Tabs are: {', '.join(TABS)}.")
    health = _health(visit)
    application = visit.application
    return html(
        "system.html",
        title="System",
        visit=visit,
        health=health,
        tabs=[(name, f"/ui/system{query(tab=name)}") for name in TABS],
        tab=tab,
        **_of_tab(application, tab, health, parameters),
    )


def _health(visit: Visit) -> Mapping[str, Json]:
    """Return the health report; a caller that gets it may see the rest as well."""
    if visit.caller.local and not visit.may("read_health"):
        error = "forbidden: The local user of this server is no operator, and this page is for operators."
        raise ToolRefused({"code": "forbidden", "error": error, "hint": _BECOME})
    return visit.ask("read_health")


def _of_tab(
    application: Application, tab: str, health: Mapping[str, Json], parameters: Mapping[str, str]
) -> dict[str, Any]:
    """Return what only this tab shows; the other tabs cost nothing."""
    if tab == "settings":
        return {"settings": settings_shown(application.settings)}
    if tab == "quotas":
        return _quotas(application)
    if tab == "audit":
        return _audit(application, parameters)
    checks = sorted(health["checks"], key=lambda check: _LEVELS.index(check["level"]))
    counts = metrics.current is not None and metrics.current.is_served
    facts = _facts(application, health["facts"])
    return {"checks": checks, "facts": facts, "metrics": METRICS if counts else None}


def _facts(application: Application, document: Mapping[str, Json]) -> list[tuple[str, Json]]:
    memory, durability, replicas = document.get("memory"), document.get("durability"), document.get("replicas", ())
    clock = document.get("clock", {})
    checked, nodes = document.get("checked_at"), len(document.get("nodes", ()))
    looked = age(clock.get("looked_at"), checked)
    facts: list[tuple[str, Json]] = [
        ("dcf", document.get("dcf")),
        (document.get("server_name", "Redis"), document.get("redis_version")),
        ("modules", ", ".join(application.server.modules)),
        ("documents", FORM_WORDS[application.server.documents]),
        ("key layout", str(application.server.layout)),
        ("memory", memory and _memory(memory)),
        ("append-only log", durability and (_told(durability["appendfsync"]) if durability["appendonly"] else "off")),
        ("snapshots", durability and (_told(durability["save"]) or "off")),
        ("replicas", "not known" if replicas is None else str(len(replicas))),
        ("clock", f"looked {looked} ago" if looked else "never looked"),
        ("nodes", nodes and f"{nodes}; memory, logs and replicas are of the one with the least room"),
        ("runs under way", str(clock.get("live_runs", ""))),
    ]
    return [(name, value) for name, value in facts if value]


def _memory(document: Mapping[str, Json]) -> str:
    limit = _size(document["limit"]) if document["limit"] else "no limit"
    return f"{_size(document['used'])} of {limit}, {document['policy']}"


def _told(setting: str | None) -> str:
    return "not known" if setting is None else setting


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:  # noqa: PLR2004 - one unit of the next
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _quotas(application: Application) -> dict[str, Any]:
    defaults = asdict(application.settings.quotas)
    records, now = application.keys.all()
    rows = []
    for record in sorted(records, key=lambda item: item.standing(now) != "active")[:_KEYS]:
        quotas, used = (
            asdict(with_own(application.settings.quotas, record.quotas)),
            asdict(application.usage.of(record.key_id)),
        )
        rows.append(
            {
                "key": record,
                "standing": record.standing(now),
                "used": {name: (used[name], quotas[name]) for name in used},
            }
        )
    shown = [(name.replace("_", " "), defaults[name], bound.meaning) for name, bound in BOUNDS.items()]
    return {"quotas": shown, "keys": rows, "more_keys": max(0, len(records) - _KEYS)}


def _audit(application: Application, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of the audit trail. Pages are as of the first one's time, so that new entries shift none."""
    skip, until = _number(parameters, "skip", 0), _number(parameters, "until", time.time_ns() // 1_000_000)
    by, kind = parameters.get("by", ""), parameters.get("type", "")
    known = f"{KEY_CALLER}{by}" if by and len(by) == 12 and by.isalnum() else by  # noqa: PLR2004 - the id of a key
    audit_filter = AuditFilter(by=known or None, type=kind or None, until=until)
    newest = application.audit.newest(min(skip, _FURTHEST) + _ENTRIES + 1, audit_filter)
    entries = newest[skip : skip + _ENTRIES]
    further = len(newest) > skip + _ENTRIES and skip + _ENTRIES <= _FURTHEST
    again = {"tab": "audit", "by": by, "type": kind, "until": str(until)}
    return {
        "entries": entries,
        "by": by,
        "type": kind,
        "further": f"/ui/system{query(**again, skip=str(skip + _ENTRIES))}" if further else None,
        "newest": f"/ui/system{query(tab='audit', by=by, type=kind)}" if skip else None,
        "as_of": to_text(until * 1000),
    }


def _number(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and len(text) <= 15):  # noqa: PLR2004 - digits of a time in ms
        raise InvalidArgument(f"{name} is no number of a page.", "Follow the links of the page.")
    return int(text)
