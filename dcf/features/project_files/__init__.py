"""Files of a project's directories, so that a search finds them."""
