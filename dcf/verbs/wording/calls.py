"""How each interface calls each verb, by the verb's name. `make verbs` derives the data from the descriptions.

It must not import the engine, since the client and every command read it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dcf.values.json_text import load
from dcf.verbs.wording.row import CallRow, CommandForm, MethodForm

_FILE: Final = Path(__file__).with_suffix(".json")


def _row(commands: list[dict[str, Any]], method: dict[str, Any] | None, **others: Any) -> CallRow:
    return CallRow(
        commands=tuple(CommandForm(**command) for command in commands),
        method=None if method is None else MethodForm(**method),
        **others,
    )


CALLS: Final[Mapping[str, CallRow]] = {name: _row(**row) for name, row in load(_FILE.read_bytes()).items()}
