"""Plain values: JSON, paths into it, instants, identifiers, digests. Nothing here knows a run, store or platform."""
