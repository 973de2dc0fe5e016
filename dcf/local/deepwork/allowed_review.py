"""The review command of a project for agents whose server is elsewhere: `dcf agents local --profile deepwork`.

The command of `.deepwork/config.yml` runs if a template of the person at this machine covers it, as for commands of
gates. Its verdict is given with the helper's key, which the agent does not have: no server takes an author's verdict
on its own output. The configuration of a directory is read once, so that an edit by an agent has no effect.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dcf.errors import InvalidArgument
from dcf.local.command_templates import Allowed
from dcf.local.deepwork.quality_gate import CONFIGURATION, QualityGate, configured_gate
from dcf.local.deepwork.reviews import Reviewing
from dcf.local.deepwork.tool_calls import ReviewCalls
from dcf.values.records import record

_OTHERS: Final = "Other agents or people review the outputs."
_MOST_DIRECTORIES: Final = 256


@record(frozen=True, slots=True)
class AllowedReview:
    """How outputs of a directory are reviewed here; None: not here, and `problem` says why, if the project wants it."""

    reviewing: Reviewing | None = None
    problem: str | None = None


@dataclass(slots=True)
class AllowedReviews:
    """The review commands of directories that a person allowed, with the calls that tell their verdicts."""

    allowed: Allowed
    calls: ReviewCalls | None
    _configured: dict[Path, QualityGate | str | None] = field(default_factory=dict)

    def of(self, root: Path) -> AllowedReview:
        """Return how outputs of this directory are reviewed."""
        gate = self._gate(root)
        if gate is None or isinstance(gate, str):
            return AllowedReview(problem=gate)
        command = " ".join(gate.words)[:200]
        if not self.allowed.covers(gate.words, root):
            text = f"No person allowed the review command '{command}' of {CONFIGURATION} here"
            return AllowedReview(problem=f"{text}: dcf agents local --allow-command. {_OTHERS}")
        if self.calls is None:
            text = f"The review command '{command}' needs a key for its verdicts: DCF_HELPER_KEY"
            return AllowedReview(problem=f"{text}, with the agent id quality-gate. {_OTHERS}")
        return AllowedReview(reviewing=Reviewing(gate=gate, calls=self.calls))

    def _gate(self, root: Path) -> QualityGate | str | None:
        """Return what the directory configured when it was first asked about, or what is wrong with it."""
        if root not in self._configured:
            if len(self._configured) >= _MOST_DIRECTORIES:
                return "This process serves too many directories to review the outputs of another one. Restart it."
            try:
                self._configured[root] = configured_gate(root, None)
            except InvalidArgument as error:
                self._configured[root] = f"{error.message} {error.hint} {_OTHERS}"
        return self._configured[root]
