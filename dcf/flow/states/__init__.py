"""Statements and steps as states: what follows what, which names have a value on which way, who catches what."""
