"""The verb that writes a line into the history of a run, as the holder of a lease. It calls and describes."""

from typing import TYPE_CHECKING, Annotated, Any

from dcf.errors import InvalidArgument
from dcf.features.task_log import rules
from dcf.features.task_log.records import WrittenLine
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Argument, verb
from dcf.verbs.description.words import STATE, RunId

if TYPE_CHECKING:
    from dcf.application.application import Application


@verb(
    toolset="execution",
    scope="work",
    says=lambda answer: "The line was written before." if answer["repeated"] else "The line is written.",
    codes=("unknown_run", "unknown_state", "lease_lost", "run_over", "terminal"),
    in_refusals={"repeated": False},
    for_programs=True,
)
def log_event(
    on: "Application",
    workflow_id: RunId,
    state: Annotated[
        str,
        Argument(means="Name of the state.", example="CalculatePricing", pattern=STATE, min_length=1, max_length=400),
    ],
    lease_token: Annotated[
        str,
        Argument(
            means="The lease's token; keep it secret.",
            example="the token in the answer of acquire_state_lease",
            min_length=1,
            max_length=200,
        ),
    ],
    number: Annotated[
        int, Argument(means="Which line of this lease it is, from 1.", example=1, ge=1, le=rules.MOST_LINES)
    ],
    message: Annotated[str, Argument(means="What to tell.", example="2 of 5 priced", max_length=rules.LONGEST_MESSAGE)],
    *,
    fields: Annotated[
        str | dict[str, Any] | None,
        Argument(means="More about it, at most 4096 bytes of JSON.", form="unread", tool="fields_json"),
    ] = None,
) -> WrittenLine | Refusal:
    """Write a line into the history of the run while you hold a state: for programs that tell how their work goes.

    Number the lines of a lease 1, 2, 3: a repeated call then writes its line once.
    """
    parsed = {} if fields is None else parse(fields, name="fields_json")
    if not isinstance(parsed, dict):
        raise InvalidArgument("fields_json is not an object.", 'Send fields_json as {"name": value}.')
    request = rules.LogEvent(state=state, token=lease_token, number=number, message=message, fields=parsed)
    answer = on.task_log.log_event(workflow_id, request)
    if isinstance(answer, Refusal):
        return answer
    return WrittenLine(workflow_id=workflow_id, state=state, lines_left=answer.left, repeated=answer.repeated)


add_tools(__name__)
