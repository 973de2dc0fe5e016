"""Says of a state whose output is judged which verdicts it waits for, and of whom. Pure."""

from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.features.diagnosis import remedies
from dcf.features.diagnosis.extensions import ExplainOffer
from dcf.features.diagnosis.facts import Facts, moment, text
from dcf.features.diagnosis.model import Cause, RunFinding
from dcf.features.gates.model import submission_of


def about_gates(path: str, doc: StateDoc, facts: Facts) -> RunFinding | None:
    """Return the verdicts that the state waits for, if its output is judged.

    That is not stuck: a reviewer may take its time.
    """
    gated = submission_of(doc) if doc.is_judged else None
    if gated is None:
        return None
    named = ", ".join(f"gate '{open_gate.name}' (by {open_gate.whom})" for open_gate in gated.open)
    since = min((open_gate.since for open_gate in gated.open), default=doc.started_at or doc.lease.epoch)
    waiting = [
        {
            "gate": open_gate.name,
            "kind": open_gate.kind,
            "asked": open_gate.whom,
            "asks": open_gate.asks,
            "again_at": text(open_gate.due),
        }
        for open_gate in gated.open
    ]
    return RunFinding(
        cause=Cause.WAITING_FOR_VERDICT,
        sentence=f"The output of state '{path}' waits for the verdict of {named} since {moment(since)}.",
        remedy=remedies.judge(facts.workflow_id, path, gated.open[0].name if gated.open else "GATE"),
        stuck=False,
        state=path,
        since=since,
        evidence={
            "waits_for": waiting,
            "content_sha256": gated.sha256,
            "owner_agent_id": doc.lease.owner_agent_id,
            "deadline": text(doc.deadline),
        },
    )


OFFER: Final = ExplainOffer(asking=about_gates)
