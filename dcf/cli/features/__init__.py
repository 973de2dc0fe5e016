"""Commands of capabilities."""
