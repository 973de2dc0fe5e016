"""The verbs of a client for capabilities."""
