"""How Redis, clock, agents and platforms are."""
