"""Midex."""
