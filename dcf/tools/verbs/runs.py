"""The verb that lists runs. `core/listing/runs.py` makes the list."""

import time
from typing import TYPE_CHECKING, Annotated

from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import RunQuery, read_cursor
from dcf.values.spans import check_time
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import Cursor, Limit, ProjectId
from dcf.verbs.records.runs import ListedRuns, RunStatusName

if TYPE_CHECKING:
    from dcf.application.application import Application


@verb(
    toolset="operations",
    scope="read",
    lists=("planner", "operator"),
    effect="reads",
    says=lambda answer: f"{len(answer['runs'])} runs.",
    command=Command(name="ls", function="dcf.cli.reading.runs:list_runs"),
    method="list",
    pages="runs",
    in_refusals={"runs": [], "counts": {}},
    about_others=True,
)
def list_runs(
    on: "Application",
    *,
    status: Annotated[RunStatusName | None, Argument(means="Only runs of this status.")] = None,
    workflow: Annotated[
        str | None, Argument(means="Only runs of the workflow of this name.", min_length=1, max_length=400)
    ] = None,
    version: Annotated[
        str | None,
        Argument(
            means="The version in the workflow document, or 8 or more characters of the definition's SHA-256.",
            listed=False,
            min_length=1,
            max_length=100,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        Argument(means="Assigned to a state of the run.", min_length=1, max_length=64, tool="agent_id", was="agent"),
    ] = None,
    tag: Annotated[str | None, Argument(means="Given to the run at its start.", min_length=1, max_length=100)] = None,
    parent: Annotated[
        str | None, Argument(means="Only child runs of this run.", listed=False, min_length=1, max_length=64)
    ] = None,
    project: Annotated[ProjectId | None, Argument(means="Only runs of this project.")] = None,
    since: Annotated[
        str | None,
        Argument(means="Created since: 2h, 30d, or 2026-11-22T09:00:00Z.", min_length=2, max_length=40, form="moment"),
    ] = None,
    until: Annotated[
        str | None, Argument(means="Created before.", listed=False, min_length=2, max_length=40, form="moment")
    ] = None,
    stuck: Annotated[bool, Argument(means="Only those that stand until somebody does something.")] = False,
    blocked: Annotated[bool, Argument(means="Only running runs that an open issue blocks.", listed=False)] = False,
    limit: Annotated[Limit, Argument(means="Items of one page; fewer come if they are large.", plain=True)] = 20,
    cursor: Annotated[
        Cursor, Argument(means="The next_cursor of the answer before.", plain=True, min_length=1, max_length=100)
    ] = None,
) -> Answered[ListedRuns]:
    """Find runs, newest first, that meet all filters; begin with stuck=true to see what needs help.

    `counts` has all runs by status. A page may be short or empty with more to come: call again with next_cursor until
    it is null.
    """
    now = time.time_ns() // 1000
    page = on.run_list.list_runs(
        RunQuery(
            limit=limit,
            status=None if status is None else RunStatus(status),
            workflow=workflow,
            version=version,
            agent=agent,
            tag=tag,
            parent=parent,
            project=project,
            since=check_time("since", since, now),
            until=check_time("until", until, now),
            stuck=stuck,
            blocked=blocked,
            cursor=read_cursor(cursor),
        )
    )
    of_how_many = "" if page.matching is None else f" of {max(page.matching, len(page.rows))}"
    members = page.as_json()
    if current_caller().project is not None:
        members["counts"] = {}  # they are of all projects
    return Answered(ListedRuns, members, f"{len(page.rows)}{of_how_many} runs.")


add_tools(__name__)
