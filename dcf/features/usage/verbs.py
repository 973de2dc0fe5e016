"""The verbs on usage: read the sums, set the budget of a run. They call and describe."""

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.core.documents.parking import ACCOUNT_NAME
from dcf.core.documents.usage import UsageReport, read_budget_change, read_report
from dcf.core.documents.usage_sums import added, has_tree, sums_of_tree, sums_shown
from dcf.core.listing.cursors import unknown_cursor
from dcf.core.listing.runs import read_cursor
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.usage.periods import days_between
from dcf.features.usage.records import GivenBudget, ReadSums
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.values.spans import check_time
from dcf.verbs.callers import current_caller, require_planner
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import OptionalRunId, OtherAgentId, ProjectId, Reason, RequestId, RunId

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.usage.operations import RunUsage

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_DAYS: Final = 10
"""Characters of a time that name its day."""

_MONTH_S: Final = 29 * 86_400
_STATES: Final = 100
"""States of a run that one answer shows."""

_PARTS: Final = ("total", "tree", "children", "states", "agents", "models", "budget", "days", "period", "next_cursor")

USAGE: Final = (
    'Usage of the work: {"tokens_in": 900, "tokens_cached": 80, "tokens_cache_written": 5, "tokens_out": 120, '
    '"cost": "0.25", "currency": "EUR", "seconds": 12.5, "model": "m"}; or "models": {"m": {"tokens_in": 900}}.'
)

UsedUp = Annotated[
    Mapping[str, Json] | None,
    Argument(
        means=USAGE,
        spelling='Usage of the work: \'{"tokens_in": 900, "cost": "0.25", "currency": "EUR"}\', or a file.',
        form="object",
        tool="usage_json",
        listed=False,
    ),
]
"""What a completion reports."""


def usage_given(usage: Any) -> UsageReport | None:
    """Read the usage that a completion reports, if it reports any."""
    return None if usage is None else read_report(parse(usage, name="usage_json"))


@verb(
    toolset="operations",
    scope="read",
    lists=("operator",),
    effect="reads",
    says=lambda _: "Usage.",
    codes=("not_found", "unknown_run"),
    command=Command(name="runs usage", example="dcf runs usage order-42", show="dcf.cli.features.usage:show_usage"),
    about_others=True,
    only_when_set=_PARTS,
)
def read_usage(
    on: "Application",
    workflow_id: Annotated[OptionalRunId, Argument(means="The run.")] = None,
    *,
    agent_id: Annotated[OtherAgentId | None, Argument(means="Or an agent.", option="--agent")] = None,
    project: Annotated[ProjectId | None, Argument(means="Or a project.", of_context=False)] = None,
    account: Annotated[
        str | None, Argument(means="Or an account.", pattern=f"^{ACCOUNT_NAME}$", plain=True, listed=False)
    ] = None,
    since: Annotated[
        str | None,
        Argument(
            means="First day: 30d, or 2026-11-22T00:00:00Z. Default: 30 days.",
            spelling="First day: 30d, or 2026-11-22; default: 30 days ago.",
            min_length=2,
            max_length=40,
            form="moment",
            listed=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        Argument(means="Last day; default: today.", min_length=2, max_length=40, form="moment", listed=False),
    ] = None,
    tree: Annotated[
        bool, Argument(means="By child run, each with all below it, in place of states.", listed=False)
    ] = False,
    cursor: Annotated[
        str | None,
        Argument(
            means="The next_cursor of the answer before.",
            plain=True,
            spelling="Cursor to more states or child runs, printed below.",
            pattern=r"^[0-9]{1,6}$|^[0-9]{1,20}:[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
        ),
    ] = None,
) -> Answered[ReadSums]:
    """Read what work used up, of a run, agent, project or account: tokens, money by currency, seconds, as reported.

    Of a run also by state, agent and model, with all runs below it, and its budget; of others by day, for 30 days.
    """
    own, named = current_caller().project, sum(name is not None for name in (workflow_id, agent_id, account))
    is_of_project = project is not None and not (own is not None and named)
    if named + is_of_project != 1:
        raise InvalidArgument(
            "Exactly one of workflow_id, agent_id, project and account is needed.", "Name one of them."
        )
    if tree and workflow_id is None:
        raise InvalidArgument("Only a run has a tree.", "Name it by workflow_id, or leave tree out.")
    if workflow_id is not None:
        return _of_run(on, workflow_id, cursor, by_child=tree)
    if not is_of_project and own is not None:
        raise Forbidden("The sums of an agent or account span projects.", "Ask for those of a run, or of your project.")
    now = time.time_ns() // 1000
    days = (_day("since", since, now, now - _MONTH_S * SECOND), _day("until", until, now, now))
    if account is not None:
        sums = on.accounts.used(account, days_between(*days))
        return Answered(ReadSums, sums, says=f"Usage of account '{account}' from {days[0]} to {days[1]}.")
    book = on.usages.of("project" if agent_id is None else "agent", str(agent_id or project), *days)
    members = {
        "total": sums_shown(book.total),
        "days": {day: sums_shown(sums) for day, sums in book.days.items()},
        "period": sums_shown(added(book.days.values())),
    }
    whose = f"project '{project}'" if agent_id is None else f"agent '{agent_id}'"
    return Answered(ReadSums, members, says=f"Usage of {whose} from {days[0]} to {days[1]}.")


def _of_run(on: "Application", workflow_id: str, cursor: str | None, *, by_child: bool) -> Answered[ReadSums]:
    parts = _by_child(on, workflow_id, cursor) if by_child else {}  # first: it moves what is owed
    used = on.usages.of_run(workflow_id)
    members = {
        "total": sums_shown(used.total),
        "tree": sums_shown(sums_of_tree(used.total)) if has_tree(used.total) else None,
        "agents": {name: sums_shown(sums) for name, sums in used.agents.items()},
        "models": {name: sums_shown(sums) for name, sums in used.models.items()} or None,
        "budget": None if used.budget is None else used.budget.as_json(),
        **(parts or _by_state(used, cursor)),
    }
    return Answered(ReadSums, members, says=f"Usage of run '{workflow_id}'.")


def _by_child(on: "Application", workflow_id: str, cursor: str | None) -> dict[str, Json]:
    page = on.usages.of_children(workflow_id, read_cursor(cursor))
    children: dict[str, Json] = {name: sums_shown(sums) for name, sums in page.sums.items()}
    return {"children": children, "next_cursor": None if page.next_cursor is None else str(page.next_cursor)}


def _by_state(used: "RunUsage", cursor: str | None) -> dict[str, Json]:
    if cursor is not None and not cursor.isdigit():
        raise unknown_cursor()
    names, begin = sorted(used.states), int(cursor or 0)
    shown = names[begin : begin + _STATES]
    states: dict[str, Json] = {name: sums_shown(used.states[name]) for name in shown}
    return {"states": states, "next_cursor": str(begin + len(shown)) if begin + len(shown) < len(names) else None}


def _day(name: str, text: str | None, now: int, otherwise: int) -> str:
    """Return the day that a text names, as a day or as a point in time; without one that of another time."""
    if text is not None and _DAY.match(text):
        return text
    return to_text(check_time(name, text, now) or otherwise)[:_DAYS]


@verb(
    toolset="operations",
    scope="plan",
    lists=("operator",),
    says=lambda answer: f"The budget of run '{answer['workflow_id']}' is set.",
    codes=("unknown_run", "run_over"),
    command=Command(
        name="runs budget",
        example="dcf runs budget order-42 --tokens 200000 --cost 5EUR",
        function="dcf.cli.features.usage:budget",
    ),
)
def set_budget(
    on: "Application",
    workflow_id: RunId,
    budget: Annotated[
        Mapping[str, Any] | None,
        Argument(
            means='As {"tokens": 200000, "cost": "5", "currency": "EUR", "seconds": 3600, "tree": true}; any of them.',
            example={"tokens": 200_000},
            form="object",
            tool="budget_json",
        ),
    ],
    *,
    reason: Reason = None,
    request_id: RequestId = None,
) -> GivenBudget | Refusal:
    """Say what a run may use up: tokens of all kinds, money, seconds. Limits left out stay; {} takes all away.

    The completion that reaches it blocks the run: no lease is granted until a higher budget is set, or the run is
    cancelled. With tree it is for the run and all runs below it together, and blocks all of them.
    """
    require_planner(on, workflow_id)
    change = read_budget_change(budget, of_run=True)
    done = on.usages.set_budget(workflow_id, change, reason=reason, request_id=request_id)
    if isinstance(done, Refusal):
        return done
    return GivenBudget(workflow_id=workflow_id, repeated=done.repeated, **done.answer)


add_tools(__name__)
