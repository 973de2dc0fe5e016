"""The history of each run, the outbox, and the inboxes of agents, in Redis."""
