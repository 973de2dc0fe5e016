"""The refusals about artifacts.

unknown_artifact     the run has no artifact of this id
conflict             other content is kept, or being uploaded, under this id
sha256_differs       the bytes are not those that the caller meant to send
damaged              the bytes that are kept are not those that were put
too_many             the run has as many artifacts as it may
too_large            the artifacts of the run have as many bytes as they may
run_over             the run was finalized, or is being deleted
owner_mismatch       the agent has no part in the run
no_artifact_store    the content is too long for Redis, and the server has no store for it
quota_exceeded       the caller's key holds as many bytes of artifacts as it may
"""

from dcf.values.refusal import Refusal


def unknown_artifact(artifact_id: str) -> Refusal:
    """Refuse because the run has no such artifact, or it is not whole yet."""
    return Refusal(
        code="unknown_artifact",
        message=f"The run has no artifact '{artifact_id}'.",
        hint="`list_artifacts` shows its artifacts, and which are still being uploaded.",
    )


def other_content(artifact_id: str) -> Refusal:
    """Refuse because an artifact never changes."""
    return Refusal(
        code="conflict",
        message=f"Artifact '{artifact_id}' is there with other content, name or type; an artifact never changes.",
        hint="Put it under another `artifact_id`, or without one: then the id follows from name and content.",
    )


def other_upload(artifact_id: str) -> Refusal:
    """Refuse a part that does not belong to the upload that is under way."""
    return Refusal(
        code="conflict",
        message=f"Another upload of artifact '{artifact_id}' is under way, with another part of this number.",
        hint="Use another `artifact_id`, or wait: an abandoned upload is dropped after a day.",
    )


def sha256_differs(expected: str, result: str) -> Refusal:
    """Refuse bytes that are not what the caller said."""
    return Refusal(
        code="sha256_differs",
        message=f"The content has the SHA-256 {result}, and not {expected}.",
        hint="Send the content again, whole or in the same parts; nothing was kept.",
    )


def damaged(artifact_id: str) -> Refusal:
    """Refuse to hand out bytes that are not those that were put."""
    return Refusal(
        code="damaged",
        message=f"The stored content of artifact '{artifact_id}' is damaged or missing.",
        hint="Restore the artifact store from a backup, or put the content under another id.",
    )


def too_many_artifacts(limit: int) -> Refusal:
    """Refuse one artifact too many of a run."""
    return Refusal(
        code="too_many",
        message=f"The run has {limit} artifacts, as many as it may.",
        hint="Put several files into one artifact, such as an archive.",
    )


def too_large_for_run(used: int, size: int, limit: int) -> Refusal:
    """Refuse bytes beyond what the artifacts of a run may have."""
    return Refusal(
        code="too_large",
        message=f"The artifacts of the run have {used} of {limit} bytes; {size} more do not fit.",
        hint="Put less, or ask the operator for more (DCF_ARTIFACT_RUN_BYTES).",
    )


def too_large_for_one(size: int, limit: int) -> Refusal:
    """Refuse an artifact that is too long."""
    return Refusal(
        code="too_large",
        message=f"An artifact has at most {limit} bytes, and this one would have {size} or more.",
        hint="Split it into several artifacts, or ask the operator for more (DCF_ARTIFACT_MAX_BYTES).",
    )


def no_store(size: int, limit: int) -> Refusal:
    """Refuse content that is too long for Redis where there is nothing else to keep it in."""
    return Refusal(
        code="no_artifact_store",
        message=f"Content of {size} bytes is too long for Redis ({limit}), and this server has no artifact store.",
        hint="Ask the operator to set DCF_ARTIFACT_STORE to a directory or a bucket.",
    )


def run_takes_none(status: str) -> Refusal:
    """Refuse because nothing is added to a run that is closed."""
    return Refusal(
        code="run_over",
        message=f"The run is {status}: it no longer takes artifacts.",
        hint="Put artifacts before the run is finalized, or into a new run.",
    )


def no_part_in_run(agent_id: str) -> Refusal:
    """Refuse an agent that does not work in the run."""
    return Refusal(
        code="owner_mismatch",
        message=f"Agent '{agent_id}' is assigned to no state of this run, and is not its planner.",
        hint="Leave it to the run's agents, or use a key with the scope 'operate'.",
    )
