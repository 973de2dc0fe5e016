"""The Python client: every verb of dcf as a method with typed answers, over a server or directly on Redis.

`dcf.connect` and `dcf.connect_async` open one; docs/python.md has all of it on one page.
"""

from dcf.client.arguments import Agents, Moment, Workflow
from dcf.client.clients import AsyncClient, Client
from dcf.client.connecting import connect, connect_async
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
)
from dcf.client.serving import Serving

__all__ = [
    "Agents",
    "AsyncClient",
    "Client",
    "DefinitionName",
    "DeletedRun",
    "ExplainedCause",
    "ExplainedRun",
    "FinalizedRun",
    "HeldRun",
    "ListedRun",
    "Moment",
    "NotifiedAgent",
    "NotifiedAgents",
    "OperatedRun",
    "ReleasedState",
    "ResolvedState",
    "RetriedRun",
    "RunDetails",
    "RunEvent",
    "RunExport",
    "RunStatusName",
    "Serving",
    "StartedRun",
    "StateDetails",
    "StateStatusName",
    "SuggestedRemedy",
    "ValidatedWorkflow",
    "Workflow",
    "connect",
    "connect_async",
]
