"""Who calls, with which scopes, in whose account, and what was written by whom. Pure."""
