"""Refusals about files of projects, with their codes.

too_many_pieces     too_many_pieces       no more are kept
"""

from dcf.values.refusal import Refusal


def too_many_pieces(most: int) -> Refusal:
    """Refuse to index a file where no more are kept."""
    return Refusal(
        code="too_many_pieces",
        message=f"The files of all projects have {most} pieces, and no more are kept.",
        hint="Index fewer directories: `dcf projects index PROJECT --only GLOB`.",
    )
