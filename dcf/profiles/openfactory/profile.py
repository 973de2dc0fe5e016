"""The profile `openfactory`: work orders that a coding agent pulls, with the key of its project.

A work order is a unit of a run: ready, held, in review at a gate, done. A unit without a gate is in review once its
lease holder reports it, which is recorded in its partial output.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from dcf.core.access.model import Scope
from dcf.profiles import growing_runs
from dcf.profiles.growing_runs import Grown, RunUnit, read_run, read_unit
from dcf.profiles.ids import id_of, place_of
from dcf.profiles.native_calls import Tolerated, decide
from dcf.profiles.openfactory import calls, planning
from dcf.profiles.openfactory.orders import (
    ADVICE,
    FROM,
    WORDS,
    is_for_its_judge,
    is_of_another,
    status_of,
    way_out,
)
from dcf.profiles.own_words import in_words
from dcf.profiles.profile import Failure, Native, NotDone, Profile, ProfileResource, Toolbox, refuse
from dcf.values.json_text import Json

_BOX: Final = Toolbox()
_PAGE: Final = 50
_KINDS: Final = {"ready": ("ready",), "in_progress": ("running",), "in_review": ("review", "running")}
"""Which of find_work's statuses may be of each status of orders."""

_SHORTEST_WORD: Final = 3
_MOST_WORDS: Final = 20
_OPERATORS: Final = frozenset({"AND", "OR", "NOT"})

_CORPORA: Final[Mapping[str, tuple[str, ...]]] = {
    "documents": ("document", "unit", "finding", "journal"),
    "blueprints": ("blueprint", "definition"),
    "artifacts": ("artifact", "output"),
    "code": ("code",),
}
"""The objects of dcf to search for each type. Requirements are documents; so are work orders, without a type."""


@_BOX.tool(calls.ListWorkOrdersCall, read_only=True)
async def list_work_orders(native: Native, args: calls.ListWorkOrdersCall) -> Json:
    """Find units of this status for the caller; in review also those that wait for its verdict."""
    orders: dict[str, Json] = {}
    agent = native.agent()
    searches = [("find_work", "items", {"status": status}) for status in _KINDS[args.status]]
    if args.status == "in_review":
        searches.insert(0, ("list_gates", "gates", {}))
    for tool, member, more in searches:
        cursor: Json = None
        while len(orders) < args.limit:
            page = await native.call(tool, agent_id=agent, project=native.project, limit=_PAGE, cursor=cursor, **more)
            orders_read = await _read(native, page[member] or ())
            orders |= {
                id_of(unit.run, unit.name): _brief(run, unit)
                for run, unit in orders_read
                if status_of(unit) == args.status
                and not unit.is_group
                and not (args.status == "ready" and is_for_its_judge(agent, unit))
            }
            cursor = page.get("next_cursor")
            if cursor is None:
                break
    return {"workOrders": list(orders.values())[: args.limit]}


@_BOX.tool(calls.GetWorkOrderCall, read_only=True)
async def get_work_order(native: Native, args: calls.GetWorkOrderCall) -> Json:
    """Read a unit."""
    run, name = place(args.work_order_id)
    read = await read_run(native, run)
    unit = _order(read, name)
    brief = _brief(read, unit)
    criteria = [criterion for gate in unit.facts.get("gates") or () for criterion in gate.get("criteria") or ()]
    return {
        **{key: brief[key] for key in ("id", "title", "status", "phase", "feature")},
        "description": unit.input("description") or _instructions(unit),
        "acceptanceCriteria": unit.input("acceptanceCriteria") or "\n".join(f"- {criterion}" for criterion in criteria),
        "outOfScope": unit.input("outOfScope") or "",
        "implementationPlan": unit.input("implementationPlan") or "",
        "graphConnections": _connections(read, unit),
    }


@_BOX.tool(calls.UpdateWorkOrderStatusCall, Scope.WORK)
async def update_work_order_status(native: Native, args: calls.UpdateWorkOrderStatusCall) -> Json:
    """Take a unit, hand it in, or judge it."""
    run, name = place(args.work_order_id)
    read = await read_run(native, run)
    unit = _order(read, name)
    before = status_of(unit)
    if before not in {args.status, *FROM[args.status]}:
        hint = f"{way_out(read, unit, before)} Nothing was changed."
        message = f"A work order that is {before} does not become {args.status}."
        raise refuse("invalid_transition", message, hint, "status")
    note = None
    if await _was_sent_back_by_caller(native, unit, before, args.status):
        note = None
    elif is_of_another(native.agent(), unit, before, args.status):
        note = await _taken_over(native, unit, before, args.status)
    elif before != args.status:
        note = await _move(native, unit, before, args.status)
    after = status_of(await read_unit(native, run, name))
    answer = {"success": True, "workOrderId": args.work_order_id, "previousStatus": before, "newStatus": after}
    return answer | ({} if note is None else {"note": note})


@_BOX.tool(calls.CreateWorkOrderCall, Scope.PLAN, for_planners=True)
async def create_work_order(native: Native, args: calls.CreateWorkOrderCall) -> Json:
    """Add a unit to the run of the caller's orders."""
    run, name = await planning.create_order(native, args)
    read = await read_run(native, run)
    return _brief(read, _order(read, name)) | await planning.unknown_feature(native, args.feature)


@_BOX.tool(calls.CreateFeatureCall, Scope.PLAN, Scope.WORK, for_planners=True)
async def create_feature(native: Native, args: calls.CreateFeatureCall) -> Json:
    """Add a feature to the project."""
    return await planning.create_feature(native, args)


@_BOX.tool(calls.SearchContextCall, read_only=True)
async def search_context(native: Native, args: calls.SearchContextCall) -> Json:
    """Search what dcf keeps."""
    types_json = [name for kind in args.types or _CORPORA for name in _CORPORA[kind]]
    more: dict[str, Json] = {"types_json": types_json, "project": native.project, "limit": args.limit}
    page = await native.call("search", query=args.query, **more)
    if not page["results"] and (any_word := _any_word(args.query)) is not None:
        page = await native.call("search", query=any_word, **more)
    return {
        "results": [
            {
                "type": next(kind for kind, names in _CORPORA.items() if result["type"] in names),
                "title": result.get("title"),
                "snippet": result.get("snippet"),
                "entityId": id_of(result["workflow_id"], result["state"])
                if result["type"] == "unit"
                else result.get("id"),
                "score": result.get("score"),
            }
            for result in page["results"]
        ]
    }


async def overview(native: Native) -> Json:
    """Return the project of the key."""
    project = await _project(native)
    return {
        "name": project.get("name") or project.get("project"),
        "description": project.get("description") or "",
        "features": [_feature(feature)["name"] for feature in project.get("features") or ()],
    }


async def features(native: Native) -> Json:
    """Return the features of the project of the key."""
    return {"features": [_feature(feature) for feature in (await _project(native)).get("features") or ()]}


def place(order: str) -> tuple[str, str]:
    """Return run and unit of a work order; raise NotDone for an id that is none."""
    try:
        return place_of(order, "workOrderId")
    except NotDone:
        raise _unknown_order() from None


def _unknown_order() -> NotDone:
    return refuse("unknown_state", "There is no such work order.", "Pass an id of list_work_orders.", "workOrderId")


def _any_word(query: str) -> str | None:
    """Return a sentence as a search for any of its words; None for a single word, and for a query with operators."""
    words = [word for word in re.findall(r"\w+", query) if len(word) >= _SHORTEST_WORD]
    if len(words) < 2 or '"' in query or _OPERATORS & set(query.split()):  # noqa: PLR2004 - a word alone was sought
        return None
    return " OR ".join(dict.fromkeys(words[:_MOST_WORDS]))


async def _was_sent_back_by_caller(native: Native, unit: RunUnit, before: str, status: str) -> bool:
    """Return True for the repetition of the call with which the caller sent an order back to its holder."""
    if not (before == status == "in_progress" and unit.facts.get("gates")) or unit.holder == native.agent():
        return False
    verdict = await growing_runs.last_event(native, unit, "GateDecided")
    return verdict is not None and verdict.get("judged_by") == native.agent()


async def _taken_over(native: Native, unit: RunUnit, before: str, status: str) -> str:
    """Take an order whose holder has lost its lease; raise NotDone while the holder has it, and for any other move."""
    if status == "in_progress":
        with Tolerated("lease_held"):
            await growing_runs.begin(native, unit, native.agent())
            return f"Taken over from '{unit.holder}', whose lease had expired."
    raise refuse(
        "lease_lost",
        f"'{unit.holder}' has this work order {before}.",
        "Choose another one: list_work_orders lists those that are ready. Nothing was changed.",
        "workOrderId",
    )


async def _move(native: Native, unit: RunUnit, before: str, status: str) -> str | None:
    if before == "ready":
        if is_for_its_judge(native.agent(), unit):
            message = "You alone accept this work order, so that you cannot carry it out."
            raise refuse("author_may_not_review", message, ADVICE["owner_mismatch"], "workOrderId")
        begun = await growing_runs.begin(native, unit, native.agent())
        taken = begun.get(growing_runs.TAKEN_FROM)
        return None if taken is None else f"Taken over from '{taken}', whose lease had expired."
    if before == "in_progress":
        await _hand_in(native, unit)
    elif unit.doc.get("type") == "Gate":
        await _judge(native, unit, passed=status == "done")
    else:
        await growing_runs.end(native, unit, {"status": status}, partial=status != "done")
    return None


async def _hand_in(native: Native, unit: RunUnit) -> None:
    """Hand in a unit: to its gates, or, if it has none, by saying so."""
    has_gates = bool(unit.facts.get("gates"))
    round_of = int((unit.doc.get("gated") or {}).get("number") or 0) + 1  # the same output again keeps its verdict
    with Tolerated("review_running"):
        await growing_runs.end(native, unit, {"status": "in_review", "round": round_of}, partial=not has_gates)


async def _judge(native: Native, unit: RunUnit, *, passed: bool) -> None:
    """Give the verdict of every gate at which the unit waits."""
    listed = await native.call("list_gates", workflow_id=unit.run, state=unit.name)
    for gate in listed["gates"]:
        judged, criteria = gate["content_sha256"], gate.get("criteria") or ()
        await decide(native, unit.run, unit.name, gate["name"], judged, criteria, passed=passed)


async def _read(native: Native, items: Any) -> list[tuple[Grown, RunUnit]]:
    """Return the units that were found, with their runs; states of other runs are no work orders."""
    names: dict[str, list[str]] = {}
    for item in items:
        names.setdefault(str(item["workflow_id"]), []).append(str(item["state"]))
    orders: list[tuple[Grown, RunUnit]] = []
    for run, states in names.items():
        read = await read_run(native, run)
        orders += [(read, read.units[name]) for name in states if name in read.units]
    return orders


def _order(run: Grown, name: str) -> RunUnit:
    unit = run.units.get(name)
    if unit is None or unit.is_group:
        raise _unknown_order()
    return unit


def _instructions(unit: RunUnit) -> str:
    """Return the instructions as the description, unless they were put together from other texts of the order."""
    is_joined = any(unit.input(name) for name in ("acceptanceCriteria", "outOfScope", "implementationPlan"))
    return "" if is_joined else str(unit.facts.get("instructions") or "")


def _brief(run: Grown, unit: RunUnit) -> dict[str, Json]:
    return {
        "id": id_of(unit.run, unit.name),
        "title": unit.title,
        "status": status_of(unit),
        "phase": _phase(run, unit),
        "feature": unit.input("feature"),
        "deliverableType": unit.input("deliverableType"),
    }


def _phase(run: Grown, unit: RunUnit) -> str | None:
    group = None if unit.group is None else run.units.get(unit.group)
    return unit.group if group is None else group.title


def _connections(run: Grown, unit: RunUnit) -> list[Json]:
    """Return what the order is tied to: what it waits for blocks it, and it blocks what waits for it."""
    waited_for = [run.units[name] for name in unit.depends_on if name in run.units]
    waiting = [other for other in run.units.values() if unit.name in other.depends_on]
    parent = None if unit.parent is None else run.units.get(unit.parent)
    ties = [(other, "blocked_by") for other in waited_for] + [(other, "blocks") for other in waiting]
    ties += [] if parent is None else [(parent, "parent_of")]
    orders: list[Json] = [{"entityType": "work_order", "label": other.title, "edgeType": kind} for other, kind in ties]
    whole = [("feature", unit.input("feature")), ("phase", _phase(run, unit))]
    return orders + [{"entityType": kind, "label": name, "edgeType": "part_of"} for kind, name in whole if name]


async def _project(native: Native) -> Mapping[str, Json]:
    """Return the project of the caller, of which nothing but its id may be known yet."""
    project = await planning.project_of(native)
    return {"project": project, **await planning.known(native, project)}


def _feature(feature: Json) -> dict[str, Json]:
    return (
        dict(feature)
        if isinstance(feature, Mapping) and "name" in feature
        else {"name": str(feature), "relationships": []}
    )


def _failed(failure: Failure) -> str | dict[str, Json]:
    return f"Error: {in_words(failure, WORDS, ADVICE).sentence} ({failure.code})"


_READ_SCOPE: Final = frozenset({Scope.READ})

PROFILE: Final = Profile(
    name="openfactory",
    server="openfactory-planner",
    version="1.0.0",
    advice="Call get_work_order to read how the work order stands.",
    instructions="Work orders of your project: list_work_orders, get_work_order, then update_work_order_status to "
    "in_progress while you work, in_review when it is ready to be looked at, done when it was accepted. "
    "search_context finds more. Planners add orders and features: create_work_order, create_feature.",
    tools=_BOX.tools,
    resources=(
        ProfileResource(
            uri="project://overview",
            name="overview",
            description="Project overview: name, description, features.",
            scopes=_READ_SCOPE,
            read=overview,
        ),
        ProfileResource(
            uri="project://features",
            name="features",
            description="All features with their names and relationships.",
            scopes=_READ_SCOPE,
            read=features,
        ),
    ),
    failed=_failed,
)
