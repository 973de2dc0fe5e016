"""Builds the objects that make the agents of runs and tell them what to do, from the settings. It must not decide."""

from dcf.adapters.platforms import Platforms
from dcf.data import find_directory, find_file
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.reading import RunViews
from dcf.settings.process import Settings
from dcf.skills.library import Library
from dcf.skills.manifest import SCHEMA_NAME
from dcf.skills.policy import Policy
from dcf.skills.servers import Registry
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import Documents
from dcf.store.lists.agents import AgentRecords
from dcf.store.lists.assignments import AssignmentIndex
from dcf.store.transaction.runs import RunStore
from dcf.values.records import record
from dcf.workflows.validation.schema import configured_schema
from dcf.workflows.validation.schema_files import read_schema
from dcf.workforce.assignment import Desk
from dcf.workforce.crew.roster_documents import RosterDocuments
from dcf.workforce.crew.workers import Workers
from dcf.workforce.skills.equipment import Equipment, Limits
from dcf.workforce.skills.holdings_documents import HoldingsDocuments


@record(frozen=True, slots=True, kw_only=True)
class Workforce:
    """What makes the agents of runs, and tells them what to do."""

    workers: Workers
    equipment: Equipment
    desk: Desk
    library: Library


def workforce(
    settings: Settings,
    platforms: Platforms,
    connections: Connections,
    plane: ControlPlane,
    views: RunViews,
    run_store: RunStore,
) -> Workforce:
    """Return these objects for one process."""
    documents = Documents(connections, wait_replicas=settings.wait_replicas)
    assignments, library = AssignmentIndex(connections), _library(settings)
    equipment = _equipment(settings, platforms, documents)
    return Workforce(
        workers=Workers(platforms, RosterDocuments(documents), run_store, assignments, equipment),
        equipment=equipment,
        desk=Desk(views, plane, assignments, equipment, AgentRecords(connections), library),
        library=library,
    )


def _library(settings: Settings) -> Library:
    schema = configured_schema(settings.skill_schema, settings.schemas_dir, SCHEMA_NAME)
    directory = find_directory(settings.manifests_dir)
    return Library(directory=directory, schema=None if schema is None else read_schema(schema))


def _equipment(settings: Settings, platforms: Platforms, documents: Documents) -> Equipment:
    """Return the object that loads skills into a platform's agents, with the rules of the settings."""
    policy = Policy(
        egress=settings.skill_egress,
        secrets=frozenset(settings.skill_secrets),
        risk=settings.skill_risk,
        mcp=settings.allow_mcp_skills,
        python_source=settings.allow_python_source_skills,
        endpoints=settings.skill_endpoints,
    )
    registry = Registry(path=find_file(settings.skill_registry) or settings.skill_registry)
    limits = Limits(max_chars=settings.skill_max_text_chars, max_pieces=settings.skill_max_pieces)
    return Equipment(platforms, HoldingsDocuments(documents), policy, registry, limits, settings.skill_state_label)
