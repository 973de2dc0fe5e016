"""The groups of commands in `dcf --help`: each command names its own as its `rich_help_panel`."""

from typing import Final

RUNS: Final = "Runs"
OPERATE: Final = "Operate"
WORKFLOWS: Final = "Workflows"
AGENTS: Final = "Agents and keys"
SERVERS: Final = "Servers"

ORDER: Final = (RUNS, OPERATE, WORKFLOWS, AGENTS, SERVERS)
"""The order in which they are shown; a command that names none stands among the runs."""
