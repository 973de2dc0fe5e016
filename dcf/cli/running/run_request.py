"""The order to `dcf run`: a workflow, its input, who works on it and how. It must not start anything."""

import hashlib
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from dcf.asl.machine import Task, every_state
from dcf.core.definitions.model import Definition
from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_id
from dcf.values.json_text import Json
from dcf.values.records import record

if TYPE_CHECKING:
    from dcf.hosting.agents_file import AgentsFile

MOST_AT_ONCE = 10
"""States that one worker works on at the same time, where the user does not say."""


@record(frozen=True, slots=True, kw_only=True)
class Job:
    """The workflow to run, its input, and the settings of the run.

    `copies` is the number of worker processes; with none, the functions run in this process. `direct` leaves out the
    server: the tools are called in the process that needs them. `elsewhere` has the agents of Tasks that no process
    here works on, such as a person's; `hosted` has those of Tasks that the agents of `agents_file` do. With no other
    Task there need be no `workers`.
    """

    definition: Definition
    run_input: Json
    workers: str | None
    run_id: str
    timeout_s: float
    lease_ttl_s: int
    copies: int = 1
    concurrency: int = 1
    direct: bool = False
    elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)
    agents_file: Path | None = None
    hosted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def states(self) -> tuple[str, ...]:
        """The names of all Tasks that task functions work on here, nested ones included."""
        return tuple(name for name in self.definition.skills if name not in {*self.elsewhere, *self.hosted})

    @property
    def asking(self) -> tuple[str, ...]:
        """The names of all Tasks that ask people, nested ones included."""
        tasks = ((name, state) for name, state in every_state(self.definition.machine) if isinstance(state, Task))
        return tuple(name for name, task in tasks if task.served_by.kind == "human")

    @property
    def agents(self) -> dict[str, list[str]]:
        """The agents that may lease each Task."""
        named = {**self.hosted, **self.elsewhere}
        return {name: list(named.get(name, self.agent_ids)) for name in self.definition.skills}

    @property
    def agent_ids(self) -> list[str]:
        """The agents of this run, who share all of its Tasks; named after its id, so that it can be continued."""
        first = f"worker-{hashlib.sha256(self.run_id.encode()).hexdigest()[:6]}"
        return [first, *(f"{first}-{copy}" for copy in range(2, self.copies + 1))]


def read_assignments(assignments: Sequence[str], definition: Definition) -> dict[str, list[str]]:
    """Return the agents of Tasks, from STATE=AGENT; several for one Task are a pool."""
    pools: dict[str, list[str]] = {}
    for assignment in assignments:
        state, equals, agent = assignment.partition("=")
        if not equals or state not in definition.skills:
            known = ", ".join(definition.skills) or "none"
            raise InvalidArgument(
                f"--assign '{assignment[:80]}' names no Task of the workflow.",
                f"Write STATE=AGENT; the Tasks are: {known}.",
            )
        pools.setdefault(state, []).append(check_id(agent, "--assign"))
    return pools


def hosted_tasks(file: "AgentsFile", definition: Definition) -> dict[str, list[str]]:
    """Return the agents of a file by Task: those that name it, else those that name none."""
    free = [agent.profile.name for agent in file.agents if not agent.tasks]
    named = {
        name: [agent.profile.name for agent in file.agents if name in agent.tasks] or free for name in definition.skills
    }
    return {name: agents for name, agents in named.items() if agents}


def new_run_id(definition: Definition) -> str:
    """Return a readable id: the workflow's name, the time to the second, four random digits."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{_slug(definition.name, 40)}-{moment}-{secrets.token_hex(2)}"


def _slug(text: str, longest: int) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:longest].strip("-") or "run"
