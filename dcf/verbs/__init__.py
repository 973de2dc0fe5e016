"""How a verb is described and carried out: its registry, callers, limits and envelope."""
