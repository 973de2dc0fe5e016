"""What is answered to a line in the history of a run. Loads the standard library only, since clients read it too."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLine:
    """Whether the line was recorded, and how many more may follow under this lease."""

    workflow_id: str
    state: str
    lines_left: int
    repeated: bool = False
