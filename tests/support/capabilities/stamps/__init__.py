"""A capability of the tests: in workflows of one name an output counts only once somebody has stamped it.

It has a value attached to a state, a part of a run, a step of a completion, a hold, a look with an ending, a duty of
the clock, and a verb. The engine knows none of them.
"""
