"""Commands of the engine's own verbs."""
