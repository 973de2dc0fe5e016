"""The verb that sends a signal into a run. It calls and describes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from dcf.features.external.records import SentSignal
from dcf.values.json_paths import MISSING
from dcf.values.refusal import Refusal
from dcf.verbs.answers.operated import operated
from dcf.verbs.callers import require_planner
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, verb
from dcf.verbs.description.words import JsonValue, Reason, RequestId, RunId

if TYPE_CHECKING:
    from dcf.application.application import Application


def _said(answer: Mapping[str, Any]) -> str:
    outcome = "is kept" if answer["kept"] else f"ended state '{answer['state']}'"
    return f"Signal '{answer['signal']}' {outcome}."


@verb(
    toolset="people",
    scope="plan",
    lists=("planner", "operator"),
    says=_said,
    codes=("unknown_run", "run_over", "unknown_signal"),
    command=Command(
        name="runs signal",
        example='dcf runs signal order-42 paid --payload \'{"amount": "12.50"}\' --request-id payment-991',
        show="dcf.cli.features.signals:show_sent",
    ),
    page=PageAction(
        title="Send a signal",
        effect="A state that waits for this signal goes on with its payload; otherwise it is kept for one that will.",
    ),
    method="signal",
    in_refusals={"next_states": ()},
)
def send_signal(
    on: "Application",
    workflow_id: RunId,
    name: Annotated[
        str,
        Argument(
            means="The signal's name, as the Task waits for it.",
            example="paid",
            min_length=1,
            max_length=128,
            label="Name of the signal",
        ),
    ],
    payload: Annotated[
        JsonValue,
        Argument(
            means="The Task's output: any JSON value, or JSON text.",
            spelling="The Task's output: JSON, a file, or - for standard input.",
            form="json",
            bytes_setting="max_output_bytes",
            tool="payload_json",
            option="--payload",
            label="Payload, as JSON",
        ),
    ] = MISSING,
    *,
    reason: Reason = None,
    request_id: RequestId = None,
) -> Answered[SentSignal] | Refusal:
    """Send a signal into a run, for a Task with the Resource dcf:signal: call this when what it waits for has happened.

    The Task that waits for this name ends with the payload as its output. If none waits yet, the signal is kept.
    """
    require_planner(on, workflow_id)
    value = None if payload is MISSING else payload
    done = on.signals.send(workflow_id, name, value, reason=reason, request_id=request_id)
    return operated(SentSignal, workflow_id, done)


add_tools(__name__)
