"""Edits the documents of runs by hand."""
