"""A capability of the tests: the output of a Task with the field Stamp counts only after somebody has stamped it.

It has a field of a Task, a value attached to a state, a part of a run and a step of a completion. It has a hold, a look
with an ending, a duty of the timer loop, and a verb. The engine knows none of them.
"""
