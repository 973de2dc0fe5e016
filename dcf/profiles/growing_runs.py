"""Open runs, as profiles use them: units with their documents, begun and ended by any caller.

The lease token of a caller is derived for each attempt of a unit. So only the caller that began a unit can continue it,
also after any restart.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from dcf.profiles.native_calls import Tolerated
from dcf.profiles.profile import Native, refuse
from dcf.values.json_text import Json
from dcf.values.records import record

READ: Final = "read_workflow_control_plane"
_ENDED: Final = frozenset({"succeeded", "failed", "skipped", "cancelled"})
_PAGE: Final = 500

TAKEN_FROM: Final = "taken_over_from"
"""Member of the answer to `begin` that names the holder before, whose lease had expired."""


@record(frozen=True, slots=True, kw_only=True)
class RunUnit:
    """A unit or group of a run: its document, what it was given, and its output."""

    run: str
    name: str
    doc: Mapping[str, Json]
    facts: Mapping[str, Json]
    given: Json = None
    output: Json = None

    @property
    def status(self) -> str:
        """How it stands."""
        return str(self.doc.get("status"))

    @property
    def is_group(self) -> bool:
        """True for a group of units."""
        return self.facts.get("kind") == "group"

    @property
    def has_ended(self) -> bool:
        """True if it has ended: no agent can lease it."""
        return self.status in _ENDED

    @property
    def attempts(self) -> int:
        """How often it was begun."""
        return int(self.doc.get("attempts") or 0)

    @property
    def holder(self) -> str | None:
        """The agent that holds its lease."""
        owner: str | None = (self.doc.get("lease") or {}).get("owner_agent_id")
        return owner

    @property
    def title(self) -> str:
        """The name of the unit for people."""
        return str(self.facts.get("title") or self.name)

    @property
    def group(self) -> str | None:
        """The group that it is in."""
        return self.facts.get("group")

    @property
    def parent(self) -> str | None:
        """The unit that it is a part of."""
        return self.facts.get("parent")

    @property
    def areas(self) -> list[str]:
        """The areas that it changes."""
        return list(self.facts.get("areas") or ())

    @property
    def depends_on(self) -> list[str]:
        """The units that it waits for."""
        return list(self.facts.get("depends_on") or ())

    @property
    def started_at(self) -> str | None:
        """When it was begun."""
        return self.doc.get("started_at")

    @property
    def finished_at(self) -> str | None:
        """When it ended."""
        return self.doc.get("finished_at")

    def input(self, name: str) -> Json:
        """Return a member of its input."""
        return self.given.get(name) if isinstance(self.given, Mapping) else None


@record(frozen=True, slots=True, kw_only=True)
class Grown:
    """A run with all of its units, in the order in which they were added."""

    run: str
    meta: Mapping[str, Json]
    units: Mapping[str, RunUnit]

    @property
    def status(self) -> str:
        """How the run stands; `blocked` while an issue blocks it, `paused` while it is paused."""
        if self.meta.get("status") != "running":
            return str(self.meta.get("status"))
        return "blocked" if self.meta.get("blocked_by") else "paused" if self.meta.get("paused_at") else "running"

    @property
    def has_ended(self) -> bool:
        """True once the run was closed."""
        return self.meta.get("status") != "running"

    def input(self, name: str) -> Json:
        """Return a member of the run's input."""
        run_input = self.meta.get("input")
        return run_input.get(name) if isinstance(run_input, Mapping) else None

    def inside(self, group: str) -> list[RunUnit]:
        """Return the units of a group."""
        return [unit for unit in self.units.values() if unit.group == group]


async def read_run(native: Native, run: str) -> Grown:
    """Return a run with its units."""
    meta: Mapping[str, Json] = {}
    units: dict[str, RunUnit] = {}
    async for page in _pages(native, run):
        meta = page.get("meta") or meta
        units.update(_units(run, page))
    return Grown(run=run, meta=meta, units=units)


async def read_unit(native: Native, run: str, name: str) -> RunUnit:
    """Return one unit of a run."""
    page = await native.call(READ, workflow_id=run, states_json=[name], include_meta=False, include_inputs=True)
    return _units(run, page)[name]


async def last_event(native: Native, unit: RunUnit, kind: str) -> Mapping[str, Json] | None:
    """Return the newest event of a kind about a unit; None if there is none."""
    page = await native.call(
        "read_run_events",
        workflow_id=unit.run,
        states_json=[unit.name],
        types_json=[kind],
        newest_first=True,
        limit=1,
    )
    return page["events"][0] if page["events"] else None


async def _pages(native: Native, run: str) -> AsyncIterator[Mapping[str, Json]]:
    cursor: Json = None
    while True:
        page = await native.call(
            READ, workflow_id=run, include_meta=cursor is None, include_inputs=True, cursor=cursor, limit=_PAGE
        )
        yield page
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def _units(run: str, page: Mapping[str, Json]) -> dict[str, RunUnit]:
    inputs, outputs = page.get("inputs") or {}, page.get("outputs") or {}
    return {
        name: RunUnit(
            run=run,
            name=name,
            doc=doc,
            facts=(page.get("units") or {}).get(name) or {},
            given=inputs.get(name),
            output=outputs.get(name),
        )
        for name, doc in page["states"].items()
    }


async def add(native: Native, run: str, unit: Mapping[str, Json], agent: str, reason: str) -> Mapping[str, Json]:
    """Add a unit, and begin it where it says `claim`: both or neither."""
    claims = bool(unit.get("claim"))
    return await native.call(
        "add_units",
        workflow_id=run,
        units=[dict(unit)],
        agent_id=agent,
        lease_token=native.base(run, str(unit["name"]), 1) if claims else None,
        lease_ttl_s=native.ttl_s if claims else None,
        reason=reason,
    )


async def begin(native: Native, unit: RunUnit, agent: str) -> Mapping[str, Json]:
    """Take the lease on a unit for its next attempt, or find that the caller has it.

    The answer says whose lease had expired and was taken over.
    """
    if unit.status == "running" and unit.holder == agent:
        with Tolerated("lease_lost", "lease_expired"):
            return await renew(native, unit)
    taken = await native.call(
        "acquire_state_lease",
        workflow_id=unit.run,
        state=unit.name,
        owner_agent_id=agent,
        lease_token=native.token(unit.run, unit.name, unit.attempts + 1),
        lease_ttl_s=native.ttl_s,
    )
    return taken if unit.holder is None else {**taken, TAKEN_FROM: unit.holder}


async def renew(native: Native, unit: RunUnit) -> Mapping[str, Json]:
    """Renew the lease on the unit; an expired lease is revived unless another agent has taken the unit over."""
    return await native.call(
        "renew_state_lease",
        workflow_id=unit.run,
        state=unit.name,
        lease_token=native.token(unit.run, unit.name, unit.attempts),
        lease_ttl_s=native.ttl_s,
        reject_if_expired=False,
    )


async def end(
    native: Native,
    unit: RunUnit,
    output: Json,
    error: tuple[str, str] | None = None,
    *,
    partial: bool = False,
    **more: Any,
) -> Json:
    """Complete a unit, or fail it with a name and what went wrong; or write its output so far. Repeating it is safe."""
    name, message = error or (None, None)
    status = None if partial else "succeeded" if error is None else "failed"
    return await native.call(
        "update_workflow_control_plane",
        workflow_id=unit.run,
        state=unit.name,
        lease_token=native.token(unit.run, unit.name, unit.attempts),
        new_status=status,
        output_json=output if error is None else None,
        error_name=name,
        error_message=message,
        **more,
    )


def in_group(unit: RunUnit, kind: str, argument: str) -> RunUnit:
    """Return the unit if it is what an id is said to be of; raise NotDone."""
    if unit.is_group is not (kind == "phase"):
        raise refuse(
            "unknown_state", f"{argument} is no id of a {kind}.", "Pass the id exactly as you got it.", argument
        )
    return unit


def seconds_between(first: str | None, last: str | None) -> float:
    """Return how long it was between two instants; nothing if one is not known."""
    if first is None or last is None:
        return 0.0
    return max(0.0, (instant(last) - instant(first)).total_seconds())


def instant(text: str) -> datetime:
    """Return the instant that a text is; one without an offset is in UTC."""
    moment = datetime.fromisoformat(text)
    return moment.astimezone() if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
