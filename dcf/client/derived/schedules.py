"""Methods of the clients for the verbs of the toolset schedules. Derived from their descriptions."""

from dcf.client.arguments import request_id_for
from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.features.schedules.records import DeletedSchedule, OperatedSchedule, ScheduleActionName, ScheduleDetails


def list_schedules(*, name: str | None = None, project: str | None = None) -> Stream[ScheduleDetails]:
    """List schedules, or show one (name): the next time, the outcome of the latest, the reason for not starting."""
    return call_pages(ScheduleDetails, "list_schedules", "schedules", limit=100, name=name, project=project)


def operate_schedule(
    name: str, action: ScheduleActionName, *, reason: str | None = None, request_id: str | None = None
) -> Conversation[OperatedSchedule]:
    """Pause or resume a schedule, or start a run of it now (trigger: out of turn, whatever runs, paused or not).

    A resumed schedule catches up missed runs by its catch_up. If it stopped, since the API key of its creator is gone,
    its runs are then yours.
    """
    return call_tool(
        OperatedSchedule,
        "operate_schedule",
        name=name,
        action=action,
        reason=reason,
        request_id=request_id_for(request_id),
    )


def delete_schedule(name: str, *, reason: str | None = None) -> Conversation[DeletedSchedule]:
    """Delete a schedule permanently; the runs that it started stay. Repeated, it finds that it is gone."""
    return call_tool(DeletedSchedule, "delete_schedule", name=name, reason=reason)
