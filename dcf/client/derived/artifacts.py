"""Methods of the clients for the verbs of the toolset artifacts. Derived from their descriptions."""

from dcf.client.calls import call_pages
from dcf.client.exchange import Stream
from dcf.features.artifacts.records import KeptArtifact


def list_artifacts(workflow_id: str) -> Stream[KeptArtifact]:
    """List a run's artifacts, oldest first, without their content. Pages are read as they are needed."""
    return call_pages(KeptArtifact, "list_artifacts", "artifacts", limit=100, workflow_id=workflow_id)
