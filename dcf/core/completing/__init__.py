"""Completing."""
