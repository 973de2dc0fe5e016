"""Jsonata."""
