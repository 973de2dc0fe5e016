"""Schedules, from Python."""

from dataclasses import fields

import pytest

from dcf.client import Client, ScheduleDetails
from dcf.errors import InvalidArgument, NotFound
from tests.python.workflows import EMPTY


def test_a_schedule_is_created_listed_paused_triggered_and_deleted(client: Client, run_id: str) -> None:
    made = client.create_schedule(
        run_id, EMPTY, {"a": 1}, cron="0 7 * * 1-5", timezone="Europe/Vienna", tags=["report"], project=f"of-{run_id}"
    )
    assert (made.existed, made.schedule.name, made.schedule.timezone) == (False, run_id, "Europe/Vienna")
    assert made.schedule.input == {"a": 1}
    again = client.create_schedule(
        run_id, EMPTY, {"a": 1}, cron="0 7 * * 1-5", timezone="Europe/Vienna", tags=["report"], project=f"of-{run_id}"
    )
    assert again.existed
    assert run_id in [schedule.name for schedule in client.list_schedules()]
    assert [schedule.name for schedule in client.list_schedules(project=f"of-{run_id}")] == [run_id]
    paused = client.operate_schedule(run_id, "pause", reason="holidays")
    assert (paused.schedule.status, paused.workflow_id) == ("paused", None)
    triggered = client.operate_schedule(run_id, "trigger", request_id="now")
    assert triggered.workflow_id is not None
    assert client.operate_schedule(run_id, "trigger", request_id="now").workflow_id == triggered.workflow_id
    assert client.result(triggered.workflow_id) == {"a": 1}
    (shown,) = client.list_schedules(name=run_id)
    assert triggered.workflow_id in [item.run for item in shown.history]
    assert client.delete_schedule(run_id).existed
    assert not client.delete_schedule(run_id).existed
    with pytest.raises(NotFound):
        list(client.list_schedules(name=run_id))


def test_a_schedule_that_makes_no_sense_is_refused(client: Client, run_id: str) -> None:
    with pytest.raises(InvalidArgument):
        client.create_schedule(run_id, EMPTY, cron="every now and then")
    with pytest.raises(InvalidArgument):
        client.create_schedule(run_id, EMPTY)


def test_no_field_of_a_schedule_is_left_out(served: Client, run_id: str) -> None:
    served.create_schedule(run_id, EMPTY, every_s=3600)
    served.operate_schedule(run_id, "trigger")
    (shown,) = served._tools.call("list_schedules", name=run_id)["schedules"]
    served.delete_schedule(run_id)
    assert set(shown) | {"cron", "timezone"} == {field.name for field in fields(ScheduleDetails)}
