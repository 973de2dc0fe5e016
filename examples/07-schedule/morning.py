"""A schedule starts runs by the time. This program triggers a run at once, out of turn, and does not wait for seven."""

import dcf
from dcf import flow, task


@task
def report() -> str:
    """Write the report."""
    return "the report is written"


@flow
def morning() -> str:
    """Write a report."""
    return report()


with dcf.connect() as client, client.serve(morning, "reporter"):
    client.create_schedule("morning", morning, cron="0 7 * * 1-5", timezone="Europe/Vienna", agents="reporter")
    run = client.operate_schedule("morning", "trigger").workflow_id
    assert run is not None
    print(client.result(run))
    (schedule,) = client.list_schedules(name="morning")
    print(schedule.cron, schedule.timezone)
    client.delete_schedule("morning")
