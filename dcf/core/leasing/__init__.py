"""Leasing."""
