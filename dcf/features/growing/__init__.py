"""Growing."""
