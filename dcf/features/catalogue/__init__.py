"""The definitions for agents: workflows, jobs, personas and rules in versions."""
