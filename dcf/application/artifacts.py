"""Builds the store of the artifacts of runs, for one process, from its settings. It must not decide."""

from collections.abc import Mapping

from dcf.adapters.blobs import open_blob_store
from dcf.application.runs import PartsOfRuns
from dcf.features.artifacts.model import ArtifactLimits
from dcf.features.artifacts.operations import Artifacts
from dcf.features.artifacts.storage import ArtifactStore, blobs_of
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections
from dcf.values.json_text import Json


def artifacts_of(settings: Settings, connections: Connections, parts: PartsOfRuns) -> Artifacts:
    """Return the artifacts; deleting a run from now on also deletes its content outside Redis.

    With an embedded Redis, long content is kept in a directory of its data directory, unless a store is named.
    """
    where = settings.artifact_store
    if where is None and settings.redis_url is None:
        where = f"dir:{(settings.data_dir / 'artifacts').absolute()}"
    limits = ArtifactLimits(
        one=settings.artifact_max_bytes,
        run=settings.artifact_run_bytes,
        inline=settings.artifact_inline_bytes,
        has_store=where is not None,
    )
    store = ArtifactStore(connections, wait_replicas=settings.wait_replicas)
    artifacts = Artifacts(parts.plane, store, open_blob_store(where), limits)

    def forget(workflow_id: str, meta: Mapping[str, Json]) -> None:
        artifacts.forget_run(blobs_of(workflow_id, meta.get("created_at")))

    parts.retention.after_deletion(forget)
    return artifacts
