"""Text index."""
