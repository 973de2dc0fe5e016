"""A server whose risky evaluations last: python -m ... ARGUMENTS of `dcf`.

`evaluating.entered` in the folder that DCF_TEST_HOOKS names gets the process id when an evaluation begins; it continues
once `evaluating.go` exists. A process that has not ended its evaluation counts as dead after three seconds.
"""

import os
from pathlib import Path
from typing import Any

from dcf.asl.jsonata.evaluation import Valueless
from dcf.asl.jsonata.expressions import Query
from dcf.asl.surroundings import Chance, Surroundings
from dcf.cli.app import main
from dcf.core.completing import evaluation_marks as evaluating
from dcf.values.instants import SECOND
from tests.support.waiting import wait_until

HOOKS = Path(os.environ["DCF_TEST_HOOKS"])
EVALUATE = Query._confined


def lasting(self: Query, bindings: dict[str, Any], chance: Chance | None, around: Surroundings) -> str | Valueless:
    with (HOOKS / "evaluating.entered").open("a") as entered:
        entered.write(f"{os.getpid()}\n")
    wait_until((HOOKS / "evaluating.go").exists, 600)
    return EVALUATE(self, bindings, chance, around)


if __name__ == "__main__":
    evaluating.LONGEST_EVALUATION = 3 * SECOND  # type: ignore[misc]
    Query._confined = lasting  # type: ignore[method-assign]
    main()
