"""The verb of a client for the context of an agent, a session or a run; described as in `verbs.py`."""

from dcf.client.answers.journal import AgentContext
from dcf.client.exchange import Conversation
from dcf.client.verbs import ask


def get_context(
    *,
    agent_id: str | None = None,
    workflow_id: str | None = None,
    session: str | None = None,
    project: str | None = None,
    max_bytes: int | None = None,
) -> Conversation[AgentContext]:
    """Return where an agent is and what is next for it: one call after a restart, of so many bytes at most.

    `session` is a tag of runs. Without an agent it is about the runs of the session, or the run.
    """
    return ask(
        AgentContext,
        "get_context",
        agent_id=agent_id,
        workflow_id=workflow_id,
        session=session,
        project=project,
        max_bytes=max_bytes,
    )
