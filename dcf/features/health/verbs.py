"""The verb that tells operators how dcf is. It only shows what the health report has; `dcf doctor` prints the same."""

from typing import TYPE_CHECKING

from dcf.features.health.records import ReadHealth
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, verb

if TYPE_CHECKING:
    from dcf.application.application import Application


@verb(
    toolset="operations",
    scope="operate",
    lists=("operator",),
    effect="reads",
    says=lambda answer: f"The worst level is {answer['level']}.",
    in_refusals={"checks": [], "facts": {}},
    command_by_hand="doctor",
)
def read_health(on: "Application") -> Answered[ReadHealth]:
    """Read how dcf is, when runs do not move or calls fail: the report of `dcf doctor`.

    Each check has a level (ok, warning, failing), a sentence and a remedy: whether Redis takes writes (a small key
    is written), memory, durability, replicas, clock, agents seen, the agent platform, lists of runs.
    """
    facts = on.health.report().as_json()
    own = {name: facts.pop(name) for name in ("ok", "level", "failing", "warnings", "checks")}
    return Answered(ReadHealth, {**own, "facts": facts})


add_tools(__name__)
