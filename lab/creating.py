"""How the drawn runs of a batch come to be: created, started and repeated as often as it takes."""

import random
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Created
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.repeating import Rerun
from dcf.errors import UnknownRun
from dcf.values.json_text import Json
from lab import operating
from lab.crews import AGENTS
from lab.evidence import PLANNER, is_task
from lab.process import Dcf, patiently
from lab.workflows import Workflow

_MOST_ATTEMPTS: Final = 1000


def keep_children(dcf: Dcf, workflows: Iterable[Workflow]) -> None:
    """Keep the definitions of the child runs, as often as it takes."""
    for workflow in workflows:
        for document in workflow.children:
            patiently(lambda document=document: dcf.starting.keep(read_definition(document)))  # type: ignore[misc]


def create(dcf: Dcf, run: str, workflow: Workflow) -> None:
    """Create and start a run, as often as it takes."""
    luck = random.Random(f"agents {workflow.seed}")
    names = {path.rpartition("/")[2] for path in workflow.expected.inputs if is_task(path)}
    agents = {name: tuple(luck.sample(AGENTS, luck.randint(1, len(AGENTS)))) for name in names}
    wish = Create(
        workflow_id=run,
        definition=read_definition(workflow.definition),
        run_input=workflow.run_input,
        agents=dict.fromkeys(_tasks(workflow.definition), AGENTS) | agents,
        planner_agent_id=PLANNER,
        retention_s=3600,
        max_attempts=_MOST_ATTEMPTS,
    )
    while True:
        created = patiently(lambda: dcf.plane.create(wish))
        assert isinstance(created, Created), created
        try:
            patiently(lambda: dcf.plane.kick_off(run, "start"))
        except UnknownRun:  # a power loss took it back
            continue
        return


def _tasks(part: Json) -> Iterator[str]:
    """Yield the names of all Tasks of a workflow: a caller that skips a state may lead the run anywhere."""
    if isinstance(part, list):
        for item in part:
            yield from _tasks(item)
    elif isinstance(part, dict):
        for name, item in part.items():
            if isinstance(item, dict) and item.get("Type") == "Task" and is_task(name):
                yield name
            yield from _tasks(item)


def repeat(dcf: Dcf, run: str) -> None:
    """Repeat a run as this one, unless that is done; nothing comes of it while the other is gone."""
    source = operating.repeated_from(run)
    assert source is not None, "it repeats another run"
    with suppress(UnknownRun):  # a power loss took the source back
        patiently(lambda: dcf.starting.rerun(source, Rerun(workflow_id=run, agents={}), run))
