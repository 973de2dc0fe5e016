"""Deletes runs that are over, and keeps some from it."""
