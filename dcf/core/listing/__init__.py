"""Lists of runs and events: their queries, their cursors, and the results of their reconciliation. Pure."""
