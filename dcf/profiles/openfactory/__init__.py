"""Openfactory."""
