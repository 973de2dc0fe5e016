"""Tools on what work used up: read the sums, set the budget of a run. They only parse arguments, call, and format."""

import time
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.usage import UsageReport, read_budget_change, read_report, sums_shown
from dcf.errors import Forbidden, InvalidArgument
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.values.spans import check_time
from dcf.verbs.answers.paging import Place
from dcf.verbs.callers import current_caller, require_planner
from dcf.verbs.registry import ID_PATTERN, Answer, Arguments, JsonObject, ProjectId, WorkflowId, refused, tool
from dcf.verbs.run_requests import Reason, RequestId, RunOperated
from dcf.verbs.unlisted import UNLISTED

_DAY: Final = 10
_MONTH_S: Final = 29 * 86_400
_STATES: Final = 100
"""States of a run that one answer shows."""

USAGE: Final = (
    'What the work used up: {"tokens_in": 900, "tokens_out": 120, "cost": "0.25", "currency": "EUR", "seconds": 12.5, '
    '"model": "m"}.'
)


def usage_given(given: Any) -> UsageReport | None:
    """Read the usage that a completion reports, if it reports any."""
    return None if given is None else read_report(parse(given, name="usage_json"))


class ReadUsage(Arguments):
    """Read what work used up, of one run, agent or project: tokens, money by currency, seconds, as far as reported.

    Of a run also by state, agent and model, and its budget; of others by day, for 30 days.
    """

    workflow_id: WorkflowId | None = Field(default=None, description="The run.")
    agent_id: str | None = Field(default=None, pattern=ID_PATTERN, description="Or an agent.")
    project: ProjectId | None = Field(default=None, description="Or a project.")
    since: str | None = Field(
        default=None,
        min_length=2,
        max_length=40,
        description="First day: 30d, or 2026-11-22T00:00:00Z. Default: 30 days.",
        json_schema_extra=UNLISTED,
    )
    until: str | None = Field(
        default=None, min_length=2, max_length=40, description="Last day; default: today.", json_schema_extra=UNLISTED
    )
    cursor: Place = None


class UsageRead(Answer):
    """Sums: `total`, and parts of it. Money is text, by currency."""

    total: dict[str, Any] | None = None
    states: dict[str, dict[str, Any]] | None = None
    agents: dict[str, dict[str, Any]] | None = None
    models: dict[str, dict[str, Any]] | None = None
    budget: dict[str, Any] | None = None
    days: dict[str, dict[str, Any]] | None = None
    period: dict[str, Any] | None = None
    next_cursor: str | None = None

    only_when_set = ("total", "states", "agents", "models", "budget", "days", "period", "next_cursor")


@tool(
    toolset="operations",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ReadUsage,
    answer=UsageRead,
    read_only=True,
    about_others=True,
)
def read_usage(app: Application, args: ReadUsage) -> UsageRead:
    """Read sums of usage."""
    own, named = current_caller().project, sum(one is not None for one in (args.workflow_id, args.agent_id))
    is_of_project = args.project is not None and not (own is not None and named)
    if named + is_of_project != 1:
        raise InvalidArgument("Exactly one of workflow_id, agent_id and project is needed.", "Name one of them.")
    if args.workflow_id is not None:
        return _of_run(app, args.workflow_id, args.cursor)
    if args.agent_id is not None and own is not None:
        raise Forbidden("The sums of an agent span projects.", "Ask for those of a run, or of your project.")
    now = time.time_ns() // 1000
    first = check_time("since", args.since, now) or now - _MONTH_S * SECOND
    last = check_time("until", args.until, now) or now
    kind, name = ("agent", args.agent_id) if args.agent_id is not None else ("project", args.project)
    days = (to_text(first)[:_DAY], to_text(last)[:_DAY])
    found = app.usages.of("agent" if kind == "agent" else "project", str(name), *days)
    summed = _summed(found.days)
    return UsageRead(
        status=f"Usage of {kind} '{name}' from {days[0]} to {days[1]}.",
        total=sums_shown(found.total),
        days={day: sums_shown(sums) for day, sums in found.days.items()},
        period=summed,
    )


def _of_run(app: Application, workflow_id: str, cursor: str | None) -> UsageRead:
    found = app.usages.of_run(workflow_id)
    names, begin = sorted(found.states), int(cursor or 0)
    shown = names[begin : begin + _STATES]
    return UsageRead(
        status=f"Usage of run '{workflow_id}'.",
        total=sums_shown(found.total),
        states={name: sums_shown(found.states[name]) for name in shown},
        agents={name: sums_shown(sums) for name, sums in found.agents.items()},
        models={name: sums_shown(sums) for name, sums in found.models.items()} or None,
        budget=None if found.budget is None else found.budget.as_json(),
        next_cursor=str(begin + len(shown)) if begin + len(shown) < len(names) else None,
    )


def _summed(days: Mapping[str, Mapping[str, int]]) -> dict[str, Json]:
    total: dict[str, int] = {}
    for sums in days.values():
        for name, amount in sums.items():
            total[name] = total.get(name, 0) + amount
    return sums_shown(total)


class SetBudget(Arguments):
    """Say what a run may use up: tokens (in and out), money, seconds. Limits left out stay; {} takes all away.

    The completion that reaches it blocks the run: nobody gets a lease until a higher budget is set, or it is cancelled.
    """

    workflow_id: WorkflowId
    budget_json: JsonObject = Field(
        description='As {"tokens": 200000, "cost": "5", "currency": "EUR", "seconds": 3600}; any of them.',
        examples=[{"tokens": 200_000}],
    )
    reason: Reason = None
    request_id: RequestId = None


class BudgetSet(RunOperated):
    """The budget. `used_up`: what of it is, if it is."""

    budget: dict[str, Any] | None = None
    used_up: str | None = None


@tool(
    toolset="operations",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=SetBudget,
    answer=BudgetSet,
)
def set_budget(app: Application, args: SetBudget) -> BudgetSet:
    """Set the budget of a run."""
    require_planner(app, args.workflow_id)
    change = read_budget_change(parse(args.budget_json, name="budget_json"))
    answer = app.usages.set_budget(args.workflow_id, change, reason=args.reason, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(BudgetSet, answer, workflow_id=args.workflow_id)
    return BudgetSet(
        status=f"The budget of run '{args.workflow_id}' is set.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **answer.answer,
    )
