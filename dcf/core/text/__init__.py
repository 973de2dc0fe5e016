"""Words of texts, and the one query language of searches. Pure."""
