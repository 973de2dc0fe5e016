"""Finds the places in prose, messages and names that a reader has to read twice. `python -m deploy.wording PATH...`."""
