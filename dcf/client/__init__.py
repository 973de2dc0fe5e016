"""The Python client: every verb of dcf as a method with typed answers, over a server or directly on Redis.

`dcf.connect` and `dcf.connect_async` open one, and docs/reference/python.md describes it. Derived from the descriptions
of the verbs by `make verbs`; do not edit. Each name is imported on first use: no program needs all records.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dcf.client.arguments import Agents, Askees, JsonObject, Moment, Span, Workflow
    from dcf.client.claims import AsyncClaim, Claim
    from dcf.client.clients import AsyncClient, Client
    from dcf.client.connecting import connect, connect_async
    from dcf.client.records import ParentState, RunDetails, StateDetails, WaitingSignal
    from dcf.client.serving import Serving
    from dcf.features.accounts.records import (
        AccountStatus,
        AssignedAccount,
        ClosedAccount,
        LimitKindName,
        ListedAccounts,
        OpenedAccount,
        PutPrices,
        ReportedTurn,
        ReservedTurn,
        ShownAccount,
        StatedBills,
    )
    from dcf.features.agent_context.records import AgentContext
    from dcf.features.artifacts.records import (
        ArtifactContent,
        ArtifactUpload,
        ContentEncodingName,
        KeptArtifact,
        ListedArtifacts,
        PutArtifact,
        ReadArtifact,
    )
    from dcf.features.catalogue.records import (
        ComplexityName,
        DefinitionDetails,
        DefinitionKindName,
        DeletedDefinition,
        DetailName,
        FoundDefinitions,
        ShownDefinition,
    )
    from dcf.features.diagnosis.records import (
        ExplainedCause,
        ExplainedRun,
        RunEvent,
        RunEvents,
        RunExport,
        SuggestedRemedy,
    )
    from dcf.features.documents.records import ChangedDocument, ReadDocument
    from dcf.features.external.records import EndedTask, LivingTask, SentSignal
    from dcf.features.findings.records import (
        DeletedFinding,
        FindingDetails,
        FindingEdit,
        FindingStatusName,
        FoundFindings,
        PromotedIssue,
        SeverityName,
        ShownFinding,
    )
    from dcf.features.gates.records import DecidedGate, VerdictName, WaitingGate, WaitingGates
    from dcf.features.growing.records import (
        AddedUnits,
        ClosedRun,
        ClosedStatusName,
        OpenedRun,
        ReopenedUnit,
        SealedGroup,
    )
    from dcf.features.health.records import HealthCheck, HealthLevelName, ReadHealth
    from dcf.features.journal.records import (
        AddedEntry,
        BlockingIssue,
        EntryKindName,
        IssueResolution,
        ReadEntry,
        ReadJournal,
        ResolvedIssue,
    )
    from dcf.features.people.records import AnsweredTask, ListedTask, ListedTasks
    from dcf.features.projects.records import (
        DeletedProject,
        ListedProject,
        ListedProjects,
        MadeProject,
        ProjectDetails,
        ProjectOverview,
        ProjectPath,
        ReadProject,
    )
    from dcf.features.questions.records import AnsweredQuestion, AskedQuestion, CorrectedResult, LeftNote
    from dcf.features.retention.records import DeletedRun, HeldRun
    from dcf.features.schedules.records import (
        CatchUpName,
        CreatedSchedule,
        DeletedSchedule,
        ListedSchedules,
        OperatedSchedule,
        OverlapName,
        ScheduleActionName,
        ScheduleDetails,
        TickOutcome,
        TroubledSchedule,
    )
    from dcf.features.search.records import SearchedAll, SearchedOne, SearchedType
    from dcf.features.task_log.records import WrittenLine
    from dcf.features.usage.records import GivenBudget, ReadSums, UsageSums
    from dcf.features.webhooks.records import AgentPlatformName, NewKeyName, RegisteredAgent, RegisteredAgents
    from dcf.features.work.records import ClaimedWork, FoundWork, ListedWork, WorkStatusName
    from dcf.verbs.records.agents import CreatedWorkers, DeletedAgent, RemovedLimits, ResolvedAgent
    from dcf.verbs.records.assignment import MyAssignment
    from dcf.verbs.records.authoring import WrittenManifests, WrittenStubConfig
    from dcf.verbs.records.beginnings import CreatedControlPlane, DefinitionName, FinalizedRun, RetriedRun, StartedRun
    from dcf.verbs.records.execution import CompletedState, CompletedStates, ReadControlPlane, UpdatedState
    from dcf.verbs.records.files import (
        DeletedPath,
        EncodingName,
        ListedDirectory,
        ListedPath,
        MadeDirectory,
        MovedPath,
        ReadFile,
        WrittenFile,
    )
    from dcf.verbs.records.language import DescribedLanguage
    from dcf.verbs.records.leases import AcquiredLease, ClaimedState, ReleasedState, RenewedLease
    from dcf.verbs.records.notification import AwaitedEvent, NotifiedAgent, NotifiedAgents, NotifiedIfReady, RoleName
    from dcf.verbs.records.runs import ListedRun, ListedRuns, OperatedRun, ResolvedState, RunStatusName, StateStatusName
    from dcf.verbs.records.skills import ListedSkills, LoadedSkill, UnloadedSkill, ValidatedManifest
    from dcf.verbs.records.validation import ValidatedWorkflow

__all__ = [
    "AccountStatus",
    "AcquiredLease",
    "AddedEntry",
    "AddedUnits",
    "AgentContext",
    "AgentPlatformName",
    "Agents",
    "AnsweredQuestion",
    "AnsweredTask",
    "ArtifactContent",
    "ArtifactUpload",
    "AskedQuestion",
    "Askees",
    "AssignedAccount",
    "AsyncClaim",
    "AsyncClient",
    "AwaitedEvent",
    "BlockingIssue",
    "CatchUpName",
    "ChangedDocument",
    "Claim",
    "ClaimedState",
    "ClaimedWork",
    "Client",
    "ClosedAccount",
    "ClosedRun",
    "ClosedStatusName",
    "CompletedState",
    "CompletedStates",
    "ComplexityName",
    "ContentEncodingName",
    "CorrectedResult",
    "CreatedControlPlane",
    "CreatedSchedule",
    "CreatedWorkers",
    "DecidedGate",
    "DefinitionDetails",
    "DefinitionKindName",
    "DefinitionName",
    "DeletedAgent",
    "DeletedDefinition",
    "DeletedFinding",
    "DeletedPath",
    "DeletedProject",
    "DeletedRun",
    "DeletedSchedule",
    "DescribedLanguage",
    "DetailName",
    "EncodingName",
    "EndedTask",
    "EntryKindName",
    "ExplainedCause",
    "ExplainedRun",
    "FinalizedRun",
    "FindingDetails",
    "FindingEdit",
    "FindingStatusName",
    "FoundDefinitions",
    "FoundFindings",
    "FoundWork",
    "GivenBudget",
    "HealthCheck",
    "HealthLevelName",
    "HeldRun",
    "IssueResolution",
    "JsonObject",
    "KeptArtifact",
    "LeftNote",
    "LimitKindName",
    "ListedAccounts",
    "ListedArtifacts",
    "ListedDirectory",
    "ListedPath",
    "ListedProject",
    "ListedProjects",
    "ListedRun",
    "ListedRuns",
    "ListedSchedules",
    "ListedSkills",
    "ListedTask",
    "ListedTasks",
    "ListedWork",
    "LivingTask",
    "LoadedSkill",
    "MadeDirectory",
    "MadeProject",
    "Moment",
    "MovedPath",
    "MyAssignment",
    "NewKeyName",
    "NotifiedAgent",
    "NotifiedAgents",
    "NotifiedIfReady",
    "OpenedAccount",
    "OpenedRun",
    "OperatedRun",
    "OperatedSchedule",
    "OverlapName",
    "ParentState",
    "ProjectDetails",
    "ProjectOverview",
    "ProjectPath",
    "PromotedIssue",
    "PutArtifact",
    "PutPrices",
    "ReadArtifact",
    "ReadControlPlane",
    "ReadDocument",
    "ReadEntry",
    "ReadFile",
    "ReadHealth",
    "ReadJournal",
    "ReadProject",
    "ReadSums",
    "RegisteredAgent",
    "RegisteredAgents",
    "ReleasedState",
    "RemovedLimits",
    "RenewedLease",
    "ReopenedUnit",
    "ReportedTurn",
    "ReservedTurn",
    "ResolvedAgent",
    "ResolvedIssue",
    "ResolvedState",
    "RetriedRun",
    "RoleName",
    "RunDetails",
    "RunEvent",
    "RunEvents",
    "RunExport",
    "RunStatusName",
    "ScheduleActionName",
    "ScheduleDetails",
    "SealedGroup",
    "SearchedAll",
    "SearchedOne",
    "SearchedType",
    "SentSignal",
    "Serving",
    "SeverityName",
    "ShownAccount",
    "ShownDefinition",
    "ShownFinding",
    "Span",
    "StartedRun",
    "StateDetails",
    "StateStatusName",
    "StatedBills",
    "SuggestedRemedy",
    "TickOutcome",
    "TroubledSchedule",
    "UnloadedSkill",
    "UpdatedState",
    "UsageSums",
    "ValidatedManifest",
    "ValidatedWorkflow",
    "VerdictName",
    "WaitingGate",
    "WaitingGates",
    "WaitingSignal",
    "WorkStatusName",
    "Workflow",
    "WrittenFile",
    "WrittenLine",
    "WrittenManifests",
    "WrittenStubConfig",
    "connect",
    "connect_async",
]

_NAMES: Final = {
    "dcf.client.arguments": "Agents Askees JsonObject Moment Span Workflow",
    "dcf.client.claims": "AsyncClaim Claim",
    "dcf.client.clients": "AsyncClient Client",
    "dcf.client.connecting": "connect connect_async",
    "dcf.client.records": "ParentState RunDetails StateDetails WaitingSignal",
    "dcf.client.serving": "Serving",
    "dcf.features.accounts.records": (
        "AccountStatus AssignedAccount ClosedAccount LimitKindName "
        "ListedAccounts OpenedAccount PutPrices ReportedTurn ReservedTurn "
        "ShownAccount StatedBills "
    ),
    "dcf.features.agent_context.records": "AgentContext",
    "dcf.features.artifacts.records": (
        "ArtifactContent ArtifactUpload ContentEncodingName KeptArtifact ListedArtifacts PutArtifact ReadArtifact "
    ),
    "dcf.features.catalogue.records": (
        "ComplexityName DefinitionDetails DefinitionKindName "
        "DeletedDefinition DetailName FoundDefinitions ShownDefinition "
    ),
    "dcf.features.diagnosis.records": ("ExplainedCause ExplainedRun RunEvent RunEvents RunExport SuggestedRemedy "),
    "dcf.features.documents.records": "ChangedDocument ReadDocument",
    "dcf.features.external.records": "EndedTask LivingTask SentSignal",
    "dcf.features.findings.records": (
        "DeletedFinding FindingDetails FindingEdit FindingStatusName "
        "FoundFindings PromotedIssue SeverityName ShownFinding "
    ),
    "dcf.features.gates.records": "DecidedGate VerdictName WaitingGate WaitingGates",
    "dcf.features.growing.records": ("AddedUnits ClosedRun ClosedStatusName OpenedRun ReopenedUnit SealedGroup "),
    "dcf.features.health.records": "HealthCheck HealthLevelName ReadHealth",
    "dcf.features.journal.records": (
        "AddedEntry BlockingIssue EntryKindName IssueResolution ReadEntry ReadJournal ResolvedIssue "
    ),
    "dcf.features.people.records": "AnsweredTask ListedTask ListedTasks",
    "dcf.features.projects.records": (
        "DeletedProject ListedProject ListedProjects MadeProject "
        "ProjectDetails ProjectOverview ProjectPath ReadProject "
    ),
    "dcf.features.questions.records": "AnsweredQuestion AskedQuestion CorrectedResult LeftNote",
    "dcf.features.retention.records": "DeletedRun HeldRun",
    "dcf.features.schedules.records": (
        "CatchUpName CreatedSchedule DeletedSchedule ListedSchedules "
        "OperatedSchedule OverlapName ScheduleActionName ScheduleDetails "
        "TickOutcome TroubledSchedule "
    ),
    "dcf.features.search.records": "SearchedAll SearchedOne SearchedType",
    "dcf.features.task_log.records": "WrittenLine",
    "dcf.features.usage.records": "GivenBudget ReadSums UsageSums",
    "dcf.features.webhooks.records": "AgentPlatformName NewKeyName RegisteredAgent RegisteredAgents",
    "dcf.features.work.records": "ClaimedWork FoundWork ListedWork WorkStatusName",
    "dcf.verbs.records.agents": "CreatedWorkers DeletedAgent RemovedLimits ResolvedAgent",
    "dcf.verbs.records.assignment": "MyAssignment",
    "dcf.verbs.records.authoring": "WrittenManifests WrittenStubConfig",
    "dcf.verbs.records.beginnings": ("CreatedControlPlane DefinitionName FinalizedRun RetriedRun StartedRun "),
    "dcf.verbs.records.execution": "CompletedState CompletedStates ReadControlPlane UpdatedState",
    "dcf.verbs.records.files": (
        "DeletedPath EncodingName ListedDirectory ListedPath MadeDirectory MovedPath ReadFile WrittenFile "
    ),
    "dcf.verbs.records.language": "DescribedLanguage",
    "dcf.verbs.records.leases": "AcquiredLease ClaimedState ReleasedState RenewedLease",
    "dcf.verbs.records.notification": "AwaitedEvent NotifiedAgent NotifiedAgents NotifiedIfReady RoleName",
    "dcf.verbs.records.runs": ("ListedRun ListedRuns OperatedRun ResolvedState RunStatusName StateStatusName "),
    "dcf.verbs.records.skills": "ListedSkills LoadedSkill UnloadedSkill ValidatedManifest",
    "dcf.verbs.records.validation": "ValidatedWorkflow",
}
_PLACES: Final = {name: place for place, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'dcf.client' has no attribute '{name}'")
    place = import_module(_PLACES[name])  # nosemgrep: nothing-of-a-caller-is-executed - only the modules named above
    return getattr(place, name)


def __dir__() -> list[str]:
    """Name what programs use, for editors and shells."""
    return sorted(__all__)
