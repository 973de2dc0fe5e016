"""Makes a finding of an issue of a run's journal: what the trouble was, and how it was resolved, if it was. Pure."""

from dcf.features.findings.changing import NewFinding
from dcf.features.findings.model import LONGEST_TEXT, LONGEST_TITLE, Severity
from dcf.features.journal.model import JournalEntry
from dcf.values.records import record
from dcf.values.text_pieces import clip


@record(frozen=True, slots=True, kw_only=True)
class Promotion:
    """Request to promote an issue: what the finding is to say beyond it. None takes it from the issue."""

    author: str
    severity: Severity = Severity.MEDIUM
    category: str = "issue"
    title: str | None = None
    text: str | None = None
    tags: tuple[str, ...] = ()


def promoted(workflow_id: str, issue: JournalEntry, project: str | None, wish: Promotion) -> NewFinding:
    """Return the finding that an issue becomes; each issue becomes one, known by its run and id."""
    done = "" if issue.resolution is None else f"\n\nResolved by {issue.resolution.by}: {issue.resolution.how}"
    return NewFinding(
        severity=wish.severity,
        category=wish.category,
        title=wish.title or clip(" ".join(issue.text.split()), LONGEST_TITLE - 1),
        text=wish.text or (issue.text + done)[:LONGEST_TEXT],
        author=wish.author,
        tags=wish.tags,
        project=project,
        run=workflow_id,
        state=issue.state,
        issue=issue.entry_id,
        key=f"issue {issue.entry_id}",
    )
