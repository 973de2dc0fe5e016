"""Files that a run keeps: immutable, with their provenance."""
