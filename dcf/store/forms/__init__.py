"""How documents are kept in Redis: in RedisJSON, or as JSON text."""
