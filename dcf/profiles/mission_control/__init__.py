"""Mission control."""
