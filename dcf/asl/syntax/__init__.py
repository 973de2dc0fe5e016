"""Reads a definition: each field of each type of state, and where it may lead. Pure."""
