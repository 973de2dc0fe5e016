"""Writes the source that is derived from the descriptions of verbs: `python -m interfaces`, or `make verbs`.

It is checked in, so that editors and readers see real code, and so that a command imports only its own verb. A test
compares it with what would be written. This package is no part of dcf.
"""
