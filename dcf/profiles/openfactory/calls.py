"""The arguments of the tools of the profile `openfactory`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from dcf.profiles.arguments import CamelArguments

WorkOrderId = Annotated[str, Field(description="The id that list_work_orders returned.")]


class ListWorkOrdersCall(CamelArguments):
    """List work orders of yours: by default those that are ready to be begun."""

    status: Literal["ready", "in_progress", "in_review"] = "ready"
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class GetWorkOrderCall(CamelArguments):
    """Get a work order whole: description, acceptance criteria, what is out of scope, plan, and what it is tied to."""

    work_order_id: WorkOrderId


class UpdateWorkOrderStatusCall(CamelArguments):
    """Move a work order: ready to in_progress, in_progress to in_review, in_review to done or back to in_progress."""

    work_order_id: WorkOrderId
    status: Literal["in_progress", "in_review", "done"]


Text = Annotated[str, Field(max_length=16_000)]


class CreateWorkOrderCall(CamelArguments):
    """Create a work order (planner). The same call again finds the same order; get_work_order shows it."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    description: Text | None = None
    acceptance_criteria: Text | None = Field(
        default=None, description="Markdown; a line that begins with '-' is one criterion of the review."
    )
    out_of_scope: Text | None = None
    implementation_plan: Text | None = None
    phase: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="Made if there is none of this name."
    )
    feature: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    deliverable_type: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="As feature, bugfix or chore."
    )
    assignee_ids: list[str] | None = Field(default=None, description="Agents that may take it; default: any.")
    reviewer_ids: list[str] | None = Field(
        default=None,
        description="Agent ids that accept it in review, with scopes work and answer; without, its assignee says done.",
    )
    blocked_by: list[WorkOrderId] | None = Field(default=None, description="Orders that must be done before.")


class CreateFeatureCall(CamelArguments):
    """Add a feature to the project of your key (planner), or change the one of this name."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: Text | None = None
    relationships: list[dict[str, Any]] | None = Field(
        default=None, description='To others: [{"kind": "needs", "feature": "Prices"}].'
    )


class SearchContextCall(CamelArguments):
    """Search documents (requirements, work orders, findings), blueprints, artifacts and code of the project."""

    query: Annotated[
        str, Field(min_length=1, description='Best: texts with all words; else those with some. "A phrase" as it is.')
    ]
    types: list[Literal["documents", "blueprints", "artifacts", "code"]] | None = None
    limit: Annotated[int, Field(ge=1, le=20)] = 5
