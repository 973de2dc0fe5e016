"""Calling."""
