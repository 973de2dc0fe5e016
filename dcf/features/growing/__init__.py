"""Runs to which units of work are added while they are open."""
