"""Plain values: JSON, JSON paths, instants, identifiers, digests, refusals. Knows no run, no store and no platform."""
