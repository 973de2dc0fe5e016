"""Says where an agent is, and what is next for it."""
