"""Lessons of runs that outlive them."""
