"""Which expressions may end the process that evaluates them, by memory or by a defect of a library. Pure.

Such an expression of a run is evaluated only once there is a mark in Redis (`core/evaluating.py`). If the process dies,
the next process finds the mark. `Surroundings.may_risk` says whether there is one.
"""

import re
from functools import lru_cache
from typing import Final

_BARE: Final = re.compile(
    r"""\s*(?:\$?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\$|-?\d+(?:\.\d+)?|"[^"\\]*"|'[^'\\]*')\s*""", re.ASCII
)


class Unmarked(Exception):
    """Raised in place of a risky evaluation that has no mark yet. The step is then decided again, with a mark."""


@lru_cache(maxsize=4096)
def is_risky(expression: str) -> bool:
    """Return True unless the JSONata expression is only a path, a variable or a literal."""
    return _BARE.fullmatch(expression) is None
