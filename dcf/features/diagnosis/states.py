"""Decides why one open state is where it is: its lease holder, why it is not claimed, or until when it waits. Pure."""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.model import Lease, StateDoc
from dcf.core.leasing.first_terms import is_short
from dcf.core.leasing.stuck import MANY_RETRIES, MANY_TRIES, is_stuck_state, progress_of
from dcf.features.diagnosis import remedies
from dcf.features.diagnosis.extensions import EXPLANATIONS, first_finding
from dcf.features.diagnosis.facts import NAMED, Facts, lasting, listed, moment, ready_since, sighting, text
from dcf.features.diagnosis.model import Cause, Remedy, RunFinding
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json
from dcf.values.records import record

NOT_TAKEN_FOR: Final = 60 * SECOND
"""If a state that failed repeatedly is not taken for this long, the finding is that, and not that it fails."""


def about_state(path: str, doc: StateDoc, facts: Facts) -> RunFinding | None:  # noqa: PLR0911 - a line for each case
    """Return why this open state, which waits for no other, is where it is; None if it is about to continue."""
    now = facts.now
    if path in facts.untimed:
        return _untimed(path, doc, facts)
    is_later = doc.not_before is not None and doc.not_before > now
    finding = first_finding(EXPLANATIONS.asking, path, doc, facts)
    if finding is not None:
        return finding
    if doc.lease.is_live(now):
        return _held(path, doc, facts)
    if _keeps_failing(doc, facts):
        return _failing(path, doc, facts)
    if is_later:
        return _due_later(path, doc, facts)
    if doc.waits_outside:
        return first_finding(EXPLANATIONS.outside, path, doc, facts)
    if doc.kind is not None:
        return None  # the clock, or the process that committed, is about to take it further
    if doc.lease.token is not None:
        return _expired(path, doc, facts)
    return _untaken(path, doc, facts)


def _untimed(path: str, doc: StateDoc, facts: Facts) -> RunFinding:
    since = ready_since(doc)
    return RunFinding(
        cause=Cause.TIMER_LOST,
        sentence=f"State '{path}' is open since {moment(since)}, and Redis has lost its timer, as it may have lost what"
        " its agents were to be told: no clock looks at it, and no claim finds it.",
        remedy=remedies.set_timer(facts.workflow_id, path),
        stuck=True,
        state=path,
        since=since,
        evidence={"epoch": doc.lease.epoch, "told_times": facts.told(path).times},
    )


def _held(path: str, doc: StateDoc, facts: Facts) -> RunFinding:
    lease, worked_since = doc.lease, progress_of(doc)
    silent = None if worked_since is None else facts.now - worked_since
    renewed = lease.ts is not None and doc.started_at is not None and lease.ts > doc.started_at
    until = "" if lease.expires_at is None else f" until {moment(lease.expires_at)}"
    renewal = f", renewed last at {moment(lease.ts)}" if renewed and lease.ts is not None else ""
    still = "" if silent is None else f"; no result for {lasting(silent)}"
    if lease.awaits_sign:
        still += "; no call came with its lease token yet, so its holder may not know of it"
    return RunFinding(
        cause=Cause.LEASE_HELD,
        sentence=f"State '{path}' is held by {lease.owner_agent_id or 'an agent'}{until}{renewal}{still}.",
        remedy=remedies.wait(facts.workflow_id, path)
        if is_short(lease)
        else remedies.take_away(facts.workflow_id, path, lease.epoch),
        stuck=_is_stuck(doc, facts),
        state=path,
        since=doc.started_at,
        evidence={
            "owner_agent_id": lease.owner_agent_id,
            "expires_at": text(lease.expires_at),
            "renewed_at": text(lease.ts) if renewed else None,
            "progress_at": text(worked_since),
            "attempts": doc.attempts,
            "last_error": doc.last_error,
        }
        | _signs(lease),
    )


def _is_stuck(doc: StateDoc, facts: Facts) -> bool:
    return is_stuck_state(doc, is_started=facts.meta.is_started)


def _signs(lease: Lease) -> dict[str, Json]:
    """Return the evidence that its holder may not know of the lease."""
    return {"awaits_sign": True} if lease.awaits_sign else {}


def _keeps_failing(doc: StateDoc, facts: Facts) -> bool:
    """Return True if agents try the state again and again; not if the state is only no longer claimed."""
    again = doc.retries >= MANY_RETRIES or (doc.lease.token is not None and doc.tries >= MANY_TRIES)
    return (
        again
        and doc.limit(facts.now) is None
        and (not doc.is_claimable(facts.now) or facts.now - ready_since(doc) <= NOT_TAKEN_FOR)
    )


def _failing(path: str, doc: StateDoc, facts: Facts) -> RunFinding:
    if doc.retries >= MANY_RETRIES:
        trouble = (
            f"failed {doc.retries} times and is tried again, the last time with {doc.last_error or 'no error named'}"
        )
    else:
        trouble = f"was leased {doc.tries} times, and no holder finished it before its lease ended"
    later = doc.not_before is not None and doc.not_before > facts.now
    when = f"; the next try is due at {moment(doc.not_before)}" if later and doc.not_before is not None else ""
    return RunFinding(
        cause=Cause.KEEPS_FAILING,
        sentence=f"State '{path}' {trouble}{when}.",
        remedy=remedies.look_at_errors(facts.workflow_id, path),
        stuck=_is_stuck(doc, facts),
        state=path,
        since=doc.started_at,
        evidence={
            "last_error": doc.last_error,
            "retries": doc.retries,
            "attempts": doc.attempts,
            "next_try_at": text(doc.not_before),
            "last_holder": doc.lease.owner_agent_id,
        },
    )


def _due_later(path: str, doc: StateDoc, facts: Facts) -> RunFinding:
    assert doc.not_before is not None, "asked before"
    finding = first_finding(EXPLANATIONS.parking, path, doc, facts)
    if finding is not None:
        return finding
    is_retry = doc.retries > 0 or doc.last_error is not None
    error = f" after {doc.last_error}" if doc.last_error else ""
    next_step = f"is tried again{error}" if is_retry else "goes on"
    return RunFinding(
        cause=Cause.RETRY_DUE if is_retry else Cause.TIMER_DUE,
        sentence=f"State '{path}' {next_step} at {moment(doc.not_before)}, in {lasting(doc.not_before - facts.now)}.",
        remedy=remedies.wait(facts.workflow_id, path),
        stuck=False,
        state=path,
        since=doc.started_at or doc.lease.epoch,
        evidence={"due": to_text(doc.not_before), "last_error": doc.last_error, "retries": doc.retries},
    )


def _expired(path: str, doc: StateDoc, facts: Facts) -> RunFinding:
    """Return why no agent took over a state whose holder vanished."""
    since = ready_since(doc)
    delivery = _trouble_to_take(path, doc, facts)
    unheard = ", which never used its token," if doc.lease.awaits_sign else ""
    return RunFinding(
        cause=Cause.LEASE_EXPIRED,
        sentence=f"The lease of {doc.lease.owner_agent_id or 'an agent'}{unheard} on state '{path}' ended at"
        f" {moment(since)} and no agent took over: {delivery.why}.",
        remedy=delivery.remedy,
        stuck=_is_stuck(doc, facts),
        state=path,
        since=since,
        evidence={"owner_agent_id": doc.lease.owner_agent_id, "expired_at": to_text(since)}
        | _signs(doc.lease)
        | dict(delivery.evidence),
    )


def _untaken(path: str, doc: StateDoc, facts: Facts) -> RunFinding:
    delivery, since = _trouble_to_take(path, doc, facts), ready_since(doc)
    return RunFinding(
        cause=delivery.cause,
        sentence=f"State '{path}' is ready since {moment(since)}: {delivery.why}.",
        remedy=delivery.remedy,
        stuck=_is_stuck(doc, facts),
        state=path,
        since=since,
        evidence=delivery.evidence,
    )


@record(frozen=True, slots=True, kw_only=True)
class _Untaken:
    """Why no agent takes a ready state."""

    cause: Cause
    why: str
    remedy: Remedy
    evidence: Mapping[str, Json]


def _trouble_to_take(path: str, doc: StateDoc, facts: Facts) -> _Untaken:
    agents, delivery, run = facts.meta.assigned(path), facts.told(path), facts.workflow_id
    named = delivery.agent_id if delivery.agent_id in agents else next(iter(agents), "")
    times = delivery.times.get(named, 0)
    evidence: dict[str, Json] = {"agents": list(agents[:NAMED]), "told_times": times}
    if not agents:
        why = "no agent is assigned, so only agents that wait for such work are notified"
        remedy = remedies.assign(run, path, doc.lease.epoch)
        return _Untaken(cause=Cause.NOBODY_ASSIGNED, why=why, remedy=remedy, evidence=evidence)
    evidence |= {"seen": {agent: text(facts.seen.get(agent)) for agent in agents[:NAMED]}}
    kinds = {agent: facts.platforms[agent] for agent in agents[:NAMED] if agent in facts.platforms}
    silent = [facts.troubled[kind] for kind in dict.fromkeys(kinds.values()) if kind in facts.troubled]
    evidence |= {"platforms": kinds} if kinds else {}
    evidence |= {"platform_errors": {platform.kind: platform.error for platform in silent}} if silent else {}
    if delivery.failure is not None:
        error = delivery.error or delivery.failure
        evidence |= {"failure": delivery.failure, "error": error, "failed_at": text(delivery.failed_at)}
        why = f"{facts.shown(delivery.failed_agent_id or agents[0])} could not be told: {error.rstrip('.')}"
        why += "".join(f"; {platform.kind} does not answer since {moment(platform.since)}" for platform in silent)
        is_gone = delivery.failure == "unknown_agent"
        remedy = remedies.assign_another(run, path, doc.lease.epoch) if is_gone else remedies.repair_delivery(run, path)
        return _Untaken(cause=Cause.DELIVERY_FAILED, why=why, remedy=remedy, evidence=evidence)
    if not times:
        why = f"{listed(map(facts.shown, agents[:NAMED]))} {'was' if len(agents) == 1 else 'were'} not told"
        if doc.lease.token is not None and facts.is_clock_silent:
            why += ", which a clock does, and no clock looks"
        return _Untaken(cause=Cause.NOT_NOTIFIED, why=why, remedy=remedies.notify(run, path), evidence=evidence)
    evidence |= {"told_agent_id": named, "told_at": text(delivery.at)}
    others = [agent for agent in agents if agent != named and delivery.times.get(agent)]
    holders = listed([named, *others[: NAMED - 1]]) + (f" and {len(others) - NAMED + 1} more" * (len(others) >= NAMED))
    known = [f"{facts.shown(agent)} was {sighting(facts.seen.get(agent))}" for agent in agents[:NAMED]]
    last = "" if delivery.at is None else f", last at {moment(delivery.at)}"
    verb = "were" if others else "was"
    why = f"{holders} {verb} notified {_often(times)}{last}, and did not take it; {', '.join(known)}"
    return _Untaken(cause=Cause.NOT_TAKEN, why=why, remedy=remedies.run_worker(run, path, agents[0]), evidence=evidence)


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times} times"
