"""Notifying."""
