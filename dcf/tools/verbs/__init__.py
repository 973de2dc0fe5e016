"""The engine's own verbs as tools."""
