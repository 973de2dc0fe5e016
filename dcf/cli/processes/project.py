"""The directory that `dcf serve --profile deepwork --path DIR` serves: in one process, for the user who started it.

The user is alone on this machine's loopback, as with the original: no API key is needed there unless one is asked for,
and a review may be passed over with a reason.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.errors import InvalidArgument
from dcf.local.commands import end_all
from dcf.local.deepwork.project_server import ProjectServer
from dcf.local.deepwork.quality_gate import QualityGate, configured_gate
from dcf.local.deepwork.reviews import Reviewing
from dcf.local.working_root import WorkingDirectory
from dcf.profiles.deepwork.jobs import QUALITY_GATE
from dcf.settings.process import Settings
from dcf.tools.mcp.profile_calls import NativeTools
from dcf.tools.mcp.server import Additions
from dcf.values.records import record
from dcf.verbs.limits import meter_of

_GRANTS: Final = frozenset({Scope.OVERRIDE})
"""Scopes that the local user has for its own directory, beyond those of every local user."""


@record(frozen=True, slots=True)
class ServedProject:
    """The directory of a project, and the command that reviews its outputs; None: without reviews."""

    root: Path
    gate: QualityGate | None

    def additions(self, application: Application) -> Additions:
        """Return what is added to the server: it does for each call what needs the disk."""
        judge = Caller(name=QUALITY_GATE, scopes=frozenset({Scope.READ, Scope.WORK}), local=True)
        calls = NativeTools(application=application, caller=judge, meter=meter_of(application.settings))
        place = WorkingDirectory(self.root, self.root)
        locks = application.settings.data_dir / "deepwork"
        served = ProjectServer(place, Reviewing(gate=self.gate, calls=calls), locks)
        return Additions(before=[served], grants=_GRANTS, connected=served.connected)

    def settings(self, settings: Settings) -> Settings:
        """Return the settings, without API keys unless the user asks for them."""
        return settings if "auth" in settings.model_fields_set else settings.model_copy(update={"auth": "off"})

    def end(self, then: Callable[[], object]) -> None:
        """End the commands that review outputs, and call `then`."""
        end_all(then)

    @property
    def line(self) -> str:
        """Say for people which directory is served, and who reviews."""
        if self.gate is None:
            return f"{self.root}; no command reviews outputs (quality_gate.agent_review_command, --quality-gate)"
        command = " ".join(self.gate.words)
        return f"{self.root}; outputs are reviewed by '{command}' within {self.gate.timeout_s:g} s"


def served_project(path: Path | None, command: str | None, *, here: bool) -> ServedProject | None:
    """Return the project of a server of the profile; `here`: without a path it is that of the current directory.

    Raise InvalidArgument for a command without a project, and for a path that is no directory.
    """
    if path is None and not here:
        if command is not None:
            raise InvalidArgument("--quality-gate is about the project of --path.", "Add --path DIR.")
        return None
    root = (path or Path.cwd()).resolve()
    if not root.is_dir() or root == Path(root.anchor):
        raise InvalidArgument(f"--path names no directory of a project: {root}.", "Name the directory of the project.")
    return ServedProject(root, configured_gate(root, command))
