"""A Task starts a run of another workflow and takes its output."""
