"""Starts runs by the time."""
