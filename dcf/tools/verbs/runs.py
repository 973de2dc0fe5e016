"""The tool that lists runs. What is on the list stands in `core/listing/runs.py`."""

import time
from typing import Any, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import RunQuery, read_cursor
from dcf.values.spans import check_time
from dcf.verbs.answers.paging import Limit
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import Answer, Arguments, ProjectId, tool


class ListRuns(Arguments):
    """Find runs, newest first: by status, workflow, version, agent, tag, parent, project, time, or the stuck ones.

    Filters that are given must all be met. Begin with stuck=true to see what needs help. `counts` has all runs by
    status. A page may be short, even empty, and go on: call again with next_cursor until it is null.
    """

    status: Literal["running", "succeeded", "failed", "cancelled", "partial"] | None = Field(
        default=None, description="Only runs of this status."
    )
    workflow: str | None = Field(
        default=None, min_length=1, max_length=400, description="Only runs of the workflow of this name."
    )
    version: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="The version in the workflow document, or 8 or more characters of the definition's SHA-256.",
    )
    agent: str | None = Field(default=None, min_length=1, max_length=64, description="Assigned to a state of the run.")
    tag: str | None = Field(default=None, min_length=1, max_length=100, description="Given to the run at its start.")
    parent: str | None = Field(default=None, min_length=1, max_length=64, description="Only child runs of this run.")
    project: ProjectId | None = Field(default=None, description="Only runs of this project.")
    since: str | None = Field(
        default=None, min_length=2, max_length=40, description="Created since: 2h, 30d, or 2026-11-22T09:00:00Z."
    )
    until: str | None = Field(default=None, min_length=2, max_length=40, description="Created before.")
    stuck: bool = Field(
        default=False, description="Only running runs in which somebody has to do something before they continue."
    )
    blocked: bool = Field(default=False, description="Only running runs that an open issue blocks.")
    limit: Limit = 20
    cursor: str | None = Field(
        default=None, min_length=1, max_length=100, description="To go on: next_cursor of the answer before."
    )


class RunsListed(Answer):
    """A page of runs. `counts` are near: an index may be ahead of a run by a moment. `matching` is null if unknown.

    A key that is bound to a project gets no counts.
    """

    runs: list[dict[str, Any]] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict)
    matching: int | None = None
    next_cursor: str | None = None


@tool(
    toolset="operations",
    scope=Scope.READ,
    profiles=("planner", "operator"),
    arguments=ListRuns,
    answer=RunsListed,
    read_only=True,
)
def list_runs(app: Application, args: ListRuns) -> RunsListed:
    """List runs."""
    now = time.time_ns() // 1000
    page = app.run_list.list_runs(
        RunQuery(
            limit=args.limit,
            status=None if args.status is None else RunStatus(args.status),
            workflow=args.workflow,
            version=args.version,
            agent=args.agent,
            tag=args.tag,
            parent=args.parent,
            project=args.project,
            since=check_time("since", args.since, now),
            until=check_time("until", args.until, now),
            stuck=args.stuck,
            blocked=args.blocked,
            cursor=read_cursor(args.cursor),
        )
    )
    of = "" if page.matching is None else f" of {max(page.matching, len(page.rows))}"
    told = page.as_json() | ({} if current_caller().project is None else {"counts": {}})  # they are of all projects
    return RunsListed(status=f"{len(page.rows)}{of} runs.", **told)
