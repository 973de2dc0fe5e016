"""Finds work across runs, within limits and areas."""
