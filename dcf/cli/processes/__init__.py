"""Commands that start processes which stay, and what these have in common."""
