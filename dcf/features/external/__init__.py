"""Tasks that wait for a signal or a callback."""
