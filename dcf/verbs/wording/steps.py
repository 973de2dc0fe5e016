"""Steps that follow an answer, as data: the verb, its arguments, why, and whether it destroys."""

from collections.abc import Mapping

from dcf.values.json_text import Json
from dcf.verbs.wording.calls import CALLS


def marked(step: Mapping[str, Json]) -> dict[str, Json]:
    """Return a step that says that it destroys, if it does."""
    row = CALLS.get(step["tool"])
    return {**step, "destroys": True} if row is not None and row.destroys else dict(step)
