"""A row for each verb, and for each command. `make verbs` derives the data from descriptions and docstrings.

Every command reads it, so it must not import a verb.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dcf.values.json_text import load
from dcf.verbs.description.row import CommandRow, Row

_TABLE: Final = load(Path(__file__).with_suffix(".json").read_bytes())

TABLE: Final[Mapping[str, Row]] = {name: Row(**row) for name, row in _TABLE["verbs"].items()}

COMMANDS: Final[Mapping[str, CommandRow]] = {name: CommandRow(**row) for name, row in _TABLE["commands"].items()}

SUMMARIES: Final[Mapping[str, str]] = _TABLE["summaries"]
"""The summaries of the commands that belong to no verb, for help."""
