"""Decides why a run does not move: from its open states, the time and what is known of clock, agents and deliveries.

Pure. What is reported is the root: a refused write hides everything that follows from it, and a state that waits for
others is explained by them. `runs.diagnosis` reads the facts, `core.remedies` says what helps.
"""

from collections.abc import Iterable, Iterator

from dcf.asl.state_paths import name_of, within
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.leasing.blockers import Blocker
from dcf.core.leasing.stuck import is_stuck
from dcf.features.diagnosis import remedies
from dcf.features.diagnosis.extensions import EXPLANATIONS, first_finding
from dcf.features.diagnosis.facts import NAMED, NOT_TOLD, Facts, listed, moment, ready_since, text
from dcf.features.diagnosis.model import Cause, RunFinding
from dcf.features.diagnosis.states import about_state
from dcf.values.instants import from_text, to_text
from dcf.values.records import replace


def diagnose(facts: Facts) -> tuple[RunFinding, ...]:
    """Return why the run is where it is, what is stuck first, the oldest first. Empty: nothing holds it up."""
    findings = [*_about_run(facts)] or [*_grouped(_about_states(facts))] or [*_unless_moving(facts)]
    return tuple(sorted(findings, key=lambda finding: (not finding.stuck, finding.since or 0)))


def explain_state(facts: Facts, path: str, before: Iterable[str]) -> tuple[RunFinding, ...]:
    """Return why one state is where it is. `before` are the states that may lead to it, however indirectly.

    A state that waits for others has one finding, which names the root of it: what holds up those others.
    """
    findings = diagnose(facts)
    general = tuple(finding for finding in findings if finding.state is None)
    if general:
        return general
    doc = facts.states.get(path)
    if doc is not None and doc.status.is_terminal:
        return ()
    if doc is not None and path not in facts.around:
        return tuple(_grouped(_about_states(replace(facts, states={path: doc}))))
    leading = {path, *before} if doc is not None else set(before)
    roots = [
        finding for finding in _about_states(facts) if finding.state is not None and _leads(finding.state, leading)
    ]
    return () if not roots else (_waiting(path, [*_grouped(roots)]),)


def with_child(finding: RunFinding, why: str | None) -> RunFinding:
    """Return a finding on a child run with what holds up that run. Where the child is stuck, it is listed itself."""
    if why is None:
        return finding
    sentence = f"{finding.sentence} There: {why}"
    return replace(finding, sentence=sentence, evidence={**finding.evidence, "child_finding": why})


def _leads(root: str, leading: set[str]) -> bool:
    """Return True if the state is one of these, or inside one of them."""
    return root in leading or any(within(root, owner) for owner in leading)


def _waiting(path: str, roots: list[RunFinding]) -> RunFinding:
    """Return the finding of a state that waits; the first root is what has waited longest."""
    root = min(roots, key=lambda root: (not root.stuck, root.since or 0))
    names = [root.state for root in roots if root.state is not None][:NAMED]
    return RunFinding(
        cause=Cause.WAITING_FOR,
        sentence=f"State '{path}' waits for {listed(names)}. {root.sentence}",
        remedy=root.remedy,
        stuck=root.stuck,
        state=path,
        since=root.since,
        evidence={"waits_for": list(names), "root": root.as_json()},
    )


def _about_run(facts: Facts) -> Iterator[RunFinding]:
    """Yield the one cause that holds up the whole run, if there is one."""
    run, document = facts.workflow_id, facts.document
    if facts.refusal is not None:
        yield RunFinding(
            cause=Cause.STORE_REFUSES_WRITES,
            sentence=f"Redis refuses writes, so that nothing can change. {facts.refusal.message}",
            remedy=remedies.repair_store(facts.refusal.remedy),
            stuck=True,
            evidence={"error": facts.refusal.message},
        )
    elif facts.meta.status is not RunStatus.RUNNING:
        if document.get("finalized_at") is None:
            ended = from_text(document.get("finished_at"))
            yield RunFinding(
                cause=Cause.NOT_FINALIZED,
                sentence=f"The run is {facts.meta.status.value} and not finalized: it never expires.",
                remedy=remedies.finalize(run),
                stuck=False,
                since=ended,
                evidence={"status": facts.meta.status.value},
            )
    elif facts.unreadable is not None:
        yield RunFinding(
            cause=Cause.DEFINITION_UNKNOWN,
            sentence=f"The workflow of the run cannot be read, so that no state can end. {facts.unreadable}",
            remedy=remedies.replace_definition(),
            stuck=True,
            evidence={"error": facts.unreadable, "definition_sha256": facts.meta.definition_sha256},
        )
    elif facts.paused_at is not None:
        leased = [path for path, doc in facts.states.items() if doc.is_held(facts.now)]
        yield RunFinding(
            cause=Cause.PAUSED,
            sentence=f"The run is paused since {moment(facts.paused_at)}: no state is leased until it is resumed.",
            remedy=remedies.resume(run),
            stuck=is_stuck(facts.meta, facts.states.values()),
            since=facts.paused_at,
            evidence={"paused_at": to_text(facts.paused_at), "still_held": list(leased[:NAMED])},
        )
    elif facts.meta.hold is not None:
        yield _on_hold(facts, facts.meta.hold)
    elif facts.meta.blocked_by:
        yield _blocked(facts)
    elif _waits_for_start(facts):
        yield _not_started(facts)
    elif (clock := _clock(facts)) is not None:
        yield clock


def _on_hold(facts: Facts, hold: Blocker) -> RunFinding:
    return RunFinding(
        cause=Cause.KILLED_PROCESS,
        sentence=f"The run is on hold since {moment(hold.since)}, and dcf evaluates no more of it: {hold.shown_text}",
        remedy=remedies.release(facts.workflow_id),
        stuck=True,
        since=hold.since,
        evidence={"blocked_by": [blocker.as_json() for blocker in facts.meta.blocked_by]},
    )


def _blocked(facts: Facts) -> RunFinding:
    first, count = facts.meta.blocked_by[0], len(facts.meta.blocked_by)
    leased = [path for path, doc in facts.states.items() if doc.is_held(facts.now)]
    text = first.shown_text if count == 1 else f"{first.shown_text} So do {count - 1} more."
    return RunFinding(
        cause=Cause.BLOCKED,
        sentence=f"Issue '{first.issue}' blocks the run, no state is leased until it is resolved: {text}",
        remedy=remedies.resolve_issue(facts.workflow_id, first.issue),
        stuck=True,
        since=first.since,
        evidence={
            "blocked_by": [blocker.as_json() for blocker in facts.meta.blocked_by],
            "still_held": list(leased[:NAMED]),
        },
    )


def _not_started(facts: Facts) -> RunFinding:
    created = from_text(facts.meta.created_at)
    planner = facts.document.get("planner_agent_id")
    waiting = [path for path, doc in facts.states.items() if _awaits_start(doc, facts)]
    return RunFinding(
        cause=Cause.NOT_STARTED,
        sentence="The run was created and not started: no agent was notified.",
        remedy=remedies.start(facts.workflow_id),
        stuck=is_stuck(facts.meta, facts.states.values()),
        since=created,
        evidence={"planner_agent_id": planner, "ready_states": list(waiting[:NAMED])},
    )


def _waits_for_start(facts: Facts) -> bool:
    """Return True if all that is open waits for the start of the run."""
    open_docs = [doc for path, doc in facts.states.items() if _is_root(path, doc, facts)]
    return bool(open_docs) and all(_awaits_start(doc, facts) for doc in open_docs)


def _awaits_start(doc: StateDoc, facts: Facts) -> bool:
    is_first = doc.lease.epoch == from_text(facts.meta.created_at)
    return not facts.meta.is_started and is_first and doc.is_claimable(facts.now)


def _clock(facts: Facts) -> RunFinding | None:
    """Return what is wrong with the clock, where the run needs it now or is waiting for it."""
    waiting = {path: due for path, doc in facts.states.items() if (due := _due_by_clock(path, doc, facts)) is not None}
    if not waiting:
        return None
    first = min(waiting, key=lambda path: waiting[path])
    late = facts.now - waiting[first]
    evidence = {
        "state": first,
        "due": to_text(waiting[first]),
        "looked_at": text(facts.looked_at),
        "waiting_states": len(waiting),
    }
    if facts.is_clock_silent:
        last = "No clock has ever looked" if facts.looked_at is None else f"No clock since {moment(facts.looked_at)}"
        return RunFinding(
            cause=Cause.CLOCK_ABSENT,
            sentence=f"{last}: what state '{first}' waits for does not happen.",
            remedy=remedies.run_clock(),
            stuck=True,
            since=max(waiting[first], facts.looked_at or 0) if late > 0 else facts.looked_at,
            evidence=evidence,
        )
    if late > facts.patience:
        return RunFinding(
            cause=Cause.CLOCK_LATE,
            sentence=f"The clock is late: state '{first}' was due at {moment(waiting[first])}.",
            remedy=remedies.relieve_timer_loop(),
            stuck=True,
            since=waiting[first],
            evidence=evidence,
        )
    return None


def _due_by_clock(path: str, doc: StateDoc, facts: Facts) -> int | None:  # noqa: PLR0911 - a line for each case
    """Return when only the timer loop takes this state further; None if an agent may."""
    if not _is_root(path, doc, facts):
        return None
    limits = [at for at in (doc.deadline, doc.heartbeat_due) if at is not None and at <= facts.now]
    if limits:
        return min(limits)
    if doc.lease.is_live(facts.now) or doc.waits_outside:
        return None
    if first_finding(EXPLANATIONS.asking, path, doc, facts) is not None:
        return None
    if doc.kind is not None:
        return facts.due.get(path, facts.now)
    if doc.not_before is not None and doc.not_before > facts.now:
        return doc.not_before
    if doc.lease.token is None and facts.meta.assigned(path) and facts.told(path) == NOT_TOLD:
        since = ready_since(doc)
        return since if facts.now - since > facts.patience and facts.is_clock_silent else None
    return None


def _is_root(path: str, doc: StateDoc, facts: Facts) -> bool:
    """Return True for an open state that does not wait for other states."""
    if doc.status.is_terminal or not doc.is_ready:
        return False
    return path not in facts.around


def _about_states(facts: Facts) -> Iterator[RunFinding]:
    for path, doc in facts.states.items():
        if _is_root(path, doc, facts) and (finding := about_state(path, doc, facts)) is not None:
            yield finding


def _unless_moving(facts: Facts) -> Iterator[RunFinding]:
    """Yield that nothing is open in a run that is not over: no step can follow, unless the run grows."""
    may_grow = facts.document.get("grown") is True
    if facts.meta.status is RunStatus.RUNNING and not facts.states and facts.unreadable is None and not may_grow:
        yield RunFinding(
            cause=Cause.NOTHING_OPEN,
            sentence="The run is not over, and no state is open: its documents were changed by hand, or were lost.",
            remedy=remedies.cancel(facts.workflow_id),
            stuck=True,
        )


def _grouped(findings: Iterable[RunFinding]) -> Iterator[RunFinding]:
    """Yield one finding for states of the same name that have the same cause and the same agent."""
    groups: dict[tuple[Cause, str, str], list[RunFinding]] = {}
    for document in findings:
        holder = str(document.evidence.get("owner_agent_id"))
        groups.setdefault((document.cause, name_of(document.state or ""), holder), []).append(document)
    for group in groups.values():
        oldest = min(group, key=lambda finding: (not finding.stuck, finding.since or 0))
        yield (
            oldest
            if len(group) == 1
            else replace(
                oldest,
                sentence=f"{oldest.sentence} The same holds for {len(group) - 1} more of this name.",
                count=len(group),
            )
        )
