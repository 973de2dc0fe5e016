"""What the tools of the profile `openfactory` take."""

from typing import Annotated, Literal

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


class SearchContextCall(CamelArguments):
    """Search documents, blueprints, artifacts and code of the project for more context."""

    query: Annotated[str, Field(min_length=1, description='Words that must all occur; "a phrase" as it stands.')]
    types: list[Literal["documents", "blueprints", "artifacts", "code"]] | None = None
    limit: Annotated[int, Field(ge=1, le=20)] = 5
