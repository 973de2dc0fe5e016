"""Merged tools: what a call of one means, what it answers, and what models make of it."""
