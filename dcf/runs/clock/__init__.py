"""The clock: what is due, the sweep of the lists, and what is brought up to date meanwhile."""
