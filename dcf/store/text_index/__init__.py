"""The index of words in Redis."""
