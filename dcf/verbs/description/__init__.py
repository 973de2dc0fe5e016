"""How a verb is described, and what is known of all verbs without importing them. Loads the standard library only."""
