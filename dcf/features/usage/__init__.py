"""Usage."""
