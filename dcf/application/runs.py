"""Builds the objects that read and write runs, for one process, from its settings. It must not decide."""

from dcf.asl.expressions.confinement import limit_children
from dcf.core.lifecycle.retention import RetentionPolicy
from dcf.features import installed_decisions, installed_runs  # noqa: F401 - before the first decision
from dcf.features.accounts.admission_operations import AccountAdmissions
from dcf.features.accounts.storage import AccountStore
from dcf.features.children.operations import Children
from dcf.features.retention.operations import Retention
from dcf.features.retention.storage import Deletion
from dcf.features.schedules.operations import Schedules
from dcf.features.schedules.storage import ScheduleStore
from dcf.features.work.limit_operations import WorkLimiting
from dcf.features.work.limit_storage import WorkLimits
from dcf.files.items import ItemFiles
from dcf.runs.control_plane import ControlPlane
from dcf.runs.starting import Starting
from dcf.runs.views.reading import RunViews
from dcf.settings.process import Settings
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.connections import Connections
from dcf.store.events.history import History
from dcf.store.events.notified import ToldRecords
from dcf.store.events.outbox import Outbox
from dcf.store.lists.definitions import KeptDefinitions
from dcf.store.lists.due import DueRuns
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import RunStore
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class PartsOfRuns:
    """The parts that read and write runs, before there are agents to notify."""

    run_store: RunStore
    run_index: RunIndex
    outbox: Outbox
    told: ToldRecords
    history: History
    due: DueRuns
    plane: ControlPlane
    views: RunViews
    retention: Retention
    keys: AccessKeys
    definitions: KeptDefinitions
    starting: Starting
    schedules: Schedules
    children: Children


def parts_of_runs(settings: Settings, connections: Connections) -> PartsOfRuns:
    """Return these objects for one process."""
    limit_children(children=settings.expression_children, memory=settings.expression_memory)
    replicas = settings.wait_replicas
    policy = RetentionPolicy(finalize_after_s=settings.finalize_after_s, keep_s=settings.retention_s)
    store, index = RunStore(connections, wait_replicas=replicas), RunIndex(connections)
    outbox, delivery_records = Outbox(connections), ToldRecords(connections)
    items = ItemFiles(roots=settings.items_dirs, max_bytes=settings.items_max_bytes)
    plane = ControlPlane(store, index, items)
    plane.limits = WorkLimiting(WorkLimits(connections))
    plane.admitting.admissions = AccountAdmissions(AccountStore(connections, wait_replicas=replicas))
    keys = AccessKeys(connections, wait_replicas=replicas, quotas=settings.quotas)
    definitions = KeptDefinitions(connections, wait_replicas=replicas)
    starting = Starting(plane.transactions, plane.follow_ups, definitions)
    return PartsOfRuns(
        run_store=store,
        run_index=index,
        outbox=outbox,
        told=delivery_records,
        history=History(connections),
        due=DueRuns(connections, policy),
        plane=plane,
        views=RunViews(plane, store, delivery_records),
        retention=Retention(plane, store, outbox, Deletion(connections), policy),
        keys=keys,
        definitions=definitions,
        starting=starting,
        schedules=Schedules(ScheduleStore(connections, wait_replicas=replicas), starting, keys),
        children=Children(plane, starting, outbox, keys.account_of),
    )
