"""Runs at every stage: `begin` leaves a run there, and `go_on` takes it from there to its end, step by step.

Another process may continue the work of one, in another version and weeks later. So between the two there is nothing
but Redis, and the facts: what agents would have kept, such as their lease tokens.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from tests.system.upgrades.team import Team

Facts = Mapping[str, Any]

NOTHING: Final[Facts] = {}
TASK: Final = {"Type": "Task", "End": True}


def chain(first: Mapping[str, Any], **more: Any) -> Mapping[str, Any]:
    """Return a workflow of two states: A, described here, then the Task B."""
    states = {"A": {**first, "Next": "B"}, "B": TASK, **more}
    return {"workflow_name": "recorded", "asl": {"StartAt": "A", "States": states}}


TWO_TASKS: Final = chain({"Type": "Task"})
CRITERION: Final = "Every claim has a source."
REVIEW: Final = {"name": "review", "kind": "review", "criteria": [CRITERION], "reviewers": ["rita"]}


class Stage(ABC):
    """A stage that a run can be at."""

    output: ClassVar[Any] = {"by": "B"}
    """The output of the run at its end."""

    @abstractmethod
    def begin(self, team: Team) -> Facts:
        """Start the run, and leave it at this stage."""

    @abstractmethod
    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        """Do the rest; yield between two steps."""


class Ready(Stage):
    """No worker has begun."""

    def begin(self, team: Team) -> Facts:
        team.start(TWO_TASKS)
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        team.work("A")
        yield
        team.work("B")


class Leased(Stage):
    """A worker has a lease."""

    def begin(self, team: Team) -> Facts:
        team.start(TWO_TASKS)
        token = team.take("A")
        team.do("log_event", state="A", lease_token=token, number=1, message="half of it is done")
        return {"token": token}

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        team.finish("A", facts["token"])
        yield
        team.work("B")


class Halfway(Stage):
    """One Task is done, with what it used up; the next is ready."""

    def begin(self, team: Team) -> Facts:
        team.start(TWO_TASKS)
        team.do("set_budget", budget_json={"tokens": 1000})
        used = {"tokens_in": 90, "tokens_out": 10, "model": "m"}
        subject = {"state": "A", "lease_token": team.take("A"), "new_status": "succeeded", "output_json": {"by": "A"}}
        team.do("update_workflow_control_plane", **subject, usage_json=used)
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        assert team.do("read_usage")["total"]["tokens_in"] == 90
        yield
        team.work("B")


class Asking(Stage):
    """A worker asked a question, and gave the state back."""

    def begin(self, team: Team) -> Facts:
        team.start(TWO_TASKS)
        place = {"state": "A", "lease_token": team.take("A"), "timeout_s": team.patience_s}
        request = team.do(
            "ask_question", **place, question="Which currency?", choices_json=["EUR", "USD"], ask=["alice"]
        )
        return {"question": request["question_id"]}

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        answer = team.call("answer_question", question_id=facts["question"], answer="EUR", agent_id="alice")
        assert answer["code"] == ("ok" if team.is_prompt else "question_closed"), answer
        yield
        team.work("A")
        yield
        team.work("B")


class Approval(Stage):
    """The run waits for a person."""

    def begin(self, team: Team) -> Facts:
        asks = {"to": ["alice"], "title": "Approve", "choices": ["approve", "reject"]}
        team.start(chain({"Type": "Task", "Resource": "dcf:human", "Parameters": asks}))
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        listed = team.anywhere("list_human_tasks", person="alice")["tasks"]
        assert team.run in {task["workflow_id"] for task in listed}
        yield
        team.do("answer_human_task", state="A", choice="approve", agent_id="alice")
        yield
        team.work("B")


class Gated(Stage):
    """A gate is open: the output waits for a verdict."""

    def begin(self, team: Team) -> Facts:
        team.start(chain({"Type": "Task", "Gates": [REVIEW]}))
        token = team.take("A")
        assert team.complete("A", token)["code"] == "review_running"
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        (gate,) = team.do("list_gates")["gates"]
        yield
        judged = [{"criterion": CRITERION, "passed": True}]
        verdict = {"state": "A", "gate": "review", "verdict": "pass", "agent_id": "rita", "criteria": judged}
        team.do("decide_gate", **verdict, content_sha256=gate["content_sha256"])
        yield
        team.work("B")


class Mapped(Stage):
    """Of three iterations of a Map one has ended, one is leased and one is ready."""

    output: ClassVar[Any] = [{"by": 0}, {"by": 1}, {"by": 2}]

    def begin(self, team: Team) -> Facts:
        inside = {"StartAt": "Score", "States": {"Score": TASK}}
        each = {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": inside, "End": True}
        machine = {"StartAt": "Each", "States": {"Each": each}}
        team.start({"workflow_name": "recorded-map", "asl": machine}, input_json={"items": [3, 5, 7]})
        team.work("Each/0/Score", {"by": 0})
        return {"token": team.take("Each/1/Score")}

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        team.work("Each/2/Score", {"by": 2})
        yield
        team.finish("Each/1/Score", facts["token"], {"by": 1})


class Parallel(Stage):
    """One branch of two has ended."""

    output: ClassVar[Any] = [{"by": "Left"}, {"by": "Right"}]

    def begin(self, team: Team) -> Facts:
        branches = [{"StartAt": name, "States": {name: TASK}} for name in ("Left", "Right")]
        machine = {"StartAt": "Both", "States": {"Both": {"Type": "Parallel", "Branches": branches, "End": True}}}
        team.start({"workflow_name": "recorded-parallel", "asl": machine})
        team.work("Both/0/Left", {"by": "Left"})
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        yield
        team.work("Both/1/Right", {"by": "Right"})


class Variables(Stage):
    """A run in JSONata has assigned a variable that a later state needs."""

    output: ClassVar[Any] = {"sum": 42}

    def begin(self, team: Team) -> Facts:
        first = {"Type": "Task", "Assign": {"first": "{% $states.result.number %}"}, "Next": "B"}
        last = {"Type": "Task", "Output": {"sum": "{% $first + $states.result.number %}"}, "End": True}
        machine = {"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": first, "B": last}}
        team.start({"workflow_name": "recorded-jsonata", "asl": machine})
        team.work("A", {"number": 40})
        return NOTHING

    def go_on(self, team: Team, facts: Facts) -> Iterator[None]:
        yield
        team.work("B", {"number": 2})
