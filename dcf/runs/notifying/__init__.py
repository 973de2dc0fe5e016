"""The notifications of runs to agents, and their delivery."""
