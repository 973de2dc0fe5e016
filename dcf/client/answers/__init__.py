"""The records that a client's verbs of capabilities return."""
