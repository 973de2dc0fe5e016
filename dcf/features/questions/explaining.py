"""Says of a state whose holder asked a question what it asked, and who is to answer until when. Pure."""

from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.features.diagnosis import remedies
from dcf.features.diagnosis.extensions import ExplainOffer
from dcf.features.diagnosis.facts import Facts, moment, text
from dcf.features.diagnosis.model import Cause, RunFinding
from dcf.features.questions.model import Open, questioned_of


def about_question(path: str, doc: StateDoc, facts: Facts) -> RunFinding | None:
    """Return the question that the state waits for, if it waits for one.

    That is not stuck: the person or planner may take its time.
    """
    question = _first_open(doc, facts.now)
    if question is None:
        return None
    is_held = doc.lease.is_live(facts.now)
    beginning = (
        f"State '{path}' is held by {doc.lease.owner_agent_id}, who waits" if is_held else f"State '{path}' waits"
    )
    return RunFinding(
        cause=Cause.WAITING_FOR_ANSWER,
        sentence=f"{beginning} for an answer of {question.whom}, at the latest until {moment(question.until)}: "
        f"{question.title}",
        remedy=remedies.reply(facts.workflow_id, question.question_id),
        stuck=False,
        state=path,
        since=doc.lease.ts or doc.started_at,
        evidence={
            "question_id": question.question_id,
            "to": list(question.to.people),
            "groups": list(question.to.groups),
            "waits_until": text(question.until),
            "owner_agent_id": doc.lease.owner_agent_id,
        },
    )


def _first_open(doc: StateDoc, now: int) -> Open | None:
    """Return the question that the state, or its holder, waits for; None if it is something else."""
    waits = doc.lease.is_live(now) or (doc.lease.token is None and doc.not_before is not None and doc.not_before > now)
    questioned = questioned_of(doc) if waits else None
    return questioned.open[0] if questioned is not None and questioned.open else None


OFFER: Final = ExplainOffer(asking=about_question)
