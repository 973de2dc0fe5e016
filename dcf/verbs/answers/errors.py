"""Words the note of an answer about the name of a failure: that its Task has a list of errors without this name."""

from dcf.application.application import Application
from dcf.core.definitions.outputs import unlisted
from dcf.verbs.registry import printable


def note_on(app: Application, workflow_id: str, state: str, error: str) -> str | None:
    """Return what is to be said about the name of a failure that was taken; None if nothing is."""
    unlisted_error = unlisted(app.control_plane.transactions.run(workflow_id).definition, state, error)
    return None if unlisted_error is None else printable(unlisted_error)
