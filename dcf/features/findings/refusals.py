"""The kinds of refusals about findings and definitions of the catalogue."""

from typing import Final

from dcf.values.refusal import Refusal

FINDING_EXISTS: Final = Refusal.kind(
    "finding_exists",
    "The key stands for finding '{finding_id}', which says something else.",
    "Choose another key, or change that finding with `update_finding`.",
)
TOO_MANY_FINDINGS: Final = Refusal.kind(
    "too_many_findings",
    "There are {most} findings, and no more are kept.",
    "Update a finding that says nearly the same; an operator may delete old ones with `delete_finding`.",
)
NEEDS_SUPERSEDING: Final = Refusal.kind(
    "not_superseded",
    "A superseded finding names the one that supersedes it, and no other does.",
    "Send status superseded together with `superseded_by`, or neither.",
)
SUPERSEDED_BY_ITSELF: Final = Refusal.kind(
    "not_superseded",
    "Finding '{finding_id}' would supersede itself, directly or by others.",
    "Name a finding that is still active as `superseded_by`.",
)
SUPERSEDING_UNKNOWN: Final = Refusal.kind(
    "not_superseded",
    "There is no finding '{finding_id}' that could supersede it.",
    "Add the better finding first, and send its `finding_id` as `superseded_by`.",
)
VERSION_EXISTS: Final = Refusal.kind(
    "version_exists",
    "Version '{version}' of '{name}' says something else.",
    "Send another version, or leave it out: then the next number is taken.",
)
CATALOGUE_FULL: Final = Refusal.kind(
    "catalogue_full",
    "The catalogue has {most} definitions and older versions, and no more are kept.",
    "An operator may delete some with `delete_definition`.",
)
KEPT_ELSEWHERE: Final = Refusal.kind(
    "kept_elsewhere",
    "Skills are made from the server's files; the catalogue only shows them.",
    "Write its source and generate it: `dcf skills generate`.",
)
