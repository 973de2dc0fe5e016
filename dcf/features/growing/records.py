"""The answers of the verbs on open runs. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName

ClosedStatusName: TypeAlias = Literal["succeeded", "failed", "partial", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """A run that grows. `existed`: it was there before this call."""

    workflow_id: str
    run_status: RunStatusName
    existed: bool
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedUnits:
    """The units that are new, those that were there, those that can be taken, and how many the run has.

    `work` has those that were claimed: state, lease token, input, instructions.
    """

    workflow_id: str
    added: tuple[str, ...]
    existing: tuple[str, ...]
    ready: tuple[str, ...]
    units: int
    work: tuple[Mapping[str, Json], ...] = ()
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedGroup:
    """A group, or a run (`group` None), that takes no more units; `open` have not ended well.

    `next_states` can be taken now. `sealed` is false if it was sealed before.
    """

    workflow_id: str
    sealed: bool
    open: int
    run_status: RunStatusName
    group: str | None = None
    next_states: tuple[str, ...] = ()
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenedUnit:
    """A unit that can be taken again; `rewound` were taken back with it."""

    workflow_id: str
    unit: str
    unit_status: str | None = None
    retries: int | None = None
    ready: bool | None = None
    rewound: tuple[str, ...] = ()
    rewound_count: int | None = None
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedRun:
    """An ended run: the number of its units, and how many had not ended well (`left`)."""

    workflow_id: str
    run_status: RunStatusName
    units: int | None = None
    left: int | None = None
    repeated: bool = False
    hint: str | None = None
