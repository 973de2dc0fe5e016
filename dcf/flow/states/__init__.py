"""Statements and steps as states: their order, the names that have a value on each way, and the catchers."""
