"""The cost of the beginning of a run: round trips of `start_run`, `rerun` and `retry_run`, without what they owe."""

import secrets
from contextlib import closing

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.measuring import Probe
from dcf.application.application import Application
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.repeating import Rerun
from dcf.core.lifecycle.starting import Start
from dcf.features import installed_decisions, installed_runs  # noqa: F401 - before the first decision
from dcf.runs.control_plane import ControlPlane
from dcf.runs.lifecycle import Lifecycle
from dcf.runs.retrying import RunRetrying
from dcf.runs.starting import Starting
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.lists.definitions import KeptDefinitions
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import RunStore

_BOUND = 3


def measure_beginnings(app: Application, probe: Probe) -> list[Row]:
    """Count the round trips of beginning a run."""
    with closing(Connections(open_pool(app.redis_url))) as connections:
        plane = ControlPlane(RunStore(connections), RunIndex(connections))
        starting = Starting(plane.transactions, plane.follow_ups, KeptDefinitions(connections))
        return _rows(starting, RunRetrying(plane), plane, probe)


def _rows(starting: Starting, retrying: RunRetrying, plane: ControlPlane, probe: Probe) -> list[Row]:
    definition = read_definition(workloads.chain(3) | {"workflow_name": "begun", "version": secrets.token_hex(4)})
    name = f"{definition.name}@{definition.version}"

    def start(reference: str | None = None) -> str:
        result = definition if reference is None else starting.definition(reference)
        run = _name()
        if reference is None:
            starting.keep(result)
        wish = Create(
            workflow_id=run,
            definition=result,
            run_input={},
            agents={},
            planner_agent_id=None,
            retention_s=None,
            max_attempts=10,
        )
        starting.start(Start(wish=wish))
        return run

    plane.transactions.store.definition("nothing")  # opens the connection
    first = probe.spent(start)
    again, by_name = probe.spent(start), probe.spent(lambda: start(name))
    earlier = start()
    repeated = probe.spent(lambda: starting.rerun(earlier, Rerun(workflow_id=_name(), agents={})))
    Lifecycle(plane).cancel(earlier)
    retried = probe.spent(lambda: retrying.retry(earlier))
    return [
        Row(what="start_run, a document that is not kept yet", figure=first.reads, unit="round trips", bound=_BOUND),
        Row(what="start_run, a document", figure=again.reads, unit="round trips", bound=_BOUND),
        Row(what="start_run, a kept definition", figure=by_name.reads, unit="round trips", bound=_BOUND),
        Row(what="rerun", figure=repeated.reads, unit="round trips"),
        Row(what="retry_run, one state", figure=retried.reads, unit="round trips"),
    ]


def _name() -> str:
    return f"bench-{secrets.token_hex(6)}"
