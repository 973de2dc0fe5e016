"""The timer loop: due timers of runs, reconciliation of the lists, and duties for capabilities."""
