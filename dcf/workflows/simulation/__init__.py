"""Simulates a whole run in one process: the engine with virtual time and mocked Tasks.

For trying out workflows and for tests: nothing is stored and no agent is called. The order of open tasks and timers
may be random, and must never change the result.
"""

from dcf.workflows.simulation.due import SimulatedSignal, read_signals
from dcf.workflows.simulation.given import GivenFiles, Mocks
from dcf.workflows.simulation.run import simulate

__all__ = ["GivenFiles", "Mocks", "SimulatedSignal", "read_signals", "simulate"]
