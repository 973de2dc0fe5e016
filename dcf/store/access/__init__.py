"""API keys, quotas, the audit trail, log-ins at the page and the authors of changes, in Redis."""
