"""What the clients do for verbs of which one use takes several calls."""
