"""Parks a state until a usage limit ends, and fails its visit once it has been parked for too long."""

from typing import TYPE_CHECKING, Final

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Released, Updated
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Release
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.runs.control_plane import ControlPlane

ACCOUNT_LIMIT: Final = "DCF.AccountLimit"
"""The error of a state that no longer waits for a usage limit, for Retry and Catch."""


def release(control_plane: "ControlPlane", workflow_id: str, request: Release) -> Released | Updated | Refusal:
    """Release a lease. Where the visit would be parked for too long, write the failure instead."""
    answer = control_plane.release(workflow_id, request)
    if not isinstance(answer, Refusal) or answer.code != "parked_too_long":
        return answer
    failure = Update(
        state=request.state,
        token=request.token,
        owner=request.owner,
        status=Status.FAILED,
        error=ACCOUNT_LIMIT,
        cause=answer.message,
    )
    return control_plane.update(workflow_id, failure)
