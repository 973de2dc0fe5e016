"""The subjects of a scenario's calls: runs of every kind, and other stored things. Each is made when it is named."""

import secrets
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

Ask = Callable[..., dict[str, Any]]
"""Calls a tool, and returns its answer; raises for a refusal."""

WORKER: Final = "worker-1"
PERSON: Final = "alice"
SKILL: Final = "skill.calculate.pricing@0.1.0"

_REVIEW: Final = {"name": "review", "kind": "review", "criteria": ["It is short."]}


def machine(**states: Mapping[str, Any]) -> dict[str, Any]:
    """A workflow of these states; those without a next one end it."""
    whole = {name: {**({} if "Next" in state else {"End": True}), **state} for name, state in states.items()}
    return {"workflow_name": "Sample", "asl": {"StartAt": next(iter(states)), "States": whole}}


TASK: Final = machine(Only={"Type": "Task"})
TWO_TASKS: Final = machine(Only={"Type": "Task", "Next": "Then"}, Then={"Type": "Task"})
GATED: Final = machine(Only={"Type": "Task", "Gates": [_REVIEW]})
HUMAN: Final = machine(
    Only={
        "Type": "Task",
        "Resource": "dcf:human",
        "Parameters": {"to": [PERSON], "title": "Approve the order", "choices": ["approve", "reject"]},
    }
)
SIGNAL: Final = machine(Only={"Type": "Task", "Resource": "dcf:signal", "Parameters": {"name": "paid"}})
CALLBACK: Final = machine(
    Only={"Type": "Task", "Resource": "dcf:callback.waitForTaskToken", "Parameters": {"token.$": "$$.Task.Token"}}
)


class Things:
    """Things made by calls of tools. Another instance makes others of the same kind."""

    def __init__(self, ask: Ask, folder: Path) -> None:
        self._ask = ask
        self.mark: Final = secrets.token_hex(4)
        """A text that no other instance has in its names."""
        self.folder: Final = folder / self.mark
        """A directory of its own."""
        self.folder.mkdir()

    @cached_property
    def account(self) -> str:
        """An account."""
        name = f"account-{self.mark}"
        self._ask("put_account", account=name, in_flight=20)
        return name

    @cached_property
    def run(self) -> str:
        """A run whose only state waits for the worker."""
        return self._started(TASK)

    @cached_property
    def token(self) -> str:
        """The token of the worker's lease of the run's only state."""
        return self._leased(self.run)

    @cached_property
    def held(self) -> str:
        """A run whose only state the worker holds."""
        assert self.token
        return self.run

    @cached_property
    def ended(self) -> str:
        """A run that has succeeded."""
        assert self._completed(self.run, self.token)["run_status"] == "succeeded"
        return self.run

    @cached_property
    def half(self) -> str:
        """A run of two states, of which the first is done."""
        run = self._started(TWO_TASKS)
        self._completed(run, self._leased(run))
        return run

    @cached_property
    def failed(self) -> str:
        """A run that has failed."""
        self._fails(self.run, self.token)
        return self.run

    @cached_property
    def paused(self) -> str:
        """A run that is paused."""
        self._ask("pause_run", workflow_id=self.run)
        return self.run

    @cached_property
    def asking(self) -> str:
        """A run that waits for a person."""
        return self._started(HUMAN)

    @cached_property
    def epoch(self) -> int:
        """The visit of the state at which the person is asked."""
        (task,) = self._ask("list_human_tasks", workflow_id=self.asking, state="Only")["tasks"]
        return int(task["epoch"])

    @cached_property
    def signalled(self) -> str:
        """A run that waits for a signal."""
        return self._started(SIGNAL)

    @cached_property
    def gated(self) -> str:
        """A run whose only state was delivered and waits for a verdict."""
        run = self._started(GATED)
        self._completed(run, self._leased(run))
        return run

    @cached_property
    def content_sha256(self) -> str:
        """The hash of what waits for a verdict."""
        (gate,) = self._ask("list_gates", workflow_id=self.gated)["gates"]
        return str(gate["content_sha256"])

    @cached_property
    def task_token(self) -> str:
        """The token by which a task is answered."""
        run = self._started(CALLBACK)
        return str(self._ask("read_workflow_control_plane", workflow_id=run)["inputs"]["Only"]["token"])

    @cached_property
    def question(self) -> str:
        """The id of a question that the worker of the run asked."""
        reply = self._ask(
            "ask_question", workflow_id=self.run, state="Only", lease_token=self.token, question="EUR or USD?"
        )
        return str(reply["question_id"])

    @cached_property
    def grown(self) -> str:
        """A run that grows, with a unit."""
        run = str(self._ask("open_run", name="release")["workflow_id"])
        self._ask("add_units", workflow_id=run, units=[{"name": "Build"}])
        return run

    @cached_property
    def delivered(self) -> str:
        """A run that grows, whose unit was delivered."""
        self._completed(self.grown, self._leased(self.grown, "Build"), "Build")
        return self.grown

    @cached_property
    def broken(self) -> str:
        """A run that grows, whose unit has failed."""
        self._fails(self.grown, self._leased(self.grown, "Build"), "Build")
        return self.grown

    @cached_property
    def issue(self) -> str:
        """The id of an issue in the journal of the run."""
        made = self._ask(
            "add_journal_entry", workflow_id=self.run, kind="issue", text="It hangs.", agent_id=WORKER, state="Only"
        )
        return str(made["entry"])

    @cached_property
    def with_issue(self) -> str:
        """A run with an issue in its journal."""
        assert self.issue
        return self.run

    @cached_property
    def artifact(self) -> str:
        """The id of an artifact of the run."""
        made = self._ask(
            "put_artifact", workflow_id=self.run, name="report.md", content="# Report", content_type="markdown"
        )
        return str(made["artifact"]["artifact_id"])

    @cached_property
    def with_artifact(self) -> str:
        """A run with an artifact."""
        assert self.artifact
        return self.run

    @cached_property
    def with_run(self) -> str:
        """A project with a run."""
        self._ask("start_run", workflow_json=TASK, project=self.project)
        return self.project

    @cached_property
    def project(self) -> str:
        """A project."""
        self._ask("put_project", project=f"p-{self.mark}")
        return f"p-{self.mark}"

    @cached_property
    def finding(self) -> str:
        """The id of a finding."""
        made = self._ask(
            "add_finding", severity="high", category="c", title=f"Prices {self.mark}", text=f"No currency {self.mark}."
        )
        return str(made["finding"]["finding_id"])

    @cached_property
    def finding_text(self) -> str:
        """The text of a finding."""
        assert self.finding
        return f"No currency {self.mark}."

    @cached_property
    def definition(self) -> str:
        """The name of a rule of the catalogue."""
        self._ask("put_definition", kind="rule", name=f"rule-{self.mark}", content="Read it twice.")
        return f"rule-{self.mark}"

    @cached_property
    def schedule(self) -> str:
        """The name of a schedule of a workflow that was started before."""
        self._ask("create_schedule", name=f"s-{self.mark}", workflow_json=TASK, every_s=86_400, project=self.project)
        return f"s-{self.mark}"

    @cached_property
    def hook(self) -> str:
        """A registered agent."""
        self._ask("register_agent", agent_id=f"hook-{self.mark}", url="https://agents.example/dcf")
        return f"hook-{self.mark}"

    @cached_property
    def agent_name(self) -> str:
        """The name of an agent that was made for a run."""
        run = self._ask("create_workflow_control_plane", workflow_json=TASK)["workflow_id"]
        (made,) = self._ask("create_worker_agents", workflow_id=run)["created"]
        return str(made["agent_name"])

    @cached_property
    def agent(self) -> str:
        """The id of an agent that was made for a run."""
        return str(self._ask("resolve_agent_name_to_id", agent_name=self.agent_name)["agent_id"])

    @cached_property
    def equipped(self) -> str:
        """The id of such an agent that has loaded the skill."""
        self._ask("load_skill", skill_json=SKILL, agent_id=self.agent)
        return self.agent

    @cached_property
    def document(self) -> str:
        """The key of a document."""
        made = self._ask("json_create", initial_json={"n": 1, "rows": [1]})
        return str(made["redis_key"])

    @cached_property
    def directory(self) -> str:
        """A directory of the server, with a file."""
        self._ask("write_file", path=f"d-{self.mark}/a.txt", content="Done.")
        return f"d-{self.mark}"

    @cached_property
    def written(self) -> str:
        """A file of the server."""
        return f"{self.directory}/a.txt"

    def file(self, name: str, text: str) -> str:
        """The path of a new file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def _started(self, document: Mapping[str, Any]) -> str:
        started = self._ask("start_run", workflow_json=document, agents_map_json={"*": WORKER})
        return str(started["workflow_id"])

    def _leased(self, run: str, state: str = "Only") -> str:
        leased = self._ask("acquire_state_lease", workflow_id=run, state=state, owner_agent_id=WORKER)
        return str(leased["work"]["lease_token"])

    def _completed(self, run: str, token: str, state: str = "Only") -> dict[str, Any]:
        output = {"new_status": "succeeded", "output_json": {"n": 1}}
        return self._ask("update_workflow_control_plane", workflow_id=run, state=state, lease_token=token, **output)

    def _fails(self, run: str, token: str, state: str = "Only") -> None:
        error = {"new_status": "failed", "error_name": "NoStock"}
        self._ask("update_workflow_control_plane", workflow_id=run, state=state, lease_token=token, **error)
