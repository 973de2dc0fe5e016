"""The arguments and the answer that requests about a whole run share."""

from typing import Annotated

from pydantic import Field

from dcf.core.documents.operations import LONGEST_REASON, LONGEST_REQUEST_ID
from dcf.verbs.registry import Answer
from dcf.verbs.unlisted import UNLISTED

Reason = Annotated[str | None, Field(max_length=LONGEST_REASON, description="Why, for the run's history.")]
RequestId = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=LONGEST_REQUEST_ID,
        description="An id of your own for this request: repeated with it, the call is applied once.",
        json_schema_extra=UNLISTED,
    ),
]


class RunOperated(Answer):
    """What was done. `repeated`: this request was applied before, and this is its first answer; `hint` says what to do.

    `announced` counts the states whose agents are told.
    """

    workflow_id: str | None = None
    run_status: str | None = None
    paused_at: str | None = None
    announced: int | None = None
    repeated: bool | None = None
