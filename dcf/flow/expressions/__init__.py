"""Python expressions as JSONata: what would give another value than Python is bridged, or refused with advice."""
