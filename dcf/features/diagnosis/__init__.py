"""Explains why a run does not move, and what helps."""
