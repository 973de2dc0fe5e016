"""Keeps open pages current by event streams."""
