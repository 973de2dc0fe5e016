"""Sends the traces of ended runs."""
