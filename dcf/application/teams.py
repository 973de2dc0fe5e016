"""Builds the parts with which agents work in teams, apart from the states of runs. It must not decide."""

from typing import TypedDict

from dcf.application.runs import PartsOfRuns
from dcf.features.catalogue.operations import DefinitionCatalogue
from dcf.features.findings.operations import Knowledge
from dcf.features.gates.operations import Gates
from dcf.features.gates.storage import GateLists
from dcf.features.journal.operations import Journal
from dcf.features.journal.storage import JournalReader
from dcf.features.projects.operations import Projects
from dcf.features.projects.storage import ProjectStore
from dcf.features.search.storage import RunTexts
from dcf.settings.process import Settings
from dcf.skills.library import Library
from dcf.store.connection.connections import Connections


class PartsOfTeams(TypedDict):
    """The parts of an application with which agents work together, apart from the states of runs."""

    gates: Gates
    journal: Journal
    projects: Projects
    knowledge: Knowledge
    catalogue: DefinitionCatalogue


def parts_of_teams(settings: Settings, connections: Connections, parts: PartsOfRuns, library: Library) -> PartsOfTeams:
    """Build these parts."""
    return {
        "gates": Gates(parts.plane, GateLists(connections)),
        "journal": Journal(parts.plane, JournalReader(connections), RunTexts(connections)),
        "projects": Projects(ProjectStore(connections)),
        "knowledge": Knowledge(connections, wait_replicas=settings.wait_replicas),
        "catalogue": _catalogue(settings, connections, parts, library),
    }


def _catalogue(
    settings: Settings, connections: Connections, parts: PartsOfRuns, skills: Library
) -> DefinitionCatalogue:
    """Return the catalogue; from now on it lists the workflows that runs are started from."""
    catalogue = DefinitionCatalogue(connections, parts.definitions, skills, wait_replicas=settings.wait_replicas)
    parts.definitions.after_keeping(catalogue.list_kept)
    return catalogue
