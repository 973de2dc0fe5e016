"""What a client's methods return about runs that grow: frozen records, as in `records.py`."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.client.records import RunStatusName
from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """A run that grows. `existed`: it was there before this call."""

    workflow_id: str
    run_status: RunStatusName
    existed: bool


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedGroup:
    """A group, or a run (`group` None), to which nothing is added any more; `open` have not ended well."""

    workflow_id: str
    sealed: bool
    open: int
    run_status: RunStatusName
    group: str | None = None
    next_states: tuple[str, ...] = ()
    repeated: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedRun:
    """A run that is over, with how many units it has, and how many of them had not ended well."""

    workflow_id: str
    run_status: RunStatusName
    units: int | None = None
    left: int | None = None
    repeated: bool = False
