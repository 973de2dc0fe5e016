"""How documents are kept in Redis: as RedisJSON documents, or as text."""
