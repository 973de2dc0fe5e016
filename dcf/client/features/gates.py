"""The verbs of a client for gates: what waits for a verdict, the verdict, an override; described as in `verbs.py`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from dcf.client.answers.gates import DecidedGate, WaitingGate
from dcf.client.arguments import given, request_id_for
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.verbs import ask
from dcf.values.json_text import Json


def list_gates(
    *,
    workflow_id: str | None = None,
    state: str | None = None,
    agent_id: str | None = None,
    group: str | None = None,
    project: str | None = None,
) -> Stream[WaitingGate]:
    """Yield outputs that wait for a verdict: those of a run, or those that an agent or person may judge."""
    wanted = given(workflow_id=workflow_id, state=state, agent_id=agent_id, group=group, project=project)
    cursor = None
    while True:
        page = accepted((yield ToolCall("list_gates", {**wanted, **given(cursor=cursor)})))
        for one in page["gates"]:
            yield Item(read(WaitingGate, one))
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def decide_gate(
    workflow_id: str,
    state: str,
    gate: str,
    verdict: Literal["pass", "fail", "unavailable"],
    *,
    content_sha256: str,
    agent_id: str | None = None,
    criteria: Sequence[Mapping[str, Json]] = (),
    comment: str | None = None,
    exit_code: int | None = None,
    output_tail: str | None = None,
    duration_s: float | None = None,
    group: str | None = None,
    request_id: str | None = None,
) -> Conversation[DecidedGate]:
    """Judge an output: `criteria` has one object (criterion, passed, feedback) for each criterion of the gate."""
    return ask(
        DecidedGate,
        "decide_gate",
        workflow_id=workflow_id,
        state=state,
        gate=gate,
        verdict=verdict,
        content_sha256=content_sha256,
        agent_id=agent_id,
        criteria=[dict(one) for one in criteria] or None,
        comment=comment,
        exit_code=exit_code,
        output_tail=output_tail,
        duration_s=duration_s,
        group=group,
        request_id=request_id_for(request_id),
    )


def override_gate(
    workflow_id: str,
    state: str,
    *,
    reason: str,
    gate: str | None = None,
    agent_id: str | None = None,
    request_id: str | None = None,
) -> Conversation[DecidedGate]:
    """Let the output of a state pass a gate, or all that it has not passed; needs the scope override."""
    return ask(
        DecidedGate,
        "override_gate",
        workflow_id=workflow_id,
        state=state,
        reason=reason,
        gate=gate,
        agent_id=agent_id,
        request_id=request_id_for(request_id),
    )
