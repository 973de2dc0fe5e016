"""The members of an execution of the profile `midex`: agents with keys of their own that share its steps.

They are in a group of the run, in which no unit ever is. The lease on a step is of the agent that began it; a member
that completes the step of another does so as that agent. Keys without an agent id share nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.profiles import growing_runs
from dcf.profiles.growing_runs import RunUnit
from dcf.profiles.profile import Native, NotDone, refuse
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json

MEMBERS: Final = "~members"
"""Name of the group, which no step has (`profile._unit_name`)."""


def agents_of(phases: Sequence[Json] | None) -> list[str]:
    """Return the agents that the phases of a workflow name, as far as keys may have their names."""
    named = (phase.get("agent") for phase in phases or () if isinstance(phase, Mapping))
    return [agent for agent in named if isinstance(agent, str) and is_id(agent)]


async def add_members(native: Native, run: str, agents: Sequence[str]) -> None:
    """Let these agents take part in a run. Repeating it is safe."""
    wrong = next((agent for agent in agents if not is_id(agent)), None)
    if wrong is not None:
        hint = "Pass agent ids as in `dcf keys add --agent-id`; nothing was changed."
        raise refuse("invalid_argument", f"members: '{wrong}' is no agent id.", hint, "members")
    group = {"name": MEMBERS, "kind": "group", "title": "Members", "agents": list(dict.fromkeys(agents))}
    if agents:
        await growing_runs.add(native, run, group, native.agent(), "members")
        # Agents may still join: sealed, it keeps the run from being completed no more than a step that is done.
        await native.call("seal_group", workflow_id=run, group=MEMBERS)


def as_stranger(native: Native, refused: NotDone) -> NotDone:
    """Return the refusal of a call of an agent that has no part in the execution, with what lets it take part."""
    agent = native.key_agent
    if refused.failure.code != "forbidden" or agent is None:
        return refused
    hint = f'The orchestrator adds it: transition_workflow_state with newState "running" and members ["{agent}"].'
    return refuse("forbidden", f"Agent '{agent}' is no member of this execution.", hint)


async def holder_of(native: Native, meta: Mapping[str, Json], unit: RunUnit) -> str | None:
    """Return the agent that began a step, if it is another one for which the caller may complete the step."""
    agents = (meta.get("agents") or {}).get(MEMBERS) or ()
    sharing = {meta.get("planner_agent_id"), *((agents,) if isinstance(agents, str) else agents)}
    if native.key_agent not in sharing:
        return None
    holder = await _last_holder(native, unit) if unit.has_ended else unit.holder
    return None if holder == native.key_agent or holder not in sharing else holder


async def _last_holder(native: Native, unit: RunUnit) -> str | None:
    """Return the agent that held a step until its end: the call may be a repetition of the one that ended it."""
    lease = await growing_runs.last_event(native, unit, "LeaseAcquired")
    return None if lease is None else str(lease.get("owner"))
