"""The warning that Tasks without an agent are open to everybody, for validation and the creation of a run. Pure.

It is no error: a pool of workers that claim what is ready is a fine design, but nobody should get one by an oversight.
"""

from collections.abc import Collection
from typing import Final

from dcf.values.names import escaped

_NAMED: Final = 10


def open_tasks_warning(tasks: Collection[str], remedy: str) -> str | None:
    """Return the warning for Tasks that have no agent; None if there are none."""
    if not tasks:
        return None
    named = ", ".join(f"'{escaped(name)}'" for name in list(tasks)[:_NAMED])
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    which = "This Task has" if len(tasks) == 1 else "These Tasks have"
    return f"{which} no agent, so any key with the scope 'work' may take it: {named}{more}. {remedy}"
