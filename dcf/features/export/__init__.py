"""A run as one file."""
