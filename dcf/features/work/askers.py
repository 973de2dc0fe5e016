"""The caller that asks for work, and the state that a call got: they identify a repetition of the call. Data."""

from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Asker:
    """By what a repetition of an agent's call is known: its request id, or else its caller and what it asks for.

    `workflow_id` is empty for a call that asks for work of any run; `filters` are those of a claim across runs.
    """

    agent_id: str
    request_id: str | None = None
    caller: str = ""
    workflow_id: str = ""
    filters: tuple[str | None, ...] = ()


def asker_about(agent_id: str, caller: str, workflow_id: str) -> Asker:
    """Return by what the event is found again that told an agent of the end of a run."""
    return Asker(agent_id=agent_id, caller=caller, workflow_id=workflow_id, filters=("run_finished",))


@record(frozen=True, slots=True, kw_only=True)
class Handed:
    """A state of a run, and the token with which it was, or is about to be, leased.

    `message_id` is that of its event. `state` is empty for a claim, which may lease any, and for the end of a run.
    """

    workflow_id: str
    state: str
    token: str
    message_id: str | None = None
