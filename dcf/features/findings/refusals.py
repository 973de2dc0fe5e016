"""Refusals about findings and definitions of the catalogue, with their codes.

finding_exists      finding_exists        the key stands for a finding that says something else
too_many_findings   too_many_findings     no more are kept
not_superseded      needs_superseding, superseded_by_itself, superseding_unknown  by which one it is superseded
"""

from dcf.values.refusal import Refusal


def finding_exists(finding_id: str) -> Refusal:
    """Refuse to add a finding under a key that stands for another one."""
    return Refusal(
        code="finding_exists",
        message=f"The key stands for finding '{finding_id}', which says something else.",
        hint="Choose another key, or change that finding with `update_finding`.",
    )


def too_many_findings(most: int) -> Refusal:
    """Refuse to add a finding where no more are kept."""
    return Refusal(
        code="too_many_findings",
        message=f"There are {most} findings, and no more are kept.",
        hint="Update a finding that says nearly the same; an operator may delete old ones with `delete_finding`.",
    )


def needs_superseding() -> Refusal:
    """Refuse a status that does not fit with superseded_by."""
    return Refusal(
        code="not_superseded",
        message="A superseded finding names the one that supersedes it, and no other does.",
        hint="Send status superseded together with `superseded_by`, or neither.",
    )


def superseded_by_itself(finding_id: str) -> Refusal:
    """Refuse to close a circle of findings that supersede each other."""
    return Refusal(
        code="not_superseded",
        message=f"Finding '{finding_id}' would supersede itself, directly or by others.",
        hint="Name a finding that is still active as `superseded_by`.",
    )


def superseding_unknown(finding_id: str) -> Refusal:
    """Refuse a finding that is not there as the one that supersedes."""
    return Refusal(
        code="not_superseded",
        message=f"There is no finding '{finding_id}' that could supersede it.",
        hint="Add the better finding first, and send its `finding_id` as `superseded_by`.",
    )


def version_exists(name: str, version: str) -> Refusal:
    """Refuse to give the label of a version to other content."""
    return Refusal(
        code="version_exists",
        message=f"Version '{version}' of '{name}' says something else.",
        hint="Send another version, or leave it out: then the next number is taken.",
    )


def catalogue_full(most: int) -> Refusal:
    """Refuse to keep one more definition."""
    return Refusal(
        code="catalogue_full",
        message=f"The catalogue has {most} definitions and older versions, and no more are kept.",
        hint="An operator may delete some with `delete_definition`.",
    )


def kept_elsewhere() -> Refusal:
    """Refuse to put a skill into the catalogue."""
    return Refusal(
        code="kept_elsewhere",
        message="Skills are made from the server's files; the catalogue only shows them.",
        hint="Write its source and generate it: `dcf skills generate`.",
    )
