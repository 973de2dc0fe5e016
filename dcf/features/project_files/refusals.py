"""The kinds of refusals about files of projects."""

from typing import Final

from dcf.values.refusal import Refusal

TOO_MANY_PIECES: Final = Refusal.kind(
    "too_many_pieces",
    "The files of all projects have {most} pieces, and no more are kept.",
    "Index fewer directories: `dcf projects index PROJECT --only GLOB`.",
)
