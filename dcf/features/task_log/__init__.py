"""Lines of functions in the history of a run."""
