"""Task log."""
