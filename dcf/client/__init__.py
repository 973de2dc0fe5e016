"""The Python client: every verb of dcf as a method with typed answers, over a server or directly on Redis.

`dcf.connect` and `dcf.connect_async` open one; docs/python.md has all of it on one page.
"""

from dcf.client.arguments import Agents, Moment, Workflow
from dcf.client.artifact_records import KeptArtifact, ReadArtifact
from dcf.client.clients import AsyncClient, Client
from dcf.client.connecting import connect, connect_async
from dcf.client.outside_records import EndedTask, LivingTask, SentSignal
from dcf.client.people_records import (
    AnsweredTask,
    ListedTask,
)
from dcf.client.project_records import (
    DeletedProject,
    ListedProject,
    MadeProject,
    ProjectDetails,
    ProjectOverview,
    ProjectPath,
    ReadProject,
)
from dcf.client.records import (
    DefinitionName,
    DeletedRun,
    ExplainedCause,
    ExplainedRun,
    FinalizedRun,
    HeldRun,
    ListedRun,
    NotifiedAgent,
    NotifiedAgents,
    OperatedRun,
    ParentState,
    ReleasedState,
    ResolvedState,
    RetriedRun,
    RunDetails,
    RunEvent,
    RunExport,
    RunStatusName,
    StartedRun,
    StateDetails,
    StateStatusName,
    SuggestedRemedy,
    ValidatedWorkflow,
    WaitingSignal,
)
from dcf.client.registered_records import RegisteredAgent
from dcf.client.schedule_records import (
    CatchUpName,
    CreatedSchedule,
    DeletedSchedule,
    OperatedSchedule,
    OverlapName,
    ScheduleDetails,
    TickOutcome,
    TroubledSchedule,
)
from dcf.client.serving import Serving
from dcf.client.talk_records import AnsweredQuestion, AskedQuestion, CorrectedResult, LeftNote

__all__ = [
    "Agents",
    "AnsweredQuestion",
    "AnsweredTask",
    "AskedQuestion",
    "AsyncClient",
    "CatchUpName",
    "Client",
    "CorrectedResult",
    "CreatedSchedule",
    "DefinitionName",
    "DeletedProject",
    "DeletedRun",
    "DeletedSchedule",
    "EndedTask",
    "ExplainedCause",
    "ExplainedRun",
    "FinalizedRun",
    "HeldRun",
    "KeptArtifact",
    "LeftNote",
    "ListedProject",
    "ListedRun",
    "ListedTask",
    "LivingTask",
    "MadeProject",
    "Moment",
    "NotifiedAgent",
    "NotifiedAgents",
    "OperatedRun",
    "OperatedSchedule",
    "OverlapName",
    "ParentState",
    "ProjectDetails",
    "ProjectOverview",
    "ProjectPath",
    "ReadArtifact",
    "ReadProject",
    "RegisteredAgent",
    "ReleasedState",
    "ResolvedState",
    "RetriedRun",
    "RunDetails",
    "RunEvent",
    "RunExport",
    "RunStatusName",
    "ScheduleDetails",
    "SentSignal",
    "Serving",
    "StartedRun",
    "StateDetails",
    "StateStatusName",
    "SuggestedRemedy",
    "TickOutcome",
    "TroubledSchedule",
    "ValidatedWorkflow",
    "WaitingSignal",
    "Workflow",
    "connect",
    "connect_async",
]
