"""Deepwork."""
