"""Deletes ended runs, and protects runs on hold from it."""
