"""Notes of agents and people about a run, and issues that block it."""
