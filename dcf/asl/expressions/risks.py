"""The sign that a risky evaluation has no mark yet. Risky is what may end the process that evaluates it.

An expression that is not plain (`asl/jsonata/plain_expressions.py`) is risky, and so is a JSONPath that selects several
values. Such an evaluation of a run happens only once there is a mark in Redis (`core/completing/evaluation_marks.py`).
If the process dies, the next process finds the mark. `Surroundings.may_risk` says whether there is one.
"""


class Unmarked(Exception):
    """Raised in place of a risky evaluation that has no mark yet. The step is then decided again, with a mark."""
