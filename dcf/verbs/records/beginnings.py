"""The answers of verbs that begin, continue or close runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionName:
    """The workflow of a run: its name, its version if it has one, and the hash of the document."""

    name: str
    version: str | None = None
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run that `start` or `rerun` began; `existed`: it was there before this call.

    `defaulted` is what the call left open, and what was taken instead.
    """

    workflow_id: str
    run_status: RunStatusName
    existed: bool = False
    definition: DefinitionName | None = None
    warnings: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriedRun:
    """The `states` that continue, and the retries of the run. `repeated`: it is the first answer to the request."""

    workflow_id: str
    run_status: RunStatusName
    retried: int = 0
    states: tuple[str, ...] = ()
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedControlPlane:
    """The keys of the run and its meta document. `started` is false until the run is started.

    `defaulted`: what was left open, and what was taken instead.
    """

    workflow_id: str
    run_status: RunStatusName
    started: bool = False
    created_keys: tuple[str, ...] = ()
    existing_keys: tuple[str, ...] = ()
    meta_sample: Mapping[str, Json] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizedRun:
    """How a run that is closed ended. `audit` is the stored record; `agents` are those that were deleted with it."""

    workflow_id: str
    summary: Mapping[str, Json] = field(default_factory=dict)
    audit: Mapping[str, Json] = field(default_factory=dict)
    agents: tuple[Mapping[str, Json], ...] = ()
    warnings: tuple[str, ...] = ()
    hint: str | None = None
