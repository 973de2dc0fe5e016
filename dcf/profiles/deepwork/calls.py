"""The arguments of the tools of the profile `deepwork`: those of the seed, and those of later versions."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic.config import JsonDict

from dcf.profiles.arguments import UNLISTED, ProfileArguments

_FROM_THE_HELPER: Final[JsonDict] = {UNLISTED: True}
"""Arguments that later clients and the helper on the agent's machine send, which the seed does not list."""

SessionId = Annotated[str | None, Field(max_length=200, description="As begin_step told it; default: yours.")]
QuietSession = Annotated[str | None, Field(max_length=200, json_schema_extra=_FROM_THE_HELPER)]
JobName = Annotated[str, Field(description="Name of the job.")]


class GetWorkflowsCall(ProfileArguments):
    """List all jobs and their workflows. Call this first."""

    session_id: QuietSession = None


class StartJobWorkflowCall(ProfileArguments):
    """Start a workflow; returns its first step. A workflow under way continues when this one is complete."""

    goal: str = Field(description="What the user wants to accomplish.")
    job_name: JobName
    workflow_name: str = Field(description="Name of the workflow within the job.")
    instance_id: str | None = Field(default=None, description="For naming, e.g. 'acme' or 'q1-2026'.")
    session_id: QuietSession = None
    reviewed_by: Literal["quality-gate", "nobody"] | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)


class FinishedStepCall(ProfileArguments):
    """Report that you finished the step. Judges its outputs where it has criteria, then says what is next."""

    outputs: list[str] = Field(description="Paths of the files that you made.")
    notes: str | None = Field(default=None, description="About the work.")
    quality_review_override_reason: str | None = Field(
        default=None, description="Why no review is needed; needs the right to override."
    )
    session_id: QuietSession = None
    file_hashes: dict[str, Any] | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)
    review_again: bool = Field(default=False, json_schema_extra=_FROM_THE_HELPER)
    waits_for_review: dict[str, Any] | None = Field(default=None, json_schema_extra=_FROM_THE_HELPER)


class AbortWorkflowCall(ProfileArguments):
    """End the workflow without finishing it; the workflow around it continues."""

    explanation: str = Field(min_length=1, description="Why.")
    session_id: SessionId = None


class GoToStepCall(ProfileArguments):
    """Go back to an earlier step, or begin the same one again; later ones are done again. Files stay."""

    step_id: str = Field(description="A step of the workflow.")
    session_id: SessionId = None


class RegisterSessionJobCall(ProfileArguments):
    """Register a job for this session; it comes before jobs of the same name elsewhere."""

    job_name: JobName
    job_definition_yaml: str = Field(description="The whole job.yml, instructions included.")
    session_id: SessionId = None


class GetSessionJobCall(ProfileArguments):
    """Read a job that was registered for this session."""

    job_name: JobName
    session_id: SessionId = None


class GetReviewInstructionsCall(ProfileArguments):
    """List the reviews that wait for you: the author of an output cannot review it."""

    files: list[str] | None = Field(default=None, description="Only of outputs with one of these files.")


class MarkReviewAsPassedCall(ProfileArguments):
    """Say that every criterion of a review is met."""

    review_id: str = Field(min_length=1, description="As get_review_instructions told it.")
