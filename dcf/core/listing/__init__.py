"""Lists of runs and events: what they are asked, their cursors, and what a sweep of them found. Pure."""
