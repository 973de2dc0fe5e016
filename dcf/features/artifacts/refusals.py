"""The kinds of refusals about artifacts."""

from typing import Final

from dcf.values.refusal import Refusal

UNKNOWN_ARTIFACT: Final = Refusal.kind(
    "unknown_artifact",
    "The run has no artifact '{artifact_id}'.",
    "`list_artifacts` shows its artifacts, and which are still being uploaded.",
)
OTHER_CONTENT: Final = Refusal.kind(
    "conflict",
    "Artifact '{artifact_id}' is there with other content, name or type; an artifact never changes.",
    "Put it under another `artifact_id`, or without one: then the id follows from name and content.",
)
OTHER_UPLOAD: Final = Refusal.kind(
    "conflict",
    "Another upload of artifact '{artifact_id}' is under way, with another part of this number.",
    "Use another `artifact_id`, or wait: an abandoned upload is dropped after a day.",
)
SHA256_DIFFERS: Final = Refusal.kind(
    "sha256_differs",
    "The content has the SHA-256 {result}, and not {expected}.",
    "Send the content again, whole or in the same parts; nothing was kept.",
)
DAMAGED: Final = Refusal.kind(
    "damaged",
    "The stored content of artifact '{artifact_id}' is damaged or missing.",
    "Restore the artifact store from a backup, or put the content under another id.",
)
TOO_MANY_ARTIFACTS: Final = Refusal.kind(
    "too_many",
    "The run has {limit} artifacts, as many as it may.",
    "Put several files into one artifact, such as an archive.",
)
TOO_LARGE_FOR_RUN: Final = Refusal.kind(
    "too_large",
    "The artifacts of the run have {used} of {limit} bytes; {size} more do not fit.",
    "Put less, or ask the operator for more (DCF_ARTIFACT_RUN_BYTES).",
)
TOO_LARGE_FOR_ONE: Final = Refusal.kind(
    "too_large",
    "An artifact has at most {limit} bytes, and this one would have {size} or more.",
    "Split it into several artifacts, or ask the operator for more (DCF_ARTIFACT_MAX_BYTES).",
)
NO_STORE: Final = Refusal.kind(
    "no_artifact_store",
    "Content of {size} bytes is too long for Redis ({limit}), and this server has no artifact store.",
    "Ask the operator to set DCF_ARTIFACT_STORE to a directory or a bucket.",
)
RUN_TAKES_NONE: Final = Refusal.kind(
    "run_over",
    "The run is {status}: it no longer takes artifacts.",
    "Put artifacts before the run is finalized, or into a new run.",
)
NO_PART_IN_RUN: Final = Refusal.kind(
    "owner_mismatch",
    "Agent '{agent_id}' is assigned to no state of this run, and is not its planner.",
    "Leave it to the run's agents, or use a key with the scope 'operate'.",
)
