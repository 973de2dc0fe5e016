"""Adds the parts of a project that planners make through `openfactory`: work orders, their phases, and features.

The orders of a planner in a project are units of one run, which stays open; its id follows from both, so that no list
of such runs is kept. A repetition of a call finds what the first one made.
"""

from collections.abc import Mapping
from typing import Final

from dcf.asl.syntax.briefs import MAX_INSTRUCTIONS
from dcf.profiles.ids import digest_of, place_of, slug_of
from dcf.profiles.native_calls import Tolerated
from dcf.profiles.openfactory.calls import CreateFeatureCall, CreateWorkOrderCall
from dcf.profiles.profile import Native, refuse
from dcf.values.json_text import Json, dump, without_nulls

_NAME: Final = "work-orders"
_MOST_RUNS: Final = 100
_MOST_CRITERIA: Final = 20
_LONGEST_CRITERION: Final = 500
_BULLETS: Final = ("- ", "* ", "+ ")
_TRIES: Final = 5

Unit = dict[str, Json]


async def create_order(native: Native, args: CreateWorkOrderCall) -> tuple[str, str]:
    """Add the unit of a work order, and the group of its phase; return its run and its name."""
    run = await _open_run(native)
    blockers = [_blocker(order, run) for order in args.blocked_by or ()]
    name = f"{slug_of(args.title)}-{digest_of(dump(args.model_dump(by_alias=True, exclude_none=True)))}"
    group = None if args.phase is None else f"phase-{slug_of(args.phase)}-{digest_of(args.phase)}"
    units: list[Unit] = [] if group is None else [{"name": group, "kind": "group", "title": args.phase}]
    unit: Unit = {
        "name": name,
        "title": args.title,
        "group": group,
        "depends_on": blockers or None,
        "agents": args.assignee_ids or None,
        "instructions": _instructions(args),
        "input": _given(args),
        "gates": [_review(args)] if args.reviewer_ids else None,
    }
    units.append(without_nulls(unit))
    await native.call("add_units", workflow_id=run, units=list[Json](units), reason="create_work_order")
    return run, name


async def create_feature(native: Native, args: CreateFeatureCall) -> Json:
    """Put a feature into the list of the project, where it may be already."""
    project = await project_of(native)
    added = args.model_dump(by_alias=True, exclude_none=True)
    for _ in range(_TRIES):
        before = await known(native, project)
        others = [feature for feature in before.get("features") or () if _name_of(feature) != args.name]
        with Tolerated("conflict"):
            await native.call(
                "put_project",
                project=project,
                features_json=[*others, added],
                revision=before.get("revision"),
                reason="create_feature",
            )
            return {"name": args.name, "features": [_name_of(feature) for feature in others] + [args.name]}
    raise refuse("conflict", "Others keep changing the project.", "Call again; nothing was changed.")


async def project_of(native: Native) -> str:
    """Return the project of the key, or that of the local user's directory; raise NotDone if there is none."""
    if native.project is not None:
        return native.project
    if not native.is_local:
        hint = "Make one: `dcf keys add --profile openfactory --project NAME --agent-id ID --scope work`."
        raise refuse("unknown_project", "This key is bound to no project.", hint)
    if native.directory is not None:
        with Tolerated("unknown_project"):
            answer = await native.call("get_project", path=str(native.directory))
            return str(answer["project"]["project"])
    hint = "Add it with `dcf projects add NAME --path DIR`, or connect with a key that is bound to a project."
    raise refuse("unknown_project", "The directory of this server belongs to no project.", hint)


async def unknown_feature(native: Native, feature: str | None) -> dict[str, Json]:
    """Return the note on a feature that the project has not; nothing where it has it, or there is no project."""
    if feature is None or native.project is None:
        return {}
    names = [_name_of(listed) for listed in (await known(native, native.project)).get("features") or ()]
    if feature in names:
        return {}
    listed = ", ".join(names) or "none"
    return {"note": f"The project has no feature '{feature}' ({listed}). create_feature adds it."}


async def known(native: Native, project: str) -> Mapping[str, Json]:
    """Return the members of the project; nothing if it does not exist yet."""
    with Tolerated("unknown_project"):
        members: Mapping[str, Json] = (await native.call("get_project", project=project))["project"]
        return members
    return {}


def _name_of(feature: Json) -> str:
    return str(feature.get("name")) if isinstance(feature, Mapping) else str(feature)


async def _open_run(native: Native) -> str:
    """Open the run of the caller's orders in its project, or find it; the next one where it has ended."""
    whose = digest_of(native.agent(), native.project or "")
    for number in range(_MOST_RUNS):
        run = f"{_NAME}-{whose}" + (f"-{number + 1}" if number else "")
        opened = await native.call(
            "open_run",
            name=_NAME,
            workflow_id=run,
            title="Work orders",
            project=native.project,
            planner_agent_id=native.agent(),
            tags_json=["openfactory"],
        )
        if opened.get("run_status") == "running":
            return run
    raise refuse("run_closed", "All runs of your work orders have ended.", "Have the operator delete old ones.")


def _blocker(order: str, run: str) -> str:
    of, name = place_of(order, "blockedBy")
    if of != run:
        raise refuse(
            "unknown_state",
            "An order can only be blocked by orders that the same planner created.",
            "Leave it out, or have that order's planner create this one; nothing was changed.",
            "blockedBy",
        )
    return name


def _given(args: CreateWorkOrderCall) -> Json:
    fields = {
        "description",
        "acceptance_criteria",
        "out_of_scope",
        "implementation_plan",
        "feature",
        "deliverable_type",
    }
    return args.model_dump(by_alias=True, exclude_none=True, include=fields)


def _instructions(args: CreateWorkOrderCall) -> str | None:
    """Return the instructions for an agent without the profile: the same texts, one below the other."""
    parts = {
        "": args.description,
        "## Acceptance criteria\n": args.acceptance_criteria,
        "## Out of scope\n": args.out_of_scope,
        "## Implementation plan\n": args.implementation_plan,
    }
    instructions = "\n\n".join(f"{head}{text}" for head, text in parts.items() if text)
    return instructions[:MAX_INSTRUCTIONS] or None


def _review(args: CreateWorkOrderCall) -> Json:
    lines = [line.strip() for line in (args.acceptance_criteria or "").splitlines()]
    bullets = [line[2:].removeprefix("[ ]").strip() for line in lines if line.startswith(_BULLETS)]
    criteria = [fromkey[:_LONGEST_CRITERION] for fromkey in dict.fromkeys(bullets) if fromkey][:_MOST_CRITERIA]
    gate: dict[str, Json] = {"name": "review", "kind": "person", "people": list(args.reviewer_ids or ())}
    return gate | ({"criteria": list[Json](criteria)} if criteria else {})
