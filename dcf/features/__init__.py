"""The capabilities: one folder each, from its pure rules to its verbs."""
