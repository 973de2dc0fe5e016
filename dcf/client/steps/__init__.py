"""Methods of the clients for verbs of which one use takes several calls."""
