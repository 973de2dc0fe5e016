"""Runs that wait for something outside, that somebody stopped, that failed, or that have ended."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from tests.support.waiting import wait_until
from tests.system.upgrades import stages
from tests.system.upgrades.stages import NOTHING, TASK, TWO_TASKS, Facts, Stage, chain
from tests.system.upgrades.team import LONG_S, Team


class Signalled(Stage):
    """The run waits for a signal."""

    def begin(self, team: Team) -> Facts:
        team.start(chain({"Type": "Task", "Resource": "dcf:signal", "Parameters": {"name": "paid"}}))
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        team.do("send_signal", name="paid", payload_json={"amount": 7})
        yield
        team.work("B")


class CalledBack(Stage):
    """Another system has a task token."""

    def begin(self, team: Team) -> Facts:
        parameters = {"token.$": "$$.Task.Token"}
        team.start(chain({"Type": "Task", "Resource": "dcf:callback.waitForTaskToken", "Parameters": parameters}))
        read = team.do("read_workflow_control_plane", include_inputs=True)
        return {"task_token": read["inputs"]["A"]["token"]}

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        answer = team.anywhere("send_task_success", task_token=facts["task_token"], output_json={"paid": True})
        assert answer["code"] == "ok", answer
        yield
        team.work("B")


class Timed(Stage):
    """The run waits for a time, which comes while no process looks."""

    def begin(self, team: Team) -> Facts:
        team.start(chain({"Type": "Wait", "Seconds": team.pause_s}))
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        yield
        team.work("B")


class Retried(Stage):
    """An attempt failed, and is to be made again after a while."""

    def begin(self, team: Team) -> Facts:
        again = [{"ErrorEquals": ["Busy"], "IntervalSeconds": team.pause_s, "MaxAttempts": 2}]
        team.start(chain({"Type": "Task", "Retry": again}))
        subject = {"state": "A", "lease_token": team.take("A"), "new_status": "failed", "error_name": "Busy"}
        team.do("update_workflow_control_plane", **subject)
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        yield
        team.work("A")
        yield
        team.work("B")


class Paused(Stage):
    """An operator has paused the run."""

    def begin(self, team: Team) -> Facts:
        team.start(TWO_TASKS)
        team.do("pause_run", reason="an upgrade")
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        refused = team.call("acquire_state_lease", state="A", owner_agent_id="ann")
        assert refused["code"] == "run_paused", refused
        yield
        team.do("resume_run")
        yield
        team.work("A")
        yield
        team.work("B")


class Blocked(Stage):
    """An issue of the journal blocks the run."""

    def begin(self, team: Team) -> Facts:
        team.start(TWO_TASKS)
        entry = {"agent_id": "ann", "kind": "issue", "text": "The price list is missing.", "blocks": True}
        return {"issue": team.do("add_journal_entry", **entry)["entry"]}

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        assert team.do("read_journal")["entries"][0]["text"] == "The price list is missing."
        yield
        team.do("resolve_issue", issue=facts["issue"], how="It is there.", agent_id="pia")
        yield
        team.work("A")
        yield
        team.work("B")


class Failed(Stage):
    """The run has failed, and may be continued."""

    def begin(self, team: Team) -> Facts:
        team.start(TWO_TASKS)
        team.work("A")
        subject = {"state": "B", "lease_token": team.take("B"), "new_status": "failed", "error_name": "Broken"}
        team.do("update_workflow_control_plane", **subject)
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        assert team.status() == "failed"
        yield
        team.do("retry_run")
        yield
        team.work("B")


class Ended(Stage):
    """The run has ended, and its keys expire."""

    def begin(self, team: Team) -> Facts:
        team.start(TWO_TASKS, expiry_secs=86400)
        team.work("A")
        stored = team.do("put_artifact", name="report.md", content="# Report", state="A", content_type="markdown")
        team.work("B")
        team.do("finalize_workflow", finalize_note="recorded")
        return {"artifact": stored["artifact"]["artifact_id"]}

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        yield
        assert team.do("get_artifact", artifact_id=facts["artifact"])["content"] == "# Report"


class Grown(Stage):
    """An open run has units: one has ended, one is leased, one waits for it."""

    output: ClassVar[Any] = {"shipped": True}

    def begin(self, team: Team) -> Facts:
        team.do("open_run", name="release", planner_agent_id="pia")
        units = [{"name": "Build"}, {"name": "Test", "depends_on": ["Build"]}, {"name": "Ship", "depends_on": ["Test"]}]
        team.do("add_units", units=units)
        team.work("Build")
        return {"token": team.take("Test")}

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        team.finish("Test", facts["token"])
        yield
        team.do("add_units", units=[{"name": "Tell", "depends_on": ["Ship"]}])
        team.work("Ship")
        yield
        team.work("Tell")
        team.do("close_run", summary="It is out.", output_json=self.output)


class Parent(Stage):
    """A Task waits for the end of a run that it started."""

    output: ClassVar[Any] = {"by": "Inner"}

    def begin(self, team: Team) -> Facts:
        name = f"inner-of-{team.run}"
        inner = {"workflow_name": name, "asl": {"StartAt": "Inner", "States": {"Inner": TASK}}}
        team.of(f"{team.run}-model").start(inner)  # so it is known by its name
        parameters = {"StateMachineArn": name, "Input": {}}
        asks = {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "Parameters": parameters}
        outer = {"StartAt": "Outer", "States": {"Outer": {**asks, "OutputPath": "$.Output", "End": True}}}
        team.start({"workflow_name": "recorded-parent", "asl": outer})
        wait_until(lambda: len(team.runs_of(name)) > 1, LONG_S)
        (child,) = {*team.runs_of(name)} - {f"{team.run}-model"}
        return {"child": child}

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        yield
        team.of(facts["child"]).work("Inner")
        wait_until(lambda: team.status() != "running", LONG_S)  # another process takes the child's output


STAGES: Final[Mapping[str, Stage]] = {
    kind.__name__.lower(): kind()
    for kind in (
        *(stages.Ready, stages.Leased, stages.Halfway, stages.Asking, stages.Approval, stages.Gated, stages.Mapped),
        *(stages.Parallel, stages.Variables, Signalled, CalledBack, Timed, Retried, Paused, Blocked, Failed, Ended),
        *(Grown, Parent),
    )
}
"""All stages by their names, which are those of the runs too."""
