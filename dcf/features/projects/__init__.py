"""Projects: the namespaces of runs, to which keys may be bound."""
