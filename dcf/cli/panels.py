"""The groups of commands in `dcf --help`: each command names its own as its `rich_help_panel`."""

from typing import Final

RUNS: Final = "Runs"
OPERATE: Final = "Operate"
WORKFLOWS: Final = "Workflows"
PEOPLE: Final = "People"
AGENTS: Final = "Agents and keys"
SERVERS: Final = "Servers"

ORDER: Final = (RUNS, OPERATE, PEOPLE, WORKFLOWS, AGENTS, SERVERS)
"""The order in which they are shown."""

_OPERATING: Final = frozenset(
    {
        *("cancel", "pause", "resume", "resolve", "release", "notify", "retry", "rerun", "why", "export", "signal"),
        *("prune", "delete", "hold", "doctor", "audit"),
    }
)


def usual(command: str) -> str:
    """Return the group of a command that names none itself: what is done to runs from outside, or the runs."""
    return OPERATE if command in _OPERATING else RUNS
