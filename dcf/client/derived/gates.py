"""Methods of the clients for the verbs of the toolset gates. Derived from their descriptions."""

from collections.abc import Mapping, Sequence

from dcf.client.arguments import listed_if_any, request_id_for, rows
from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.features.gates.records import DecidedGate, VerdictName, WaitingGate
from dcf.values.json_text import Json


def list_gates(
    workflow_id: str | None = None,
    state: str | None = None,
    *,
    agent_id: str | None = None,
    group: str | None = None,
    project: str | None = None,
) -> Stream[WaitingGate]:
    """Find outputs that wait for a verdict: yours across runs (`agent_id`), or those of a run.

    With criteria or command, and content_sha256, which `decide_gate` needs; of a run also with the output.
    """
    return call_pages(
        WaitingGate,
        "list_gates",
        "gates",
        limit=100,
        workflow_id=workflow_id,
        state=state,
        agent_id=agent_id,
        group=group,
        project=project,
    )


def decide_gate(
    workflow_id: str,
    state: str,
    gate: str,
    verdict: VerdictName,
    *,
    content_sha256: str,
    agent_id: str | None = None,
    criteria: Sequence[Mapping[str, Json]] = (),
    failed: Sequence[str] | None = None,
    comment: str | None = None,
    exit_code: int | None = None,
    output_tail: str | None = None,
    duration_s: float | None = None,
    group: str | None = None,
    request_id: str | None = None,
) -> Conversation[DecidedGate]:
    """Judge an output that waits at a gate. The author of an output cannot review it.

    Where the gate has criteria, the verdict follows from theirs.
    """
    return call_tool(
        DecidedGate,
        "decide_gate",
        workflow_id=workflow_id,
        state=state,
        gate=gate,
        verdict=verdict,
        content_sha256=content_sha256,
        agent_id=agent_id,
        criteria=rows(criteria),
        failed=listed_if_any(failed),
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
    """Let the output of a state pass a gate, whatever the gate says; needs the scope override.

    It holds for this visit of the state, and is in the history with your name and the reason.
    """
    return call_tool(
        DecidedGate,
        "override_gate",
        workflow_id=workflow_id,
        state=state,
        reason=reason,
        gate=gate,
        agent_id=agent_id,
        request_id=request_id_for(request_id),
    )
