"""The further records of a run, as exports show them: usage, journal, artifacts. It must not write.

Each part follows its place, from which an export continues after it.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping

from dcf.core.documents.usage_sums import run_sums_shown, sums_shown
from dcf.features.artifacts.model import Artifact
from dcf.features.artifacts.operations import Artifacts
from dcf.features.export.form import LONGEST_CONTENT
from dcf.features.journal.operations import Journal
from dcf.features.journal.query import JournalQuery, check_cursor
from dcf.features.usage.operations import Usages
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal

_PAGE = 100


@record(frozen=True, slots=True, kw_only=True)
class ExportedRecords:
    """Reads them."""

    usages: Usages
    journal: Journal
    artifacts: Artifacts

    def usage(self, workflow_id: str) -> dict[str, Json] | None:
        """Return what the run used up, by agent and model too; None if nothing was reported and it has no budget."""
        run = self.usages.of_run(workflow_id)
        if not run.total and run.budget is None:
            return None
        return {
            "total": run_sums_shown(run.total),
            "agents": {name: sums_shown(sums) for name, sums in run.agents.items()},
            "models": {name: sums_shown(sums) for name, sums in run.models.items()},
            "budget": None if run.budget is None else run.budget.as_json(),
        }

    def usage_of_states(self, workflow_id: str) -> Mapping[str, Json]:
        """Return what each state used up, where something was reported."""
        return {path: sums_shown(sums) for path, sums in self.usages.of_run(workflow_id).states.items()}

    def entries(self, workflow_id: str, after: str | None) -> Iterator[tuple[str, Json]]:
        """Yield the entries of the journal, the oldest first."""
        query = JournalQuery(limit=_PAGE, oldest_first=True, cursor=check_cursor(after))
        for entry in self.journal.each_entry(workflow_id, query):
            yield entry.place, entry.as_json()

    def kept(self, workflow_id: str, after: str | None) -> Iterator[tuple[str, Json]]:
        """Yield the artifacts, the oldest first, with the content of those that are short."""
        cursor = after
        while True:
            page = self.artifacts.page(workflow_id, cursor, _PAGE)
            for artifact in page.artifacts:
                shown = artifact.as_json() | self._content(workflow_id, artifact)
                yield f"{artifact.created_at}:{artifact.artifact_id}", shown
            cursor = page.next_cursor
            if cursor is None:
                return

    def _content(self, workflow_id: str, artifact: Artifact) -> dict[str, Json]:
        """Return the content of an artifact, or why it is left out."""
        if not artifact.is_inline:
            return {"content_left_out": "It is kept outside Redis: `get_artifact` reads it."}
        if artifact.size > LONGEST_CONTENT:
            return {"content_left_out": f"It has more than {LONGEST_CONTENT} bytes: `get_artifact` reads it."}
        content = self.artifacts.read(workflow_id, artifact.artifact_id, 0, None)
        if isinstance(content, Refusal):
            return {"content_left_out": content.message}
        try:
            return {"content": content.data.decode(), "encoding": "text"}
        except UnicodeDecodeError:
            return {"content": b64encode(content.data).decode(), "encoding": "base64"}
