"""The pages, but for that of one run."""
