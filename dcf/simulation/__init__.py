"""A whole run in one process: the engine driven with virtual time and mocked tasks.

For trying a workflow out and for tests; nothing is stored and no agent is asked. Which open task or timer goes
next may be left to chance, which must never change the result.
"""

from dcf.simulation.given import GivenFiles, Mocks
from dcf.simulation.run import simulate

__all__ = ["GivenFiles", "Mocks", "simulate"]
