"""Checks ids and names from callers before they become part of a Redis key, a path or a message. Pure."""

import re
from difflib import get_close_matches

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json
from dcf.values.names import escaped, hidden_in

_NAMED = 5
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z", re.ASCII)

EVERY_OTHER = "*"
"""Stands for all Tasks that are not named where agents are assigned, unless a state is called so."""

MAX_STATE_PATH = 400
"""Longest path of a state, in characters: a few nested names of at most 80 characters each."""


def is_id(value: str) -> bool:
    """Return True if the value has the form of an id."""
    return _ID.match(value) is not None


def check_id(value: str, name: str) -> str:
    """Return `value` if it is a valid id of a run or an agent; otherwise raise InvalidArgument.

    Valid are 1 to 64 letters, digits, `_`, `.` or `-`, beginning with a letter or digit.
    """
    if not _ID.match(value):
        raise InvalidArgument(
            f"{name} is not a valid id.",
            f"Use 1 to 64 letters, digits, '_', '.' or '-' for {name}, beginning with a letter or digit.",
        )
    return value


def check_name(value: str, name: str, longest: int) -> str:
    """Return `value` if people can read it as a name; otherwise raise InvalidArgument."""
    hidden = hidden_in(value)
    if hidden is not None:
        raise InvalidArgument(
            f"{name} '{escaped(value)}' has an invisible character ({hidden}).", "Leave the character out."
        )
    if not 0 < len(value) <= longest:
        raise InvalidArgument(f"{name} has not between 1 and {longest} characters.", "Choose another.")
    return value


def check_state(value: str, name: str = "state") -> str:
    """Return `value` if it can be a state's name or path; otherwise raise InvalidArgument."""
    hidden = hidden_in(value)
    if not value or len(value) > MAX_STATE_PATH or hidden is not None:
        why = f": it has an invisible character ({hidden})" if hidden else ""
        raise InvalidArgument(f"{name} is not a valid state name{why}.", "Use a name from meta.states.")
    return value


def check_agents(agents: Json, states: set[str], *, name: str = "agents_map_json") -> dict[str, tuple[str, ...]]:
    """Return a map from Task states to pools of agent ids; raise InvalidArgument if it is malformed.

    `agents` maps the name of a Task state, or `*` for all others, to one agent id or a list of them; `states` holds the
    Task states.
    """
    if not isinstance(agents, dict):
        raise InvalidArgument(f"{name} is not an object.", 'Send {"State": "agent-id"} or a list of ids.')
    if EVERY_OTHER in agents and EVERY_OTHER not in states:
        others = states - set(agents)
        agents = {name: pool for name, pool in agents.items() if name != EVERY_OTHER} | dict.fromkeys(
            others, agents[EVERY_OTHER]
        )
    unknown = sorted(set(agents) - states)
    if unknown:
        raise InvalidArgument(
            f"{name} names '{unknown[0][:80]}', which is no Task state of the workflow that agents work on.",
            _keys_of_agents(name, unknown[0], states),
        )
    return {state: _pool(f"{name}['{state[:80]}']", value) for state, value in agents.items()}


def _keys_of_agents(name: str, unknown: str, states: set[str]) -> str:
    """Return which keys assign agents, and which was probably meant."""
    last = unknown.rsplit("/", 1)[-1]
    near = last if last in states else next(iter(get_close_matches(last, states, 1)), None)
    meant = "" if near is None else f"Did you mean '{near[:80]}'? "
    named = ", ".join(f"'{state[:80]}'" for state in sorted(states)[:_NAMED])
    return (
        f"{meant}The keys of {name} are the names of Tasks, also inside a Map or Parallel, never a path: {named}. "
        "A callback, a person, a signal or a child run needs no agent."
    )


def _pool(place: str, value: Json) -> tuple[str, ...]:
    pool = value if isinstance(value, list) else [value]
    if not pool or not all(isinstance(agent, str) for agent in pool):
        raise InvalidArgument(f"{place} is neither an agent id nor a list of agent ids.")
    return tuple(check_id(agent, "agent id") for agent in pool)
