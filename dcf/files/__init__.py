"""Files below configured directories. Paths are opened one step at a time and never through a symbolic link.

Knows no run and no store.
"""
