"""Draws the pictures of docs/concepts: a few boxes and arrows each, written down as data."""
