"""A capability of the tests: the output of a Task with the field Stamp counts only after somebody has stamped it.

It has a field of a Task, a value attached to a state, a part of a run, a step of a completion, a hold, a look with an
ending, a duty of the clock, and a verb. The engine knows none of them.
"""
