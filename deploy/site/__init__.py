"""Builds the site from the pages as they lie in the repository, which are written for its readers."""
