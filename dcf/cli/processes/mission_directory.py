"""The directory for which `dcf serve --profile mission-control` runs over stdio, as the client's own process.

The server is on the agent's machine then. So it does itself what `dcf agents local` does for a server elsewhere.
"""

from collections.abc import Callable
from pathlib import Path

from dcf.application.application import Application
from dcf.authoring.mission_files import FOLDER, workflow_names
from dcf.local.mission_server import MissionServer
from dcf.local.working_root import WorkingDirectory
from dcf.settings.process import Settings
from dcf.tools.mcp.server import Additions
from dcf.values.records import record


@record(frozen=True, slots=True)
class MissionDirectory:
    """The directory of a project that has workflows of Mission Control."""

    root: Path

    def additions(self, _: Application) -> Additions:
        """Return what is added to the server: it does for each call what needs the disk."""
        return Additions(before=[MissionServer(WorkingDirectory(self.root))])

    def settings(self, settings: Settings) -> Settings:
        """Return the settings as they are."""
        return settings

    def end(self, then: Callable[[], object]) -> None:
        """Call `then`: nothing else runs here."""
        then()

    @property
    def line(self) -> str:
        """Say for people which workflows the directory has."""
        names = ", ".join(workflow_names(self.root))
        return f"{self.root}; workflows in {FOLDER}: {names or 'none'}"
